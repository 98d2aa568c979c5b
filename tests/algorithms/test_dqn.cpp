#include "rl_training/algorithms/dqn.h"
#include "tests/algorithms/discrete_example.h"
#include "tests/support/fake_group.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_dqn {
namespace {

DqnOptions linear_options() {
  DqnOptions options;
  options.hidden_sizes = {};
  return options;
}

// For every observation, Q = (2, 1, 4) and the target values are (1, 3, 2). The reward is 0.5, and
// gamma is 0.9.
struct Example {
  Example() : networks(linear_options(), choice_context(3), Rng(0)) {
    set_biases(networks.critics, {{2, 1, 4}});
    set_biases(networks.critics_target, {{1, 3, 2}});
  }
  DiscreteQNetworks networks;
  Batch batch = rows_of({1}, 3, 0.5f, 0.9f);
};

TEST(DqnLoss, TargetsByHand) {
  const Example f;
  EXPECT_NEAR(number_of(dqn_loss(f.networks, f.batch, false).target_q_mean), 3.2, 1e-6);
  EXPECT_NEAR(number_of(dqn_loss(f.networks, f.batch, true).target_q_mean), 2.3, 1e-6);
}

// Q(s, a) = 1. The target of DQN is 3.2, so its loss is huber(2.2) = 1.7. The target of Double DQN
// is 2.3, so its loss is huber(1.3) = 0.8.
TEST(DqnLoss, HuberAndItsGradientByHand) {
  const Example f;
  EXPECT_NEAR(number_of(dqn_loss(f.networks, f.batch, false).loss), 1.7, 1e-6);
  const auto loss = dqn_loss(f.networks, f.batch, true);
  EXPECT_NEAR(number_of(loss.loss), 0.8, 1e-6);
  loss.loss.backward();
  EXPECT_TRUE(
      torch::allclose(bias_gradient(f.networks.critics, 0), torch::tensor({0.0f, -1.0f, 0.0f})));
  EXPECT_FALSE(f.networks.critics_target.parameters().grad().defined());
}

TEST(DqnLoss, DoubleWithEqualNetworksIsDqn) {
  Example f;
  set_biases(f.networks.critics_target, {{2, 1, 4}});
  EXPECT_EQ(number_of(dqn_loss(f.networks, f.batch, true).loss),
            number_of(dqn_loss(f.networks, f.batch, false).loss));
}

TEST(DqnLoss, TerminationEndsTheValue) {
  const Example f;
  const auto batch = rows_of({1, 2}, 3, 0.5f, 0.9f);
  batch.discount().copy_(torch::tensor({0.0f, 0.9f}));
  EXPECT_NEAR(number_of(dqn_loss(f.networks, batch, true).target_q_mean), (0.5 + 2.3) / 2, 1e-6);
}

TEST(DqnOptions, EpsilonFallsLinearlyAndStays) {
  DqnOptions options;
  options.epsilon_start = 0.9;
  options.epsilon_end = 0.1;
  options.epsilon_steps = 80;
  EXPECT_DOUBLE_EQ(options.epsilon(0), 0.9);
  EXPECT_DOUBLE_EQ(options.epsilon(20), 0.7);
  EXPECT_DOUBLE_EQ(options.epsilon(80), 0.1);
  EXPECT_DOUBLE_EQ(options.epsilon(1000), 0.1);
  options.epsilon_steps = 0;
  EXPECT_DOUBLE_EQ(options.epsilon(0), 0.1);
}

// Each row of an exploring call advances the schedule of epsilon by one step. Greedy calls do not.
TEST(Dqn, ExploresByItsSchedule) {
  auto options = linear_options();
  options.epsilon_start = 1.0;
  options.epsilon_end = 0.0;
  options.epsilon_steps = 1000;
  Dqn dqn(options, choice_context(4));
  const auto obs = torch::zeros({1000, 1});
  const auto greedy = act_once(dqn, obs);
  const auto first = act_once(dqn, obs, ActMode::explore);
  const double kept = first.eq(greedy).to(torch::kFloat).mean().item<double>();
  EXPECT_NEAR(kept, 0.25, 0.06);  // at first, every action is random
  EXPECT_TRUE(torch::equal(act_once(dqn, obs), greedy));
  // After 1000 exploring rows, no action is random.
  EXPECT_TRUE(torch::equal(act_once(dqn, obs, ActMode::explore), greedy));
}

// The schedule counts the steps of all processes.
TEST(Dqn, ExploresByTheStepsOfAllProcesses) {
  auto options = linear_options();
  options.epsilon_start = 1.0;
  options.epsilon_end = 0.0;
  options.epsilon_steps = 1000;
  FakeGroup two(2);
  auto context = choice_context(4);
  context.compute.processes = &two;
  Dqn dqn(options, context);
  const auto obs = torch::zeros({500, 1});
  const auto greedy = act_once(dqn, obs);
  EXPECT_FALSE(torch::equal(act_once(dqn, obs, ActMode::explore), greedy));
  EXPECT_TRUE(torch::equal(act_once(dqn, obs, ActMode::explore), greedy));
}

// Returns the bias of choice 0 in the network of this name.
float bias_of(Dqn& dqn, const std::string& network) {
  MemoryState state;
  state.save(dqn);
  float value = 0;
  std::memcpy(&value, state.parts().at(network + ".member0.layer0.bias").data(), sizeof value);
  return value;
}

TEST(Dqn, TheTargetFollowsByTau) {
  auto options = linear_options();
  options.tau = 0.25;
  options.learning_rate = 0.1;
  Dqn dqn(options, choice_context(2));
  const float before = bias_of(dqn, "critics");
  EXPECT_EQ(bias_of(dqn, "critics_target"), before);
  dqn.update(rows_of({0}, 2, 100, 0), 1.0);  // the first Adam step is the learning rate, 0.1
  EXPECT_NEAR(bias_of(dqn, "critics"), before + 0.1, 1e-5);
  EXPECT_NEAR(bias_of(dqn, "critics_target"), before + 0.25 * 0.1, 1e-5);
}

}  // namespace
}  // namespace rl_training::test_dqn
