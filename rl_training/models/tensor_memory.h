#pragma once
#include <torch/types.h>

namespace rl_training {

// Has LibTorch keep the memory of small CPU tensors for the next one of about that size. Training
// makes the same tensors again and again, and asking the system for aligned memory each time costs
// as much as some of the arithmetic. For the whole process; asking again changes nothing.
void keep_tensor_memory();

// An uninitialised float32 tensor on the CPU for values outside any graph. A small one is
// a tensor of that shape that this thread used before and that is no longer referenced: creating
// one takes longer than to fill it.
torch::Tensor reused_floats(torch::IntArrayRef shape);

}  // namespace rl_training
