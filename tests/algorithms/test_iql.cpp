#include <gtest/gtest.h>

#include "rl_training/algorithms/bc.h"
#include "rl_training/algorithms/iql.h"
#include "rl_training/models/losses.h"
#include "tests/algorithms/linear_example.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_iql {
namespace {

constexpr double kHalfLogTwoPi = 0.918938533;

// In the two rows, min_i Q' = (1.5, -2) and V = s / 2, so the advantages are u = (1, -1.5). The
// policy has mean 0 and standard deviation 1, so log pi(a | s) = -0.125 - 0.918939 in both rows.
struct Fixture {
  IqlOptions options;
  std::unique_ptr<IqlNetworks> networks;
  Batch batch = two_rows();

  explicit Fixture(IqlOptions::Policy policy = IqlOptions::Policy::gaussian) {
    options.hidden_sizes.clear();
    options.policy = policy;
    networks = std::make_unique<IqlNetworks>(options, linear_context(), Rng(0));
    set_values(networks->actor.parameters()[0], {0, 0});
    set_parameters(networks->value, {0.5f, 0});
    set_parameters(networks->critics.network(), kOnlineCritics);
    set_parameters(networks->critics_target.network(), kTargetCritics);
  }
  torch::Tensor target_q() const { return iql_target_q(*networks, batch); }
};

TEST(IqlLoss, ValueLossByHand) {
  Fixture f;
  EXPECT_TRUE(torch::allclose(f.target_q(), torch::tensor({1.5f, -2.0f})));
  const auto result = iql_value_loss(*f.networks, f.batch, f.target_q(), f.options);
  EXPECT_NEAR(result.loss.item<double>(), (0.7 * 1 + 0.3 * 2.25) / 2, 1e-6);
  EXPECT_NEAR(metric(result, "value_loss"), 0.6875, 1e-6);
  EXPECT_NEAR(metric(result, "value_mean"), 0.0, 1e-6);

  // With the expectile 0.7, dL/dV = (-0.7 u_0, -0.3 u_1) = (-0.7, 0.45). The gradient with respect
  // to the network's weight is the sum of s dL/dV over the rows. For its bias, it is the sum of
  // dL/dV.
  const auto gradient = gradient_at(f.networks->value.parameters(), result.loss);
  EXPECT_NEAR(gradient[0].item<double>(), -0.7 - 0.45, 1e-6);
  EXPECT_NEAR(gradient[1].item<double>(), -0.7 + 0.45, 1e-6);
  EXPECT_FALSE(f.networks->critics_target.network().parameters().grad().defined());
}

TEST(IqlLoss, ActorLossByHand) {
  Fixture f;
  const auto result = iql_actor_loss(*f.networks, f.batch, f.target_q(), f.options);
  const double w0 = std::exp(3.0 * 1.0), w1 = std::exp(3.0 * -1.5);
  EXPECT_NEAR(metric(result, "advantage_mean"), -0.25, 1e-6);
  EXPECT_NEAR(metric(result, "advantage_weight_mean"), (w0 + w1) / 2, 1e-5);
  EXPECT_NEAR(result.loss.item<double>(), (w0 + w1) / 2 * (0.125 + kHalfLogTwoPi), 1e-5);

  // The derivative of -log pi is -(a - mean) with respect to the mean and 1 - 0.25 with respect to
  // log std. The slope of tanh at 0 is 1.
  result.loss.backward();
  const auto leaves = f.networks->actor.parameters();
  EXPECT_NEAR(leaves[0].grad()[0].item<double>(), -(w0 + w1) * 0.25, 1e-4);
  EXPECT_NEAR(leaves[0].grad()[1].item<double>(), -(w0 - w1) * 0.25, 1e-4);
  EXPECT_NEAR(leaves[1].grad()[0].item<double>(), 0.75 * (w0 + w1) / 2, 1e-4);
  EXPECT_FALSE(f.networks->value.parameters().grad().defined());
}

TEST(IqlLoss, WeightsAreCapped) {
  Fixture f;
  f.options.max_weight = 10;
  const auto result = iql_actor_loss(*f.networks, f.batch, f.target_q(), f.options);
  EXPECT_NEAR(metric(result, "advantage_weight_mean"), (10 + std::exp(-4.5)) / 2, 1e-5);
}

// pi = 0, so each row contributes w * 0.25. The standard deviation has no effect.
TEST(IqlLoss, DeterministicActorByHand) {
  Fixture f(IqlOptions::Policy::deterministic);
  const auto result = iql_actor_loss(*f.networks, f.batch, f.target_q(), f.options);
  EXPECT_NEAR(result.loss.item<double>(), 0.25 * (std::exp(3.0) + std::exp(-4.5)) / 2, 1e-5);
  result.loss.backward();
  EXPECT_EQ(f.networks->actor.parameters().size(), 1u);
}

// The targets are y = (1 + 0.99 V(1), 2) = (1.495, 2).
TEST(IqlLoss, CriticLossByHand) {
  Fixture f;
  const auto result = iql_critic_loss(*f.networks, f.batch);
  EXPECT_NEAR(metric(result, "target_q_mean"), (1.495 + 2) / 2, 1e-6);
  const double q1 = (0.005 * 0.005 + 3.5 * 3.5) / 2, q2 = (0.105 * 0.105 + 3.4 * 3.4) / 2;
  EXPECT_NEAR(result.loss.item<double>(), q1 + q2, 1e-5);
  result.loss.backward();
  const auto gradient = f.networks->critics.network().parameters().grad();
  EXPECT_NEAR(gradient[2].item<double>(), 0.005 - 3.5, 1e-5);
  EXPECT_NEAR(gradient[5].item<double>(), 0.105 - 3.4, 1e-5);
  EXPECT_FALSE(f.networks->value.parameters().grad().defined());
}

TEST(IqlLoss, AtOneHalfTheValueRegressesOntoTheMean) {
  Fixture f;
  f.options.expectile = 0.5;
  const auto result = iql_value_loss(*f.networks, f.batch, f.target_q(), f.options);
  EXPECT_NEAR(result.loss.item<double>(), 0.5 * (1 + 2.25) / 2, 1e-6);
}

TEST(IqlLoss, WithoutBetaItIsCloning) {
  Fixture f;
  f.options.beta = 0;
  BcOptions cloning;
  cloning.policy = BcOptions::Policy::gaussian;
  cloning.hidden_sizes.clear();
  BcNetworks clone(cloning, linear_context(), Rng(0));
  set_values(clone.actor.parameters()[0], {0.3f, -0.2f});
  set_values(f.networks->actor.parameters()[0], {0.3f, -0.2f});
  const auto result = iql_actor_loss(*f.networks, f.batch, f.target_q(), f.options);
  EXPECT_EQ(metric(result, "advantage_weight_mean"), 1.0);
  EXPECT_NEAR(result.loss.item<double>(), bc_loss(clone, f.batch, cloning).loss.item<double>(),
              1e-6);
}

// Networks with hidden layers. Their losses must equal the same losses in plain torch operators.
struct Deep {
  IqlOptions options;
  AlgorithmContext context = context_of(3, 2);
  Batch batch = random_rows(16, 3, 2);

  Deep() { options.hidden_sizes = {8, 8}; }
};

TEST(IqlLoss, GradientsEqualPlainTorch) {
  Deep d;
  const IqlNetworks n(d.options, d.context, Rng(2));
  const auto& b = d.batch;
  const auto critic = [&](const CriticEnsemble& critics) {
    return plain(critics.network(), b.obs(), b.actions()).squeeze(2);
  };
  const auto value = [&](const torch::Tensor& obs) { return plain(n.value, obs).view({-1}); };
  const auto q = std::get<0>(critic(n.critics_target).detach().min(0));
  const auto target_q = iql_target_q(n, b);
  EXPECT_TRUE(torch::allclose(target_q, q, 1e-5, 1e-6));

  const auto u = q - value(b.obs());
  const auto value_loss = (torch::abs(0.7 - (u < 0).to(torch::kFloat)) * u * u).mean();
  EXPECT_TRUE(torch::allclose(
      gradient_at(n.value.parameters(), iql_value_loss(n, b, target_q, d.options).loss),
      gradient_at(n.value.parameters(), value_loss), 1e-4, 1e-6));

  const auto w = (3.0 * u.detach()).exp().clamp_max(100.0);
  for (const auto& leaf : n.actor.parameters()) {
    const auto plain = gradient_at(
        leaf, -(w * gaussian_log_prob_plain(n.actor.head(b.obs()), b.actions())).mean());
    const auto fused = gradient_at(leaf, iql_actor_loss(n, b, target_q, d.options).loss);
    EXPECT_TRUE(torch::allclose(fused, plain, 1e-4, 1e-5));
    for (const auto& other : n.actor.parameters()) other.mutable_grad() = torch::Tensor();
  }

  const auto y = b.rewards() + 0.99 * (1 - b.terminated()) * value(b.next_obs()).detach();
  const auto critic_loss = (critic(n.critics) - y).square().mean(1).sum();
  const auto& numbers = n.critics.network().parameters();
  EXPECT_TRUE(torch::allclose(gradient_at(numbers, iql_critic_loss(n, b).loss),
                              gradient_at(numbers, critic_loss), 1e-4, 1e-5));
}

// The value network is updated first, then the actor and the critics with the new value network,
// then the targets. The learning-rate schedule applies only to the actor.
TEST(Iql, UpdatesInTheOrderOfTheAuthorsCode) {
  Deep d;
  d.context.seed = 5;
  constexpr double kScale = 0.25;
  Iql algorithm(d.options, d.context);
  IqlNetworks n(d.options, d.context, Rng(5, "init"));
  Adam actor(n.actor.parameters(), {}, {}), value(n.value, {}, {}),
      critics(n.critics.network(), {}, {});
  for (int i = 0; i < 3; ++i) {
    const auto batch = random_rows(16, 3, 2, static_cast<uint64_t>(i) + 1);
    algorithm.update(batch, kScale);
    const auto q = iql_target_q(n, batch);
    minimize(iql_value_loss(n, batch, q, d.options).loss, value, 1.0);
    minimize(iql_actor_loss(n, batch, q, d.options).loss, actor, kScale);
    minimize(iql_critic_loss(n, batch).loss, critics, 1.0);
    n.critics_target.network().polyak_from(n.critics.network(), d.options.tau);
  }
  MemoryState all, value_state, actor_state, target_state;
  all.save(algorithm);
  value_state.save(n.value);
  actor_state.save(n.actor);
  target_state.save(n.critics_target);
  for (const auto& [name, bytes] : value_state.parts())
    EXPECT_EQ(all.parts().at("value." + name), bytes);
  for (const auto& [name, bytes] : actor_state.parts())
    EXPECT_EQ(all.parts().at("actor." + name), bytes);
  for (const auto& [name, bytes] : target_state.parts()) {
    EXPECT_EQ(all.parts().at("critics_target." + name), bytes);
  }
}

// The losses of Q and V do not use actions of the policy, so Q and V are the same bit for bit with
// a different policy.
TEST(Iql, ValuesDoNotDependOnThePolicy) {
  Deep d;
  Iql weighted(d.options, d.context);
  d.options.beta = 0;
  d.options.policy = IqlOptions::Policy::deterministic;
  Iql other(d.options, d.context);
  for (int i = 0; i < 5; ++i) {
    const auto batch = random_rows(16, 3, 2, static_cast<uint64_t>(i) + 1);
    weighted.update(batch, 1.0);
    other.update(batch, 1.0);
  }
  MemoryState a, b;
  a.save(weighted);
  b.save(other);
  int same = 0, different = 0;
  for (const auto& [name, bytes] : a.parts()) {
    const bool of_policy = name.starts_with("actor");
    if (!of_policy) {
      EXPECT_EQ(bytes, b.parts().at(name)) << name;
    }
    same += of_policy ? 0 : 1;
    if (of_policy && b.parts().contains(name)) different += bytes != b.parts().at(name) ? 1 : 0;
  }
  EXPECT_GT(same, 10);
  EXPECT_GT(different, 5);
}

TEST(Iql, ExploresAroundTheModeInsideTheBox) {
  Deep d;
  Iql algorithm(d.options, d.context);
  const auto obs = torch::zeros({2000, 3});
  const auto mode = act_once(algorithm, obs);
  const auto first = act_once(algorithm, obs, ActMode::explore);
  EXPECT_FALSE(torch::equal(first, act_once(algorithm, obs, ActMode::explore)));
  // The mean is 0, because all biases are 0, and the standard deviation is 1. About a third of the
  // actions are therefore clipped to a bound.
  EXPECT_NEAR(first.mean().item<double>(), mode.mean().item<double>(), 0.05);
  EXPECT_NEAR(first.abs().eq(1.0).to(torch::kFloat).mean().item<double>(), 0.3173, 0.03);
}

TEST(Iql, ADeterministicPolicyExploresWithNoise) {
  Deep d;
  d.options.policy = IqlOptions::Policy::deterministic;
  d.options.exploration_noise = 0.05;
  Iql algorithm(d.options, d.context);
  const auto obs = torch::zeros({4000, 3});  // the mode is 0, because all biases are 0
  const auto noise = act_once(algorithm, obs, ActMode::explore) - act_once(algorithm, obs);
  EXPECT_NEAR(noise.std().item<double>(), 0.05, 0.002);
  EXPECT_NEAR(noise.mean().item<double>(), 0.0, 0.003);
}

}  // namespace
}  // namespace rl_training::test_iql
