#pragma once
#include <string>

#include "rl_training/deploy/exported_policy.h"

namespace rl_training {

// The policy as one C99 header without dependencies.
std::string write_c_header(const ExportedPolicy& policy);

// The header again, and actions of it: a program that reads observations (float32) from stdin and
// writes actions (float32) to stdout, having passed the header's self-test. For verification.
std::string write_c_probe(const ExportedPolicy& policy, const std::string& header_path);

}  // namespace rl_training
