#pragma once
#include "rl_training/deploy/verification.h"

namespace rl_training {

// "c" or "onnx"; otherwise throws Error{config} at `key`.
ExportFormat read_export_format(const std::string& text, const std::string& key);

struct PolicyFileOptions {
  ExportFormat format = ExportFormat::c;
  std::string name = "policy";    // prefix of the names in C, name of the graph
  std::string name_key = "name";  // key for errors about the name
  std::string file;
  std::string checkpoint;  // printed into the file
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

struct PolicyFile {
  int64_t bytes = 0;
  Verification verified;
};

// Verifies and writes the policy. If it differs from `predict`, throws Error{internal} and writes
// nothing.
PolicyFile write_policy_file(TrainedPolicy& policy, const PolicyFileOptions& options);

}  // namespace rl_training
