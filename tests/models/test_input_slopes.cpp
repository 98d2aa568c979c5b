#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "rl_training/models/input_slopes.h"
#include "tests/support/tensors.h"

namespace rl_training::test_input_slopes {
namespace {

// Computes the slopes dQ/da with torch operators, one critic at a time. All critics share the
// actions, so a single call of autograd would return the sum of their slopes.
torch::Tensor plain_slopes(const CriticEnsemble& critics, const torch::Tensor& obs,
                           const torch::Tensor& actions) {
  const auto leaf = actions.clone().set_requires_grad(true);
  const auto values = plain(critics.network(), obs, leaf);
  std::vector<torch::Tensor> slopes;
  for (int64_t i = 0; i < values.size(0); ++i) {
    slopes.push_back(torch::autograd::grad({values[i].sum()}, {leaf}, {}, /*retain_graph=*/true,
                                           /*create_graph=*/true)[0]);
  }
  return torch::stack(slopes);
}

torch::Tensor gradient_of(const CriticEnsemble& critics, const torch::Tensor& loss) {
  const auto& parameters = critics.network().parameters();
  parameters.mutable_grad() = torch::Tensor();
  loss.backward();
  const auto gradient = parameters.grad().clone();
  parameters.mutable_grad() = torch::Tensor();
  return gradient;
}

TEST(InputSlopes, EqualGradientsOfGradients) {
  for (const auto& hidden : std::vector<std::vector<int64_t>>{{}, {16}, {24, 40, 33}}) {
    for (const int64_t actions : {1, 3}) {
      SCOPED_TRACE(std::to_string(hidden.size()) + " hidden layers, actions " +
                   std::to_string(actions));
      Rng rng(1);
      const CriticEnsemble critics(5, actions, {.count = 3, .hidden_sizes = hidden}, rng, {});
      const auto obs = normal_noise({40, 5}, 2), taken = normal_noise({40, actions}, 3);
      const auto weights = normal_noise({3, 40, actions}, 4);
      const InputSlopes slopes(critics, {});
      const auto got = slopes.at(critics, obs, taken);
      const auto expected = plain_slopes(critics, obs, taken);
      EXPECT_TRUE(torch::allclose(got, expected, 1e-4, 1e-6));
      EXPECT_TRUE(torch::allclose(gradient_of(critics, (got.square() * weights).sum()),
                                  gradient_of(critics, (expected.square() * weights).sum()), 1e-3,
                                  1e-4));
    }
  }
}

// In a loss that uses both slopes and values, the parameter gradients of both terms add up. The
// order of the terms does not matter.
TEST(InputSlopes, GradientsAddUpWithThoseOfValues) {
  Rng rng(1);
  const CriticEnsemble critics(5, 2, {.count = 2, .hidden_sizes = {8}}, rng, {});
  const auto obs = normal_noise({30, 5}, 2), actions = normal_noise({30, 2}, 3);
  const InputSlopes slopes(critics, {});
  const auto of_values = [&] { return critics.values(obs, actions).square().sum(); };
  const auto of_slopes = [&] { return slopes.at(critics, obs, actions).square().sum(); };
  const auto apart = gradient_of(critics, of_values()) + gradient_of(critics, of_slopes());
  for (int i = 0; i < 2; ++i) {  // the second iteration reuses memory
    EXPECT_TRUE(
        torch::allclose(gradient_of(critics, of_values() + of_slopes()), apart, 1e-4, 1e-5));
    EXPECT_TRUE(
        torch::allclose(gradient_of(critics, of_slopes() + of_values()), apart, 1e-4, 1e-5));
  }
}

}  // namespace
}  // namespace rl_training::test_input_slopes
