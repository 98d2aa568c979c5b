#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/models/mmd.h"
#include "rl_training/util/rng.h"

namespace rl_training::test_mmd {
namespace {

torch::Tensor draw(Rng& rng, torch::IntArrayRef shape) {
  auto values = torch::empty(shape);
  rng.fill_normal({values.data_ptr<float>(), static_cast<size_t>(values.numel())});
  return values;
}

double mmd_of(const torch::Tensor& x, const torch::Tensor& y, MmdKernel kernel, double sigma = 20) {
  return maximum_mean_discrepancy(x.unsqueeze(0), y.unsqueeze(0), kernel, sigma).item<double>();
}

constexpr MmdKernel kKernels[] = {MmdKernel::gaussian, MmdKernel::laplacian};

// The kernel is exp(-distance / (2 sigma)). With 2 sigma^2 instead, the value would be 0.049994.
TEST(Mmd, GoldenValue) {
  for (const MmdKernel kernel : kKernels) {
    EXPECT_NEAR(mmd_of(torch::zeros({1, 1}), torch::ones({1, 1}), kernel), 0.222219, 1e-5);
  }
}

TEST(Mmd, KernelsByHand) {
  const auto origin = torch::zeros({1, 2}), point = torch::tensor({{3.0f, -1.0f}});
  EXPECT_NEAR(mmd_of(origin, point, MmdKernel::laplacian, 5), std::sqrt(2 - 2 * std::exp(-4 / 10.)),
              1e-5);
  EXPECT_NEAR(mmd_of(origin, point, MmdKernel::gaussian, 5), std::sqrt(2 - 2 * std::exp(-10 / 10.)),
              1e-5);
}

TEST(Mmd, EqualSetsFarSetsAndSymmetry) {
  Rng rng(1);
  const auto x = draw(rng, {4, 3}), y = draw(rng, {4, 3});
  for (const MmdKernel kernel : kKernels) {
    EXPECT_NEAR(mmd_of(x, x, kernel), 1e-3, 2e-4);
    EXPECT_NEAR(mmd_of(torch::zeros({1, 1}), torch::full({1, 1}, 1e6f), kernel), std::sqrt(2.0),
                1e-5);
    EXPECT_NEAR(mmd_of(x, y, kernel), mmd_of(y, x, kernel), 1e-6);
  }
}

// Returns sqrt(mean k(x, x') + mean k(y, y') - 2 mean k(x, y) + 1e-6). The first two means include
// the diagonals.
torch::Tensor by_three_terms(const torch::Tensor& x, const torch::Tensor& y, MmdKernel kernel) {
  const auto mean_kernel = [&](const torch::Tensor& u, const torch::Tensor& v) {
    const auto d = u.unsqueeze(2) - v.unsqueeze(1);
    const auto distance = kernel == MmdKernel::gaussian ? d.pow(2).sum(3) : d.abs().sum(3);
    return torch::exp(-distance / (2 * 1.5)).mean(2).mean(1);
  };
  return torch::sqrt(mean_kernel(x, x) + mean_kernel(y, y) - 2 * mean_kernel(x, y) + 1e-6);
}

// The fused code processes blocks of 16 rows, so 21 rows are a full block and a partial block.
TEST(Mmd, ValuesAndGradientsAgainstTheThreeTerms) {
  Rng rng(2);
  const auto x_values = draw(rng, {21, 3, 2}), y_values = draw(rng, {21, 5, 2});
  const auto weight = draw(rng, {21});
  for (const MmdKernel kernel : kKernels) {
    const auto run = [&](const auto& mmd) {
      auto x = x_values.clone().set_requires_grad(true),
           y = y_values.clone().set_requires_grad(true);
      const auto value = mmd(x, y);
      (value * weight).sum().backward();
      return std::vector<torch::Tensor>{value.detach(), x.grad(), y.grad()};
    };
    const auto expected =
        run([&](const auto& x, const auto& y) { return by_three_terms(x, y, kernel); });
    const auto fused = run(
        [&](const auto& x, const auto& y) { return maximum_mean_discrepancy(x, y, kernel, 1.5); });
    const auto plain = run([&](const auto& x, const auto& y) {
      return maximum_mean_discrepancy_plain(x, y, kernel, 1.5);
    });
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(torch::allclose(fused[i], expected[i], 1e-4, 1e-5)) << i;
      EXPECT_TRUE(torch::allclose(plain[i], expected[i], 1e-4, 1e-5)) << i;
    }
  }
}

}  // namespace
}  // namespace rl_training::test_mmd
