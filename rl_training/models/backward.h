#pragma once
#include <torch/types.h>

namespace rl_training {

// Does the same as loss.backward() for a scalar, but on the calling thread. The nodes run in the
// same order as in the autograd engine, so the results are bit-identical. This function avoids the
// engine's queues and stream bookkeeping, which cost more than the nodes of a small network. It
// passes graphs of more than 64 nodes to the engine. Hooks and create_graph are not supported.
void run_backward(const torch::Tensor& loss);

}  // namespace rl_training
