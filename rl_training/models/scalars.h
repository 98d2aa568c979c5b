#pragma once
#include <torch/types.h>

#include <initializer_list>
#include <utility>

namespace rl_training {

// Scalar tensors and reductions of small float32 tensors. These functions read and write memory
// directly, because for a few hundred values the dispatch of a torch operator takes several times
// as long as the arithmetic. Each differentiable function creates at most one autograd node.

// `scalar` creates a scalar tensor. `number` reads the value of a scalar tensor directly from
// memory.
torch::Tensor scalar(double value);
float number(const torch::Tensor& value);

// The mean of all values, with gradient: any shape -> scalar.
torch::Tensor mean_of(const torch::Tensor& values);

// The mean absolute value, without gradient.
double mean_abs(const torch::Tensor& values);

// The sum of `factor * value` over pairs (factor, scalar tensor), with gradient.
torch::Tensor weighted_sum(std::initializer_list<std::pair<double, torch::Tensor>> terms);

// A scalar with this value whose gradients with respect to `inputs` are already known. The result
// has no graph if gradients are disabled or if none of the inputs requires one.
torch::Tensor with_gradients(double value, const torch::autograd::variable_list& inputs,
                             torch::autograd::variable_list gradients);

}  // namespace rl_training
