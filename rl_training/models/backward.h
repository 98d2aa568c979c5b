#pragma once
#include <torch/types.h>

namespace rl_training {

// loss.backward() for a scalar, on this thread: the same nodes in the same order, hence the same
// bits, without the engine's queues and stream bookkeeping, which cost more than the nodes of a
// small network. Graphs of more than 64 nodes go to the engine. Hooks and create_graph are not
// supported.
void run_backward(const torch::Tensor& loss);

}  // namespace rl_training
