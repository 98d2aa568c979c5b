#pragma once
#include <string>

#include "rl_training/deploy/exported_policy.h"

namespace rl_training {

// The policy as an ONNX model (operator set 17): input `obs` [N, obs_dim] float32, output `action`
// [N, action_dim] float32, or [N] int64 for choices.
std::string write_onnx(const ExportedPolicy& policy);

// The actions that a model of `write_onnx` has at rows of observations. Knows the operators that it
// writes; another one is Error{data}.
std::vector<std::vector<double>> run_onnx(const std::string& model,
                                          const std::vector<std::vector<double>>& obs);

}  // namespace rl_training
