#include "rl_training/algorithms/xql.h"
#include "rl_training/models/losses.h"
#include "tests/algorithms/linear_example.h"

namespace rl_training::test_xql {
namespace {

torch::Tensor leaf(const std::vector<float>& values) {
  return torch::tensor(values).set_requires_grad(true);
}

// z = Q - V = (0.5, -1, 2), and the temperature is 1.
TEST(GumbelLoss, Golden) {
  const auto value = leaf({0, 0, 0});
  const auto loss = gumbel_loss(torch::tensor({0.5f, -1.0f, 2.0f}) - value, 1.0, 7.0);
  EXPECT_NEAR(loss.item<double>(), 0.221303, 1e-6);
  const auto gradient = gradient_at(value, loss);
  EXPECT_NEAR(gradient[0].item<double>(), -0.029265, 1e-6);
  EXPECT_NEAR(gradient[1].item<double>(), 0.028516, 1e-6);
  EXPECT_NEAR(gradient[2].item<double>(), -0.288222, 1e-6);
  EXPECT_NEAR(gumbel_loss(torch::tensor({1.0f}), 1.0, 7.0).item<double>(), 0.264241, 1e-6);
}

TEST(GumbelLoss, TheExponentIsClippedAndScaledFromMinusOneOn) {
  const auto value = leaf({0, 0});
  // z = (5, 0.5). The first value is clipped to 2 and has no gradient. The losses of both values
  // are multiplied by e^-2.
  const auto loss = gumbel_loss(torch::tensor({10.0f, 1.0f}) - value, 2.0, 2.0);
  const double scale = std::exp(-2.0);
  EXPECT_NEAR(loss.item<double>(), (std::exp(2.0) - 3 + std::exp(0.5) - 1.5) * scale / 2, 1e-6);
  const auto gradient = gradient_at(value, loss);
  EXPECT_EQ(gradient[0].item<double>(), 0);
  EXPECT_NEAR(gradient[1].item<double>(), -(std::exp(0.5) - 1) * scale / 2 / 2, 1e-6);
  // The factor is e^-max(z), or e^1 if all values of z are below -1.
  const auto low = gumbel_loss(torch::tensor({-9.0f}), 1.0, 7.0);
  EXPECT_NEAR(low.item<double>(), (std::exp(-9.0) + 8) * std::exp(1.0), 1e-4);
  // For small differences, the loss divided by this factor is half the squared difference.
  EXPECT_NEAR(gumbel_loss(torch::tensor({-0.01f}), 1.0, 7.0).item<double>() * std::exp(-0.01),
              0.5e-4, 1e-6);
}

TEST(HuberError, IsLinearBeyondDelta) {
  const auto values = torch::tensor({{25.0f, 3.0f}, {0.0f, 1.0f}});
  const auto loss = huber_error(values, torch::zeros({2}), 20.0);
  EXPECT_NEAR(loss.item<double>(), (300 + 4.5) / 2 + (0 + 0.5) / 2, 1e-4);
}

// As in test_iql.cpp, min_i Q' = (1.5, -2) and V = s / 2, so Q - V = (1, -1.5).
struct Fixture {
  XqlOptions options;
  std::unique_ptr<IqlNetworks> networks;
  Batch batch = two_rows();

  Fixture() {
    options.hidden_sizes.clear();
    networks = std::make_unique<IqlNetworks>(options, linear_context(), Rng(0));
    set_parameters(networks->value, {0.5f, 0});
    set_parameters(networks->critics.network(), kOnlineCritics);
    set_parameters(networks->critics_target.network(), kTargetCritics);
  }
};

TEST(XqlLoss, ValueLossByHand) {
  Fixture f;
  const auto result =
      xql_value_loss(*f.networks, f.batch, iql_target_q(*f.networks, f.batch), f.options);
  const double z[2] = {0.5, -0.75};  // the temperature is 2
  double expected = 0;
  for (const double x : z) expected += (std::exp(x) - x - 1) * std::exp(-0.5) / 2;
  EXPECT_NEAR(metric(result, "value_loss"), expected, 1e-6);
  const auto gradient = gradient_at(f.networks->value.parameters(), result.loss);
  const double slope[2] = {-(std::exp(0.5) - 1) * std::exp(-0.5) / 4,
                           -(std::exp(-0.75) - 1) * std::exp(-0.5) / 4};
  EXPECT_NEAR(gradient[0].item<double>(), slope[0] - slope[1], 1e-6);
  EXPECT_NEAR(gradient[1].item<double>(), slope[0] + slope[1], 1e-6);
}

// y = (1 + 0.99 V(1), 2) = (1.495, 2). No error reaches the Huber threshold of 20, so the loss of a
// critic is half the mean squared error.
TEST(XqlLoss, CriticLossByHand) {
  Fixture f;
  const auto result = xql_critic_loss(*f.networks, f.batch);
  EXPECT_NEAR(metric(result, "target_q_mean"), (1.495 + 2) / 2, 1e-6);
  const double q1 = (0.005 * 0.005 + 3.5 * 3.5) / 4, q2 = (0.105 * 0.105 + 3.4 * 3.4) / 4;
  EXPECT_NEAR(result.loss.item<double>(), q1 + q2, 1e-5);
  f.batch.rewards().add_(1000);
  const auto far = xql_critic_loss(*f.networks, f.batch);
  const auto gradient = gradient_at(f.networks->critics.network().parameters(), far.loss);
  EXPECT_NEAR(gradient[2].item<double>(), -20, 1e-4);  // both errors exceed the threshold of 20
  EXPECT_NEAR(gradient[5].item<double>(), -20, 1e-4);
}

XqlOptions small_options(double noise) {
  XqlOptions options;
  options.hidden_sizes = {8};
  options.value_action_noise = noise;
  return options;
}

// The noise on the actions affects the value loss, but not the weights in the actor loss.
TEST(Xql, NoiseIsOnTheActionsOfTheValueAlone) {
  const auto context = context_of(3, 2);
  const auto batch = random_rows(16, 3, 2);
  Xql plain(small_options(0), context), noisy(small_options(0.1), context);
  const auto expected = plain.update(batch, 1.0), got = noisy.update(batch, 1.0);
  EXPECT_NE(metric(got, "value_loss"), metric(expected, "value_loss"));
  EXPECT_NEAR(metric(got, "value_loss"), metric(expected, "value_loss"), 0.1);
  EXPECT_EQ(metric(got, "value_mean"), metric(expected, "value_mean"));
}

// The value network has LayerNorm in each hidden layer. The critics have none.
TEST(Xql, TheValueIsNormalised) {
  const IqlNetworks networks(small_options(0), context_of(3, 2), Rng(0),
                             LayerNorm::before_activation);
  EXPECT_EQ(networks.value.parameters().numel(), 3 * 8 + 8 + 2 * 8 + 8 + 1);
  EXPECT_EQ(networks.critics.network().parameters().numel(), 2 * (5 * 8 + 8 + 8 + 1));
}

}  // namespace
}  // namespace rl_training::test_xql
