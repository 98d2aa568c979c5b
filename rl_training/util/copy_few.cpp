#include "rl_training/util/copy_few.h"

#include <algorithm>

namespace rl_training {

void copy_many(const float* from, int64_t count, float* to) { std::copy_n(from, count, to); }

}  // namespace rl_training
