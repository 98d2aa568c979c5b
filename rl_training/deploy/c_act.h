#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "rl_training/models/policy_graph.h"

namespace rl_training {

// The operations of a policy as C code, for the function that computes an action.
struct CActCode {
  std::string constants;     // arrays of weights, at file scope
  std::string body;          // body of `void act(obs, float *action)` or `int act(obs)`
  int64_t stack_floats = 0;  // total size of the local arrays
};
// Names at file scope begin with `prefix`. The body calls <prefix>_dense and <prefix>_layer_norm.
CActCode write_c_act(const PolicyGraph& graph, const std::string& prefix);

// `static const float name[] = {...};`
std::string c_array(const std::string& name, std::span<const double> values);

}  // namespace rl_training
