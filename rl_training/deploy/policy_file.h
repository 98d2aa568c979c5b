#pragma once
#include "rl_training/deploy/verification.h"

namespace rl_training {

// "c" or "onnx"; else Error{config} at `key`.
ExportFormat read_export_format(const std::string& text, const std::string& key);

struct PolicyFileOptions {
  ExportFormat format = ExportFormat::c;
  std::string name = "policy";    // prefix of the names in C, name of the graph
  std::string name_key = "name";  // where a bad name came from
  std::string file;
  std::string checkpoint;  // printed into the file
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

struct PolicyFile {
  int64_t bytes = 0;
  Verification verified;
};

// Writes the policy, verified: one that differs from `predict` is Error{internal}, and nothing is
// written.
PolicyFile write_policy_file(TrainedPolicy& policy, const PolicyFileOptions& options);

}  // namespace rl_training
