#pragma once
#include <string>

#include "rl_training/deploy/exported_policy.h"

namespace rl_training {

// The policy as one C99 header that depends only on math.h.
std::string write_c_header(const ExportedPolicy& policy);

// A C program for verification that includes the header. It runs the header's self-test, then reads
// observations (float32) from stdin and writes actions (float32) to stdout.
std::string write_c_probe(const ExportedPolicy& policy, const std::string& header_path);

}  // namespace rl_training
