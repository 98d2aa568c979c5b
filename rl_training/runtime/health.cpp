#include "rl_training/runtime/health.h"

#include <cmath>

namespace rl_training {

void FiniteCheck::on_array(const std::string& name, DType dtype, std::span<const int64_t> shape,
                           void* data) {
  if (dtype != DType::f32 || !first_bad_.empty()) return;
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  const auto* values = static_cast<const float*>(data);
  // x * 0 is 0 for every finite x and NaN otherwise. One pass without branches therefore checks all
  // values.
  float sum = 0.0f;
  for (int64_t i = 0; i < count; ++i) sum += values[i] * 0.0f;
  if (!std::isfinite(sum)) first_bad_ = name;
}

}  // namespace rl_training
