#include "rl_training/models/log_scalar.h"

#include <algorithm>
#include <cmath>

#include "rl_training/models/tensor_memory.h"

namespace rl_training {
namespace {

// Replaces -infinity, the logarithm of a multiplier that is fixed at 0. This number is finite, and
// its exponential is 0.
constexpr double kLeastLog = -1e9;

}  // namespace

LogScalar::LogScalar(const Options& options, const Compute& compute)
    : options_(options),
      log_(torch::full({1}, std::max(options.initial_log, kLeastLog),
                       torch::TensorOptions().requires_grad(true))),
      optimizer_({log_}, {.learning_rate = options.learning_rate}, compute) {
  refresh_value();
}

// Always computes the value with the same function, because two implementations of exp may differ
// in the last bit, and a resumed run must equal an uninterrupted run.
void LogScalar::refresh_value() {
  value_ = reused_floats({});
  *value_.data_ptr<float>() = std::exp(*log_.data_ptr<float>());
}

void LogScalar::descend(const torch::Tensor& gradient) {
  const torch::NoGradGuard no_grad;
  auto slope = reused_floats({1});
  *slope.data_ptr<float>() = *gradient.data_ptr<float>();
  log_.mutable_grad() = std::move(slope);
  apply_gradients(optimizer_, 1.0);
  float& log = *log_.data_ptr<float>();
  log = std::clamp(log, static_cast<float>(options_.log_min), static_cast<float>(options_.log_max));
  refresh_value();
}

void LogScalar::visit_state(StateVisitor& state) {
  const torch::NoGradGuard no_grad;
  visit_tensor(state, "log", log_);
  state.part("optimizer", optimizer_);
  refresh_value();
}

}  // namespace rl_training
