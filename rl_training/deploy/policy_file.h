#pragma once
#include "rl_training/deploy/verification.h"

namespace rl_training {

// Accepts "c" and "onnx". Throws Error{config}, which names `key`, for any other text.
ExportFormat read_export_format(const std::string& text, const std::string& key);

struct PolicyFileOptions {
  ExportFormat format = ExportFormat::c;
  std::string name = "policy";    // prefix of C names; name of the ONNX graph
  std::string name_key = "name";  // key for errors about the name
  std::string file;
  std::string checkpoint;  // written to the file
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

struct PolicyFile {
  int64_t bytes = 0;
  Verification verified;
};

// Verifies and writes the policy. If the exported policy differs from `predict`, throws
// Error{internal} and writes nothing.
PolicyFile write_policy_file(TrainedPolicy& policy, const PolicyFileOptions& options);

}  // namespace rl_training
