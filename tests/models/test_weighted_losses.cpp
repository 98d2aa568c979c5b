#include <gtest/gtest.h>

#include "rl_training/models/losses.h"

namespace rl_training::test_weighted_losses {
namespace {

double expectile_of(float difference, double expectile) {
  return expectile_loss(torch::tensor({1.0f}), torch::tensor({1.0f + difference}), expectile)
      .item<double>();
}

TEST(ExpectileLoss, WeighsTheTwoSidesDifferently) {
  EXPECT_NEAR(expectile_of(2, 0.7), 2.8, 1e-6);
  EXPECT_NEAR(expectile_of(-2, 0.7), 1.2, 1e-6);
  EXPECT_EQ(expectile_of(0, 0.7), 0.0);
}

TEST(ExpectileLoss, AtOneHalfItIsHalfTheMeanSquare) {
  const auto u = torch::tensor({2.0f, -3.0f, 0.5f, -0.25f});
  EXPECT_NEAR(expectile_loss(torch::zeros({4}), u, 0.5).item<double>(),
              0.5 * u.square().mean().item<double>(), 1e-6);
}

// The gradient is dL/dvalue = -2 |expectile - 1[u < 0]| u / rows with u = target - value.
TEST(ExpectileLoss, Gradient) {
  const auto values = torch::tensor({1.0f, 4.0f}).set_requires_grad(true);
  expectile_loss(values, torch::tensor({3.0f, 1.0f}), 0.9).backward();
  EXPECT_NEAR(values.grad()[0].item<double>(), -0.9 * 2, 1e-6);
  EXPECT_NEAR(values.grad()[1].item<double>(), 0.1 * 3, 1e-6);
}

TEST(ExpWeights, AreCutWithoutOverflow) {
  const auto weights =
      exp_weights(torch::tensor({0.0f, std::log(30.0f), 1e30f, -1e30f, 1.0f}), 1, 20);
  EXPECT_TRUE(torch::allclose(weights, torch::tensor({1.0f, 20.0f, 20.0f, 0.0f, 2.7182818f})));
}

TEST(ExpWeights, MultiplyTheExponent) {
  const auto weights = exp_weights(torch::tensor({0.5f, -1.0f}), 2, 100);
  EXPECT_TRUE(torch::allclose(weights, torch::tensor({2.7182818f, 0.1353353f})));
}

TEST(WeightedCloning, WeightsAreConstants) {
  const auto weights = torch::tensor({2.0f, 0.0f}).set_requires_grad(true);
  const auto log_prob = torch::tensor({-3.0f, -5.0f}).set_requires_grad(true);
  const auto loss = weighted_cloning(weights, log_prob);
  EXPECT_NEAR(loss.item<double>(), 3.0, 1e-6);
  loss.backward();
  EXPECT_TRUE(torch::equal(log_prob.grad(), torch::tensor({-1.0f, 0.0f})));
  EXPECT_FALSE(weights.grad().defined());
}

}  // namespace
}  // namespace rl_training::test_weighted_losses
