#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rl_training/models/losses.h"
#include "rl_training/util/rng.h"

namespace rl_training::test_losses {
namespace {

torch::Tensor draw(Rng& rng, torch::IntArrayRef shape) {
  auto values = torch::empty(shape);
  rng.fill_normal({values.data_ptr<float>(), static_cast<size_t>(values.numel())});
  return values;
}

torch::Tensor leaf(const torch::Tensor& values) {
  return values.detach().clone().set_requires_grad(true);
}

void expect_close(const torch::Tensor& got, const torch::Tensor& expected) {
  EXPECT_TRUE(torch::allclose(got, expected, 1e-5, 1e-6)) << got << expected;
}

// A loss may be multiplied by a factor. The factor must also scale the gradient.
constexpr double kFactors[] = {1.0, 0.5, -3.0};

TEST(Losses, SquaredErrorEqualsPlainTorch) {
  Rng rng(1);
  const auto values = draw(rng, {3, 17}), target = draw(rng, {17});
  for (const double factor : kFactors) {
    const auto fused = leaf(values), plain = leaf(values);
    const auto loss = squared_error(fused, target) * factor;
    const auto expected = (plain - target).square().mean(1).sum() * factor;
    EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-5);
    loss.backward();
    expected.backward();
    expect_close(fused.grad(), plain.grad());
  }
}

torch::Tensor plain_quantile_huber(const torch::Tensor& quantiles, const torch::Tensor& target) {
  const int64_t n = quantiles.size(2);
  const auto levels = (torch::arange(n) + 0.5) / static_cast<double>(n);
  const auto delta = target.unsqueeze(0).unsqueeze(2) - quantiles.unsqueeze(3);
  const auto huber = torch::where(delta.abs() > 1, delta.abs() - 0.5, 0.5 * delta.square());
  const auto weight = (levels.view({1, 1, n, 1}) - (delta < 0).to(torch::kFloat)).abs();
  return (weight.detach() * huber).mean();
}

TEST(Losses, QuantileHuberEqualsPlainTorch) {
  Rng rng(2);
  for (const int64_t samples : {1, 7, 16, 46}) {
    SCOPED_TRACE(samples);
    const auto quantiles = draw(rng, {2, 5, 9}) * 2, target = draw(rng, {5, samples}) * 2;
    for (const double factor : kFactors) {
      const auto fused = leaf(quantiles), plain = leaf(quantiles);
      const auto loss = quantile_huber(fused, target) * factor;
      const auto expected = plain_quantile_huber(plain, target) * factor;
      EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-5);
      loss.backward();
      expected.backward();
      expect_close(fused.grad(), plain.grad());
    }
  }
}

// The quantile levels are 1/4 and 3/4. For the quantiles 0 and 1 and the target 2, the loss is
// (0.25 * 1.5 + 0.75 * 0.5) / 2. For the quantiles 0 and 3, the second quantile is above the
// target, and the loss is (0.25 * 1.5 + 0.25 * 0.5) / 2.
TEST(Losses, QuantileHuberByHand) {
  const auto target = torch::tensor({{2.0f}});
  EXPECT_NEAR(quantile_huber(torch::tensor({{{0.0f, 1.0f}}}), target).item<double>(), 0.375, 1e-6);
  EXPECT_NEAR(quantile_huber(torch::tensor({{{0.0f, 3.0f}}}), target).item<double>(), 0.25, 1e-6);
}

TEST(Losses, SoftActorLossEqualsPlainTorch) {
  Rng rng(3);
  const auto log_prob = draw(rng, {11}), values = draw(rng, {4, 11});
  const auto alpha = torch::full({}, 0.3f);
  for (const auto reduce : {Reduce::minimum, Reduce::mean}) {
    for (const double factor : kFactors) {
      const auto fused_l = leaf(log_prob), plain_l = leaf(log_prob);
      const auto fused_q = leaf(values), plain_q = leaf(values);
      const auto q = reduce == Reduce::minimum ? std::get<0>(plain_q.min(0)) : plain_q.mean(0);
      const auto both = soft_actor_loss(fused_l, fused_q, alpha, reduce);
      const auto loss = both.loss * factor;
      EXPECT_NEAR(both.entropy.item<double>(), -log_prob.mean().item<double>(), 1e-6);
      const auto expected = (alpha * plain_l - q).mean() * factor;
      EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-5);
      loss.backward();
      expected.backward();
      expect_close(fused_l.grad(), plain_l.grad());
      expect_close(fused_q.grad(), plain_q.grad());
    }
  }
}

TEST(Losses, WithoutGradientModeThereIsNoGraph) {
  const auto values = torch::ones({2, 3}).set_requires_grad(true);
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(squared_error(values, torch::zeros({3})).requires_grad());
}

TEST(Losses, TargetsStopAtTerminationsOnly) {
  const auto target = td_target(torch::tensor({1.0f, 2.0f}), torch::tensor({0.9f, 0.0f}),
                                torch::tensor({10.0f, 10.0f}));
  EXPECT_NEAR(target[0].item<double>(), 10.0, 1e-6);
  EXPECT_NEAR(target[1].item<double>(), 2.0, 1e-6);
  const auto wide = td_target(torch::tensor({1.0f, 2.0f}), torch::tensor({0.5f, 0.0f}),
                              torch::tensor({{10.0f, 20.0f}, {10.0f, 20.0f}}));
  EXPECT_TRUE(torch::equal(wide, torch::tensor({{6.0f, 11.0f}, {2.0f, 2.0f}})));
}

TEST(Losses, MinimumOverMembersKeepsNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto values = torch::tensor({{1.0f, 5.0f, nan, 2.0f}, {3.0f, -4.0f, 1.0f, nan}});
  const auto least = minimum(values);
  EXPECT_TRUE(torch::equal(least.narrow(0, 0, 2), torch::tensor({1.0f, -4.0f})));
  EXPECT_TRUE(std::isnan(least[2].item<float>()));
  EXPECT_TRUE(std::isnan(least[3].item<float>()));
}

// 0.5 + clip(2 * 0.05, +-0.3) = 0.6;  0.9 + clip(2 * 1, +-0.3) = 1.2, clipped to 1;
// -0.9 + clip(2 * -1, +-0.3) = -1.2, clipped to -1
TEST(Losses, ClippedNoiseByHand) {
  const auto actions = torch::tensor({{0.5f, 0.9f, -0.9f}});
  const auto noise = torch::tensor({{0.05f, 1.0f, -1.0f}});
  expect_close(add_clipped_noise(actions, noise, 2.0, 0.3), torch::tensor({{0.6f, 1.0f, -1.0f}}));
  EXPECT_EQ(actions[0][0].item<float>(), 0.5f);
}

TEST(Losses, MeanSquaredErrorEqualsPlainTorch) {
  Rng rng(4);
  const auto x = draw(rng, {5, 3}), y = draw(rng, {5, 3});
  for (const double factor : kFactors) {
    const auto fused = leaf(x), plain = leaf(x);
    const auto loss = mean_squared_error(fused, y) * factor;
    const auto expected = torch::mse_loss(plain, y) * factor;
    EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-5);
    loss.backward();
    expected.backward();
    expect_close(fused.grad(), plain.grad());
  }
}

}  // namespace
}  // namespace rl_training::test_losses
