#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/algorithms/discrete_sac.h"
#include "rl_training/util/error.h"
#include "tests/algorithms/discrete_example.h"
#include "tests/support/memory_state.h"
#include "tests/support/metric_values.h"

namespace rl_training::test_discrete_sac {
namespace {

DiscreteSacOptions linear_options() {
  DiscreteSacOptions options;
  options.hidden_sizes = {};
  return options;
}

constexpr double kPi[] = {0.665241, 0.244728, 0.090031};  // softmax(1, 0, -1)
constexpr double kValue = 1.366192, kTarget = 2.352530, kEntropy = 0.832396;

// The policy has the logits (1, 0, -1), the minima of the target critics are (1, 2, 0.5), and alpha
// is 0.2.
struct Example {
  Example() : networks(linear_options(), choice_context(3), Rng(0)) {
    set_biases(networks.actor, {{1, 0, -1}});
    set_biases(networks.critics, {{0.5f, 1, 2}, {2, 3, 5}});
    set_biases(networks.critics_target, {{1, 2.5f, 0.5f}, {1.5f, 2, 0.9f}});
  }
  DiscreteSacNetworks networks;
  torch::Tensor alpha = torch::tensor(0.2f);
};

TEST(DiscreteSacLoss, ValueIsTheExpectationOverAllChoices) {
  const Example f;
  const torch::NoGradGuard no_grad;
  const auto obs = torch::zeros({1, 1});
  const auto log_probs = f.networks.log_probs(obs);
  for (int64_t a = 0; a < 3; ++a) {
    EXPECT_NEAR(std::exp(number_of(log_probs[0][a])), kPi[a], 1e-6);
  }
  const auto value =
      discrete_soft_value(log_probs, f.networks.critics_target.forward(obs), f.alpha);
  EXPECT_NEAR(number_of(value), kValue, 1e-6);
}

// Q_1 = 1 and Q_2 = 3 at the dataset action, so the errors are -1.352530 and 0.647470. The Huber
// loss limits the slope of the first error to -1.
TEST(DiscreteSacLoss, CriticLossAndGradientByHand) {
  const Example f;
  const auto result = discrete_sac_critic_loss(f.networks, rows_of({1}, 3), f.alpha, 0);
  EXPECT_NEAR(number_of(result.target_q_mean), kTarget, 1e-5);
  EXPECT_NEAR(number_of(result.loss), 0.852530 + 0.5 * 0.647470 * 0.647470, 1e-5);
  result.loss.backward();
  const auto first = bias_gradient(f.networks.critics, 0);
  const auto second = bias_gradient(f.networks.critics, 1);
  EXPECT_TRUE(torch::allclose(first, torch::tensor({0.0f, -1.0f, 0.0f})));
  EXPECT_TRUE(torch::allclose(second, torch::tensor({0.0f, 0.647470f, 0.0f}), 1e-4));
  EXPECT_FALSE(f.networks.actor.parameters().grad().defined());
  EXPECT_FALSE(f.networks.critics_target.parameters().grad().defined());
}

TEST(DiscreteSacLoss, EachRowHasItsOwnChoiceAndTerminationEndsTheValue) {
  const Example f;
  const auto batch = rows_of({0, 2}, 3);
  batch.discount().copy_(torch::tensor({0.0f, 0.99f}));
  const auto result = discrete_sac_critic_loss(f.networks, batch, f.alpha, 0);
  EXPECT_NEAR(number_of(result.target_q_mean), (1 + kTarget) / 2, 1e-5);
  const double row0 = 0.5 * 0.5 * 0.5 + 0.5 * 1 * 1;  // Q = 0.5 and 2, y = 1
  const double row1 = 0.5 * (2 - kTarget) * (2 - kTarget) + (5 - kTarget - 0.5);
  EXPECT_NEAR(number_of(result.loss), (row0 + row1) / 2, 1e-5);
}

// Q = 1 at the dataset action, so the penalty is log(e^1 + e^2 + e^0) - 1.
TEST(DiscreteSacLoss, CqlPenaltyByHand) {
  const Example f;
  set_biases(f.networks.critics, {{1, 2, 0}, {1, 2, 0}});
  const auto batch = rows_of({0}, 3);
  const auto plain = discrete_sac_critic_loss(f.networks, batch, f.alpha, 0);
  const auto held = discrete_sac_critic_loss(f.networks, batch, f.alpha, 0.5);
  EXPECT_NEAR(number_of(plain.cql_diff), 1.407606, 1e-6);
  EXPECT_NEAR(number_of(held.cql_diff), 1.407606, 1e-6);
  EXPECT_NEAR(number_of(held.loss) - number_of(plain.loss), 0.5 * 2 * 1.407606, 1e-5);
  // The gradient of the penalty is 0.5 (softmax(Q) - 1[a]). The Huber loss adds its slope of -1 at
  // the dataset action.
  held.loss.backward();
  const auto softmax = torch::tensor({1.0f, 2.0f, 0.0f}).softmax(0);
  const auto expected =
      0.5 * (softmax - torch::tensor({1.0f, 0.0f, 0.0f})) + torch::tensor({-1.0f, 0.0f, 0.0f});
  EXPECT_TRUE(torch::allclose(bias_gradient(f.networks.critics, 0), expected, 1e-5, 1e-6));

  set_biases(f.networks.critics, {{4, 4, 4}, {4, 4, 4}});
  const auto constant = discrete_sac_critic_loss(f.networks, batch, f.alpha, 1);
  EXPECT_NEAR(number_of(constant.cql_diff), std::log(3), 1e-6);
}

TEST(DiscreteSacLoss, ActorLossAndGradientByHand) {
  const Example f;
  set_biases(f.networks.critics, {{1, 2.5f, 0.5f}, {1.5f, 2, 0.9f}});
  const auto result = discrete_sac_actor_loss(f.networks, rows_of({0, 1}, 3), f.alpha);
  EXPECT_NEAR(number_of(result.loss), -kValue, 1e-6);
  EXPECT_NEAR(number_of(result.entropy), kEntropy, 1e-6);
  result.loss.backward();
  // The gradient is pi_j (f_j - sum_a pi_a f_a) with f = alpha log pi - min Q.
  const auto gradient = bias_gradient(f.networks.actor, 0);
  const double least[] = {1, 2, 0.5};
  for (int64_t j = 0; j < 3; ++j) {
    const double f_j = 0.2 * std::log(kPi[j]) - least[j];
    EXPECT_NEAR(number_of(gradient[j]), kPi[j] * (f_j + kValue), 1e-5) << j;
  }
  EXPECT_FALSE(f.networks.critics.parameters().grad().defined());
}

TEST(DiscreteSacLoss, TemperatureByHand) {
  const auto goal = discrete_sac_goal({}, 3);
  const auto loss = soft_temperature_loss(torch::tensor(0.2f), torch::tensor(0.832396f), goal);
  EXPECT_NEAR(number_of(loss.loss), -0.048849, 1e-6);
  EXPECT_NEAR(number_of(loss.gradient), -0.048849, 1e-6);
  DiscreteSacOptions fixed;
  fixed.alpha = "0.2";
  EXPECT_FALSE(discrete_sac_goal(fixed, 3).learnt);
}

TEST(DiscreteSacLimits, WithoutTemperatureASurePolicyBootstrapsFromItsChoice) {
  const Example f;
  set_biases(f.networks.actor, {{0, 60, 0}});
  const auto result = discrete_sac_critic_loss(f.networks, rows_of({1}, 3), torch::tensor(0.0f), 0);
  EXPECT_NEAR(number_of(result.target_q_mean), 1 + 0.99 * 2, 1e-6);
}

TEST(DiscreteSacLimits, OneChoiceHasNoEntropy) {
  DiscreteSacNetworks networks(linear_options(), choice_context(1), Rng(0));
  set_biases(networks.critics_target, {{3}, {2}});
  const auto batch = rows_of({0, 0}, 1);
  const auto alpha = torch::tensor(5.0f);
  const auto critic = discrete_sac_critic_loss(networks, batch, alpha, 1);
  EXPECT_NEAR(number_of(critic.target_q_mean), 1 + 0.99 * 2, 1e-6);
  EXPECT_NEAR(number_of(critic.cql_diff), 0, 1e-7);
  EXPECT_NEAR(number_of(discrete_sac_actor_loss(networks, batch, alpha).entropy), 0, 1e-7);
}

TEST(DiscreteSac, DrawsByProbability) {
  const auto log_probs = torch::tensor({{1.0f, 0.0f, -1.0f}}).log_softmax(1);
  const auto draw = [&](const std::vector<float>& uniform) {
    const auto rows = static_cast<int64_t>(uniform.size());
    return draw_choices(log_probs.expand({rows, 3}), torch::tensor(uniform).view({rows, 1}));
  };
  const auto at_the_edges = draw({0, 0.665f, 0.666f, 0.909f, 0.911f, 0.99999994f});
  EXPECT_EQ(at_the_edges.scalar_type(), torch::kLong);
  EXPECT_TRUE(torch::equal(at_the_edges, torch::tensor({0, 0, 1, 1, 2, 2}, torch::kLong)));
  // Tests probabilities whose sum is below 1, which rounding can cause, and an action with
  // probability 0.
  const auto short_sum = torch::tensor({{0.5f, 0.4f}}).log();
  EXPECT_EQ(draw_choices(short_sum, torch::tensor({{0.95f}})).item<int64_t>(), 1);
  const auto never = torch::tensor({{0.0f, 1.0f}}).log();
  EXPECT_EQ(draw_choices(never, torch::tensor({{0.0f}})).item<int64_t>(), 1);
}

TEST(DiscreteSac, ActsWithChoices) {
  DiscreteSacOptions options;
  DiscreteSac algorithm(options, choice_context(3));
  const auto obs = torch::linspace(-3, 3, 400).view({400, 1});
  const auto greedy = act_once(algorithm, obs);
  EXPECT_EQ(greedy.scalar_type(), torch::kLong);
  EXPECT_EQ(greedy.sizes(), torch::IntArrayRef({400}));
  const DiscreteSacNetworks same(options, choice_context(3), Rng(0, "init"));
  EXPECT_TRUE(torch::equal(greedy, same.actor.forward(obs).squeeze(0).argmax(1)));
  const auto drawn = act_once(algorithm, obs, ActMode::explore);
  for (int64_t a = 0; a < 3; ++a) EXPECT_GT(drawn.eq(a).sum().item<int64_t>(), 60) << a;
  EXPECT_FALSE(torch::equal(drawn, act_once(algorithm, obs, ActMode::explore)));
  EXPECT_TRUE(torch::equal(greedy, act_once(algorithm, obs)));
}

TEST(DiscreteSac, TargetsFollowEveryUpdate) {
  auto options = linear_options();
  options.tau = 0.25;
  DiscreteSac algorithm(options, choice_context(2));
  const auto values = [&](const char* prefix) {
    MemoryState state;
    state.save(algorithm);
    std::vector<float> numbers;
    for (const auto& [name, bytes] : state.parts()) {
      if (!name.starts_with(prefix)) continue;
      const auto* first = reinterpret_cast<const float*>(bytes.data());
      numbers.insert(numbers.end(), first, first + bytes.size() / sizeof(float));
    }
    return numbers;
  };
  const auto before = values("critics_target");
  algorithm.update(rows_of({0, 1, 1, 0}, 2), 1.0);
  const auto online = values("critics."), after = values("critics_target");
  ASSERT_EQ(online.size(), before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i], before[i] + 0.25 * (online[i] - before[i]), 1e-6) << i;
  }
}

// There is one state and three choices with the rewards 0, 1 and 0.5.
TEST(DiscreteSac, LearnsWhichChoicePays) {
  DiscreteSacOptions options;
  options.hidden_sizes = {16};
  options.learning_rate = 0.01;
  options.alpha = "0.05";
  DiscreteSac algorithm(options, choice_context(3));
  const auto batch = rows_of({0, 1, 2}, 3, 0, 0);
  batch.rewards().copy_(torch::tensor({0.0f, 1.0f, 0.5f}));
  Metrics metrics;
  for (int update = 0; update < 500; ++update) metrics = algorithm.update(batch, 1.0);
  EXPECT_LT(metric(metrics, "critic_loss"), 1e-3);
  EXPECT_NEAR(metric(metrics, "target_q_mean"), 0.5, 1e-6);
  EXPECT_EQ(metric(metrics, "temperature_loss"), 0);
  EXPECT_FLOAT_EQ(static_cast<float>(metric(metrics, "alpha")), 0.05f);
  EXPECT_EQ(act_once(algorithm, torch::zeros({1, 1})).item<int64_t>(), 1);
}

// The entropy of an untrained policy is slightly below log 2 = 0.693. This is above the target 0.1
// and below the target 0.7.
TEST(DiscreteSac, TheTemperatureAimsAtItsEntropy) {
  auto options = linear_options();
  options.target_entropy = 0.1;
  DiscreteSac low(options, choice_context(2));
  EXPECT_LT(metric(low.update(rows_of({0, 1}, 2), 1.0), "alpha"), 1);
  options.target_entropy = 0.7;
  DiscreteSac high(options, choice_context(2));
  EXPECT_GT(metric(high.update(rows_of({0, 1}, 2), 1.0), "alpha"), 1);
}

std::vector<std::string> keys_of(DiscreteSacOptions options) {
  std::vector<std::string> keys;
  for (const auto& row : list_options([&](OptionVisitor& v) { options.visit_options(v); })) {
    keys.push_back(row.key);
  }
  return keys;
}

TEST(DiscreteSacOptions, TheSourceDecidesPhasesAndKeys) {
  DiscreteSacOptions options;
  auto phases = options.phases(70);
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_EQ(phases[0].source, PhaseSpec::Source::replay);
  EXPECT_EQ(options.collect(), &options.environment);
  const auto online = keys_of(options);
  EXPECT_EQ(std::count(online.begin(), online.end(), "buffer_capacity"), 1);

  options.learn_from = DiscreteSacOptions::Source::data;
  phases = options.phases(70);
  ASSERT_EQ(phases.size(), 1u);
  EXPECT_EQ(phases[0].source, PhaseSpec::Source::data);
  EXPECT_EQ(phases[0].length, 70);
  EXPECT_EQ(options.collect(), nullptr);
  const auto offline = keys_of(options);
  EXPECT_EQ(std::count(offline.begin(), offline.end(), "buffer_capacity"), 0);
}

}  // namespace
}  // namespace rl_training::test_discrete_sac
