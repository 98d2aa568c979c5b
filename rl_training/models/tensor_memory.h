#pragma once

namespace rl_training {

// Has LibTorch keep the memory of small CPU tensors for the next one of about that size. Training
// makes the same tensors again and again, and asking the system for aligned memory each time costs
// as much as some of the arithmetic. For the whole process; asking again changes nothing.
void keep_tensor_memory();

}  // namespace rl_training
