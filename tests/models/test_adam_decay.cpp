#include <gtest/gtest.h>

#include "rl_training/models/adam.h"

namespace rl_training::test_adam_decay {
namespace {

torch::Tensor leaf(std::vector<float> values) {
  return torch::tensor(values).set_requires_grad(true);
}

// The first step of Adam moves each parameter by the learning rate, against the sign of the
// gradient. The decay subtracts rate * weight_decay * p and does not affect the moments.
TEST(AdamW, DecayIsDecoupledFromTheMoments) {
  const auto p = leaf({2.0f, -4.0f});
  Adam adam({p}, {.learning_rate = 0.1, .weight_decay = 0.5}, {});
  p.mutable_grad() = torch::tensor({3.0f, -5.0f});
  adam.step(0.5);  // the scale also applies to the decay
  const double rate = 0.05;
  EXPECT_NEAR(p[0].item<double>(), 2.0 * (1 - rate * 0.5) - rate, 1e-6);
  EXPECT_NEAR(p[1].item<double>(), -4.0 * (1 - rate * 0.5) + rate, 1e-6);
}

// The norm is computed over all leaves together: for the gradients (3, 4) and (12), it is 13. The
// limit is 1.3, so all gradients are scaled by 0.1.
TEST(AdamClipping, ScalesLongGradientsDown) {
  const auto a = leaf({0.0f, 0.0f}), b = leaf({0.0f});
  Adam adam({a, b}, {.learning_rate = 1.0, .beta1 = 0.0, .eps = 1e6, .max_gradient_norm = 1.3}, {});
  a.mutable_grad() = torch::tensor({3.0f, 4.0f});
  b.mutable_grad() = torch::tensor({12.0f});
  adam.step();
  EXPECT_NEAR(adam.gradient_norm(), 13.0, 1e-6);
  // With such a large epsilon, the step is nearly the clipped gradient divided by epsilon.
  EXPECT_NEAR(a[0].item<double>() * -1e6, 0.3, 1e-4);
  EXPECT_NEAR(b[0].item<double>() * -1e6, 1.2, 1e-4);
}

TEST(AdamClipping, LeavesShortGradientsAlone) {
  const auto a = leaf({0.0f, 0.0f});
  Adam adam({a}, {.learning_rate = 1.0, .beta1 = 0.0, .eps = 1e6, .max_gradient_norm = 10.0}, {});
  a.mutable_grad() = torch::tensor({3.0f, 4.0f});
  adam.step();
  EXPECT_NEAR(adam.gradient_norm(), 5.0, 1e-6);
  EXPECT_NEAR(a[0].item<double>() * -1e6, 3.0, 1e-4);
}

}  // namespace
}  // namespace rl_training::test_adam_decay
