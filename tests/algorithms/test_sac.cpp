#include "rl_training/algorithms/sac.h"
#include "tests/algorithms/soft_example.h"

namespace rl_training::test_sac {
namespace {

TEST(SacLoss, CriticLossByHand) {
  SacOptions options;
  const auto design = options.design(1);
  SoftExample f(options, design);
  const auto result = soft_critic_loss(f.networks, f.batch, f.noise, {0, 1}, f.alpha, design);
  const double y0 = SoftExample::target(0, kLeastTarget[0], 0.5);
  const double y1 = SoftExample::target(1, kLeastTarget[1], 0.5);
  EXPECT_NEAR(y0, 3.434875, 1e-6);
  EXPECT_NEAR(y1, 4.488954, 1e-5);
  EXPECT_NEAR(metric(result, "target_q_mean"), (y0 + y1) / 2, 1e-5);
  EXPECT_NEAR(result.loss.item<double>(), 0.5 * SoftExample::squared_errors(y0, y1), 1e-4);

  // dL/dQ_i = (Q_i - y) / rows. The gradient with respect to a bias is the sum over the rows.
  result.loss.backward();
  const auto gradient = f.networks.critics.network().parameters().grad();
  EXPECT_NEAR(gradient[2].item<double>(), (1.5 - y0 - 1.5 - y1) / 2, 1e-5);
  EXPECT_NEAR(gradient[5].item<double>(), (1.6 - y0 - 1.4 - y1) / 2, 1e-5);
  EXPECT_FALSE(f.networks.critics_target.network().parameters().grad().defined());
  EXPECT_FALSE(f.networks.actor.parameters()[0].grad().defined());
}

TEST(SacLoss, TerminationEndsValueAndEntropy) {
  SacOptions options;
  const auto design = options.design(1);
  SoftExample f(options, design);
  set_terminated(f.batch, {1, 1});
  const auto result = soft_critic_loss(f.networks, f.batch, f.noise, {0, 1}, f.alpha, design);
  EXPECT_NEAR(metric(result, "target_q_mean"), 1.5, 1e-6);
}

// With a = (0, tanh 1), Q_1 = (1, -1 + a) and Q_2 = (2.1, -1.9 - a). The minimum is Q_1 in the
// first row and Q_2 in the second.
TEST(SacLoss, ActorLossAndGradientByHand) {
  SacOptions options;
  const auto design = options.design(1);
  SoftExample f(options, design);
  const auto result = soft_policy_loss(f.networks, f.batch, f.noise, f.alpha, design);
  const double a = SoftExample::kTanh1;
  EXPECT_NEAR(result.loss.item<double>(), SoftExample::policy_loss(0.5, 1, -1.9 - a), 1e-5);
  EXPECT_NEAR(metric(result, "entropy"), (0.918939 + 0.551377) / 2, 1e-5);

  // With respect to the mean, the derivative of log pi is 2 a and that of a is 1 - a^2. With
  // respect to log std, both are multiplied by the noise, and log pi has the additional term -1.
  result.loss.backward();
  const auto gradient = f.networks.actor.parameters()[0].grad();
  const double first = -1, second = 0.5 * 2 * a + (1 - a * a);
  EXPECT_NEAR(gradient[2].item<double>(), (first + second) / 2, 1e-5);
  EXPECT_NEAR(gradient[0].item<double>(), (first - second) / 2, 1e-5);  // s = (1, -1)
  EXPECT_NEAR(gradient[3].item<double>(), (-0.5 + -0.5 + second) / 2, 1e-5);
  EXPECT_FALSE(f.networks.critics.network().parameters().grad().defined());
}

// The loss is log alpha (H - H_target) with H_target = -1 for a one-dimensional action. Its
// derivative with respect to log alpha is H - H_target.
TEST(SacLoss, TemperatureLossByHand) {
  SacOptions options;
  const auto goal = options.design(1).temperature;
  const auto result = soft_temperature_loss(torch::full({}, 0.5f), torch::full({}, 0.75f), goal);
  EXPECT_NEAR(metric(result, "temperature_loss"), std::log(0.5) * 1.75, 1e-6);
  EXPECT_NEAR(result.gradient.item<double>(), 1.75, 1e-6);
  EXPECT_EQ(metric(result, "alpha"), 0.5);
}

TEST(SacLoss, AFixedTemperatureHasNoGradient) {
  SacOptions options;
  options.alpha = "0.5";
  const auto goal = options.design(1).temperature;
  const auto result = soft_temperature_loss(torch::full({}, 0.5f), torch::full({}, 0.75f), goal);
  EXPECT_EQ(metric(result, "temperature_loss"), 0.0);
  EXPECT_FALSE(result.gradient.defined());
}

TEST(SacLoss, TheTargetEntropyIsMinusTheActions) {
  SacOptions options;
  EXPECT_EQ(options.design(6).temperature.entropy, -6);
  options.target_entropy = 0.5;
  EXPECT_EQ(options.design(6).temperature.entropy, 0.5);
}

double alpha_after(double target_entropy, const std::string& alpha, int updates = 3) {
  SacOptions options;
  options.hidden_sizes = {8};
  options.learning_rate = 0.01;
  options.target_entropy = target_entropy;
  options.alpha = alpha;
  Sac algorithm(options, small_context());
  Metrics metrics;
  for (int i = 0; i < updates; ++i) metrics = algorithm.update(random_batch(i), 1.0);
  return metric(metrics, "alpha");
}

// The temperature increases if the entropy is below its target. The targets 100 and -100 are far
// from the entropy, so each of three updates changes log alpha by the learning rate, 0.01.
TEST(Sac, TheTemperatureMovesTheRightWay) {
  EXPECT_NEAR(alpha_after(100, "auto"), std::exp(0.03), 1e-4);
  EXPECT_NEAR(alpha_after(-100, "auto"), std::exp(-0.03), 1e-4);
  EXPECT_NEAR(alpha_after(100, "auto:0.2"), 0.2 * std::exp(0.03), 1e-4);
  EXPECT_NEAR(alpha_after(100, "0.2"), 0.2, 1e-7);
}

// The logarithm of 0 is not finite, but the state and the metrics must be finite.
TEST(Sac, AFixedTemperatureOfZeroIsFinite) {
  EXPECT_EQ(alpha_after(0, "0"), 0);
  SacOptions options;
  options.hidden_sizes = {8};
  options.alpha = "0";
  Sac algorithm(options, small_context());
  const auto metrics = algorithm.update(random_batch(0), 1.0);
  for (const auto& [name, value] : metrics.values()) {
    EXPECT_TRUE(std::isfinite(value.item<double>())) << name;
  }
  EXPECT_EQ(metric(metrics, "temperature_loss"), 0);
}

TEST(Sac, ExploresAroundTheGreedyAction) {
  SacOptions options;
  options.hidden_sizes = {8};
  Sac algorithm(options, small_context());
  const auto obs = torch::ones({1000, 3});
  const auto greedy = act_once(algorithm, obs);
  EXPECT_TRUE(torch::equal(greedy[0], greedy[999]));
  const auto explored = act_once(algorithm, obs, ActMode::explore).clone();
  EXPECT_FALSE(torch::equal(explored, act_once(algorithm, obs, ActMode::explore)));
  const auto below = (explored < greedy).to(torch::kFloat).mean(0);  // tanh preserves the median
  EXPECT_NEAR(below[0].item<double>(), 0.5, 0.08);
  EXPECT_GT(explored.std(0).min().item<double>(), 0.1);
}

}  // namespace
}  // namespace rl_training::test_sac
