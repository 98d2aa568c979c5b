#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/algorithms/ppo.h"
#include "tests/algorithms/rollout_example.h"

namespace rl_training::test_ppo {
namespace {

double number_of(const torch::Tensor& value) { return value.item<double>(); }

PpoOptions linear_options() {
  PpoOptions options;
  options.hidden_sizes = {};
  options.rollout.normalize_observations = false;
  return options;
}

TEST(PpoLoss, ClippedObjectiveByHand) {
  const auto log_ratio = torch::tensor({1.5f, 0.5f, 1.5f, 0.5f}).log();
  const auto rows = clipped_objective(log_ratio, torch::tensor({1.0f, 1.0f, -1.0f, -1.0f}), 0.2);
  EXPECT_TRUE(torch::allclose(rows, torch::tensor({-1.2f, -0.5f, 1.5f, 0.8f})));
}

TEST(PpoLoss, WithoutAClipItIsThePolicyGradient) {
  const auto log_ratio = torch::tensor({0.7f, -2.0f, 3.0f}).set_requires_grad(true);
  const auto advantages = torch::tensor({1.0f, -2.0f, 0.5f});
  clipped_objective(log_ratio, advantages, 1e9).sum().backward();
  EXPECT_TRUE(torch::allclose(log_ratio.grad(), -advantages * log_ratio.exp()));
}

TEST(PpoLoss, ValueLossByHand) {
  const auto value = torch::tensor({1.0f}), old = torch::tensor({0.5f}),
             returns = torch::tensor({2.0f});
  EXPECT_NEAR(number_of(clipped_value_loss(value, old, returns, std::nullopt)), 1.0, 1e-6);
  EXPECT_NEAR(number_of(clipped_value_loss(value, old, returns, 0.2)), 1.69, 1e-6);
  EXPECT_NEAR(number_of(clipped_value_loss(value, old, returns, 0.6)), 1.0, 1e-6);
}

TEST(PpoLoss, ApproximateKlByHand) {
  EXPECT_NEAR(number_of(approximate_kl(torch::tensor({0.1f, -0.2f, 0.05f}))), 0.008391, 1e-6);
}

TEST(PpoLoss, StandardisedWithTheUnbiasedDeviation) {
  const auto result = standardized(torch::tensor({1.0f, 2.0f, 4.0f}));
  EXPECT_TRUE(torch::allclose(result, torch::tensor({-0.872872f, -0.218218f, 1.091089f})));
}

// The policy has the mean 0.5 * s and the standard deviation 1, and the value is 0.3 * s + 0.1. The
// rows are s = 1 and 2, with the actions 1.5 and 0.5.
struct Example {
  Example() : networks(linear_options(), rollout_context(Space::unit_box(1)), Rng(0)) {
    set_parameters(networks.actor, {0.5f, 0.0f});
    set_parameters(networks.critic, {0.3f, 0.1f});
    set_values(batch.actions().view({-1}), {1.5f, 0.5f});
    set_values(batch.values(), {0.2f, 0.4f});
    // log pi = -(a - m)^2 / 2 - log(2 pi) / 2. The old log-probabilities are set to
    // log pi - log 1.3 and log pi - log 0.9, so the probability ratios are 1.3 and 0.9.
    set_values(batch.log_probs(), {static_cast<float>(-0.5 - kHalfLog2Pi - std::log(1.3)),
                                   static_cast<float>(-0.125 - kHalfLog2Pi - std::log(0.9))});
  }
  static constexpr double kHalfLog2Pi = 0.918938533;
  OnPolicyNetworks networks;
  Batch batch = rollout_batch(Space::unit_box(1), {1, 2}, {3, 1});
};

// The standardised advantages are +-0.707107, and the ratios are 1.3, which is clipped, and 0.9.
// The returns are 3.2 and 1.4 and the values are 0.4 and 0.7, so the squared errors are 7.84 and
// 0.49.
TEST(PpoLoss, AllPartsByHand) {
  const Example f;
  auto options = linear_options();
  options.value_weight = 0.5;
  options.entropy_weight = 0.01;
  const auto loss = ppo_loss(f.networks, f.batch, options);
  EXPECT_NEAR(number_of(loss.policy_loss), (-1.2 + 0.9) * 0.707107 / 2, 1e-5);
  EXPECT_NEAR(number_of(loss.value_loss), (7.84 + 0.49) / 2, 1e-5);
  EXPECT_NEAR(number_of(loss.entropy), 1.4189385, 1e-6);
  EXPECT_NEAR(number_of(loss.loss), -0.106066 + 0.5 * 4.165 - 0.01 * 1.4189385, 1e-5);
  EXPECT_NEAR(number_of(loss.approx_kl), ((0.3 - std::log(1.3)) + (-0.1 - std::log(0.9))) / 2,
              1e-6);
  EXPECT_NEAR(number_of(loss.clip_fraction), 0.5, 1e-6);
}

// The first row is clipped, so only the second row contributes to the policy's gradient.
TEST(PpoLoss, GradientByHand) {
  const Example f;
  auto options = linear_options();
  options.value_weight = 0.5;
  options.entropy_weight = 0.01;
  ppo_loss(f.networks, f.batch, options).loss.backward();
  // The policy loss of the second row is 0.707107 / 2 times the ratio 0.9. The derivative of the
  // ratio with respect to m is 0.9 (a - m) with a - m = -0.5, and dm/dw = s = 2.
  const double row = 0.707107 * 0.9 / 2;
  const auto actor = f.networks.actor.parameters().grad();
  EXPECT_NEAR(number_of(actor[0]), row * -0.5 * 2, 1e-5);
  EXPECT_NEAR(number_of(actor[1]), row * -0.5, 1e-5);
  // The derivative of log pi with respect to log std is (a - m)^2 - 1.
  EXPECT_NEAR(number_of(f.networks.log_std.grad()), row * (0.25 - 1) - 0.01, 1e-5);
  const auto critic = f.networks.critic.parameters().grad();
  EXPECT_NEAR(number_of(critic[1]), 0.5 * (2 * -2.8 + 2 * -0.7) / 2, 1e-5);
}

// For a new rollout, all ratios are 1, no ratio is clipped, and the standardised advantages sum to
// 0.
TEST(Ppo, TheFirstMinibatchOfARollout) {
  for (const auto& space : {Space::unit_box(2), Space::discrete(3)}) {
    PpoOptions options;
    Ppo ppo(options, rollout_context(space));
    const OnPolicyNetworks networks(options, rollout_context(space), Rng(0, "init"));
    const auto rolled = ppo.roll(torch::tensor({{0.1f}, {-1.0f}, {2.0f}, {0.5f}}));
    auto batch = rollout_batch(space, {0.1f, -1.0f, 2.0f, 0.5f}, {1, -2, 0.5f, 3});
    batch.actions().copy_(rolled.actions);
    batch.log_probs().copy_(rolled.log_probs);
    batch.values().copy_(rolled.values);
    const auto loss = ppo_loss(networks, batch, options);
    EXPECT_NEAR(number_of(loss.policy_loss), 0, 1e-6);
    EXPECT_NEAR(number_of(loss.approx_kl), 0, 1e-6);
    EXPECT_EQ(number_of(loss.clip_fraction), 0);
    EXPECT_TRUE(torch::allclose(rolled.values, networks.values(batch.obs())));
  }
}

TEST(Ppo, ChoicesByHand) {
  PpoOptions options = linear_options();
  const OnPolicyNetworks networks(options, rollout_context(Space::discrete(3)), Rng(0));
  set_parameters(networks.actor, {0, 0, 0, 1, 0, -1});  // weights, then the logits 1, 0, -1
  const auto policy = networks.distribution(torch::zeros({1, 1}));
  EXPECT_NEAR(number_of(policy.entropy()), 0.832396, 1e-6);
  EXPECT_NEAR(number_of(policy.log_prob(torch::tensor({int64_t{1}}))), std::log(0.244728), 1e-5);
}

// As in stable-baselines3, no step is taken on the minibatch whose KL divergence is too large.
TEST(Ppo, StopsAtTheTargetKl) {
  const Example f;
  const double kl = ((0.3 - std::log(1.3)) + (-0.1 - std::log(0.9))) / 2;
  for (const bool stops : {true, false}) {
    auto options = linear_options();
    options.target_kl = kl / 1.5 * (stops ? 0.99 : 1.01);
    Ppo ppo(options, rollout_context(Space::unit_box(1)));
    const auto obs = torch::ones({1, 1});
    // The KL divergence is measured against the log-probabilities of the batch. These are set so
    // that the ratios are 1.3 and 0.9, as in the example.
    const auto before = act_once(ppo, obs).clone();
    const auto rolled = ppo.log_density(f.batch.obs(), f.batch.actions());
    auto batch = rollout_batch(Space::unit_box(1), {1, 2}, {3, 1});
    batch.actions().copy_(f.batch.actions());
    batch.log_probs().copy_(rolled - torch::tensor({1.3f, 0.9f}).log());
    ppo.update(batch, 1.0);
    EXPECT_EQ(ppo.rollout_used_up(), stops);
    EXPECT_EQ(torch::equal(act_once(ppo, obs), before), stops);
  }
}

// Actions that are drawn for a rollout may exceed [-1, 1]. Actions that are drawn in other modes
// are clipped.
TEST(Ppo, RolloutsKeepActionsAsDrawn) {
  Ppo ppo(PpoOptions(), rollout_context(Space::unit_box(1)));
  const auto obs = torch::zeros({200, 1});
  const auto rolled = ppo.roll(obs);
  EXPECT_GT(rolled.actions.abs().max().item<double>(), 1.5);
  EXPECT_TRUE(torch::allclose(ppo.log_density(obs, rolled.actions), rolled.log_probs));
  EXPECT_LE(act_once(ppo, obs, ActMode::explore).abs().max().item<double>(), 1.0);
}

TEST(Ppo, NormalisedObservationsAreClippedAtTen) {
  const auto far = torch::full({1, 1}, 1000.0), limit = torch::full({1, 1}, 10.0);
  PpoOptions options;
  Ppo clipped(options, rollout_context(Space::unit_box(1)));
  EXPECT_TRUE(torch::equal(clipped.state_values(far), clipped.state_values(limit)));
  options.hidden_sizes = {};
  options.rollout.normalize_observations = false;
  Ppo raw(options, rollout_context(Space::unit_box(1)));
  EXPECT_FALSE(torch::equal(raw.state_values(far), raw.state_values(limit)));
}

TEST(PpoOptions, MinibatchesDivideARollout) {
  PpoOptions options;
  options.batch_size = 96;
  EXPECT_THROW(options.check(), Error);
  options.batch_size = 1;
  EXPECT_THROW(options.check(), Error);
  options.batch_size = 64;
  options.check();
  const auto phase = options.phases(10000).front();
  EXPECT_TRUE(phase.rolls_out() && phase.collects() && !phase.reads_data());
  EXPECT_EQ(phase.rollout.minibatches, 32);
  EXPECT_EQ(phase.rollout.updates(), 320);
}

}  // namespace
}  // namespace rl_training::test_ppo
