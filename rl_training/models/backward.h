#pragma once
#include <torch/types.h>

namespace rl_training {

// Does the same as loss.backward() for a scalar, but without the queues and stream bookkeeping of
// the autograd engine, which cost more than the nodes of a small network. The nodes run in the same
// order as in the engine, so the results are bit-identical. Graphs of more than 64 nodes are passed
// to the engine. Hooks and create_graph are not supported.
void run_backward(const torch::Tensor& loss);

}  // namespace rl_training
