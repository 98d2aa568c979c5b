#pragma once
#include <torch/types.h>

namespace rl_training {

// Makes LibTorch reuse the memory of small CPU tensors for later tensors of similar size. Training
// creates tensors of the same sizes again and again, and allocating aligned memory each time costs
// as much as some of the arithmetic. Applies to the whole process; further calls have no effect.
void keep_tensor_memory();

// An uninitialised float32 tensor on the CPU for values without an autograd graph. Small tensors
// are reused, because creating a tensor takes longer than filling it: the result may be a tensor
// that an earlier call on this thread returned and that is no longer referenced.
torch::Tensor reused_floats(torch::IntArrayRef shape);

}  // namespace rl_training
