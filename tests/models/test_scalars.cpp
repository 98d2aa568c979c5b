#include <gtest/gtest.h>

#include "rl_training/models/scalars.h"

namespace rl_training::test_scalars {
namespace {

TEST(Scalars, MeanAndItsGradient) {
  const auto x = torch::tensor({{1.0f, 2.0f}, {3.0f, 10.0f}}).set_requires_grad(true);
  const auto result = mean_of(x);
  EXPECT_EQ(result.item<float>(), 4.0f);
  result.backward();
  EXPECT_TRUE(torch::equal(x.grad(), torch::full({2, 2}, 0.25f)));
}

TEST(Scalars, MeanReadsTransposedValuesInAnyOrder) {
  const auto x = torch::tensor({{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}});
  EXPECT_EQ(mean_of(x.t().narrow(0, 0, 2)).item<float>(), 3.0f);  // 1, 2, 4, 5
}

TEST(Scalars, MeanAbs) { EXPECT_EQ(mean_abs(torch::tensor({1.0f, -2.0f, 0.0f, -5.0f})), 2.0); }

TEST(Scalars, WeightedSumAndItsGradient) {
  const auto a = torch::full({}, 2.0f).set_requires_grad(true);
  const auto b = torch::full({}, 5.0f).set_requires_grad(true);
  const auto result = weighted_sum({{3.0, a}, {-0.5, b}});
  EXPECT_EQ(result.item<float>(), 3.5f);
  (result * 2).backward();
  EXPECT_EQ(a.grad().item<float>(), 6.0f);
  EXPECT_EQ(b.grad().item<float>(), -1.0f);
}

TEST(Scalars, WithoutGradientModeThereIsNoGraph) {
  const auto x = torch::ones({3}).set_requires_grad(true);
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(mean_of(x).requires_grad());
  EXPECT_FALSE(weighted_sum({{1.0, x.sum()}}).requires_grad());
}

}  // namespace
}  // namespace rl_training::test_scalars
