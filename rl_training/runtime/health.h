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

// Name of the first float32 array that contains NaN or infinity; "" if there is none.
template <class Part>
std::string first_nonfinite(Part& part) {
  FiniteCheck check;
  part.visit_state(check);
  return check.first_bad();
}

// Bound of plausible Q values: ten times the discounted sum of the largest reward over infinitely
// many steps. The factor of ten allows for entropy bonuses and early errors.
inline double plausible_value(double largest_reward, double gamma) {
  return 10.0 * largest_reward / (1.0 - gamma);
}

}  // namespace rl_training
