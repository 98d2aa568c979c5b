#pragma once
#include <string>

#include "rl_training/util/state.h"

namespace rl_training {

class FiniteCheck final : public StateVisitor {
 public:
  const std::string& first_bad() const { return first_bad_; }

 private:
  void on_array(const std::string& name, DType dtype, std::span<const int64_t> shape,
                void* data) override;
  void on_text(const std::string&, std::string&) override {}
  std::string first_bad_;
};

// Name of the first array of 32-bit floats that holds a NaN or infinity, or "".
template <class Part>
std::string first_nonfinite(Part& part) {
  FiniteCheck check;
  part.visit_state(check);
  return check.first_bad();
}

// The largest absolute value that an action may have when no reward is larger: the discounted sum
// of such rewards without end. Ten times that leaves space for entropy bonuses and early errors.
inline double plausible_value(double largest_reward, double gamma) {
  return 10.0 * largest_reward / (1.0 - gamma);
}

}  // namespace rl_training
