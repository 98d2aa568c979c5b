#pragma once
#include <string>

#include "rl_training/deploy/exported_policy.h"

namespace rl_training {

// The policy as an ONNX model (operator set 17): input `obs` [N, obs_dim] float32, output `action`
// [N, action_dim] float32, or [N] int64 for discrete actions.
std::string write_onnx(const ExportedPolicy& policy);

// Evaluates a model from `write_onnx` at the given rows of observations. Supports the operators
// that `write_onnx` uses. Throws Error{data} for other operators.
std::vector<std::vector<double>> run_onnx(const std::string& model,
                                          const std::vector<std::vector<double>>& obs);

}  // namespace rl_training
