#include <gtest/gtest.h>

#include "rl_training/algorithms/awac.h"
#include "rl_training/algorithms/crr.h"
#include "tests/algorithms/linear_example.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_awac {
namespace {

constexpr double kHalfLogTwoPi = 0.918938533;

// The policy has mean 0 and standard deviation 1. With the noise (3, 0.5), its clipped actions are
// (1, 0.5).
struct Fixture {
  AwacOptions options;
  std::unique_ptr<AwacNetworks> networks;
  Batch batch = two_rows();
  torch::Tensor noise = torch::tensor({{3.0f}, {0.5f}});

  Fixture() {
    options.hidden_sizes.clear();
    networks = std::make_unique<AwacNetworks>(options, linear_context(), Rng(0));
    set_values(networks->actor.parameters()[0], {0, 0});
    set_parameters(networks->critics.network(), kOnlineCritics);
    set_parameters(networks->critics_target.network(), kTargetCritics);
  }
};

// At s' = 1 and a' = 1, min Q' = min(3.5, 1) = 1. The targets are therefore y = 1 + 0.99 in the
// first row and y = 2 in the second row, which is terminal.
TEST(AwacLoss, CriticLossByHand) {
  Fixture f;
  const auto result = awac_critic_loss(*f.networks, f.batch, f.noise);
  EXPECT_NEAR(metric(result, "target_q_mean"), (1.99 + 2) / 2, 1e-6);
  const double q1 = (0.49 * 0.49 + 3.5 * 3.5) / 2, q2 = (0.39 * 0.39 + 3.4 * 3.4) / 2;
  EXPECT_NEAR(result.loss.item<double>(), q1 + q2, 1e-5);
  result.loss.backward();
  const auto gradient = f.networks->critics.network().parameters().grad();
  EXPECT_NEAR(gradient[2].item<double>(), -0.49 - 3.5, 1e-5);
  EXPECT_NEAR(gradient[5].item<double>(), -0.39 - 3.4, 1e-5);
  EXPECT_FALSE(f.networks->actor.parameters()[0].grad().defined());
}

// min Q is (1.5, -1.5) for the actions of the data and (1.1, -2.4) for the policy's actions (1,
// 0.5). The advantages are the differences, (0.4, 0.9).
TEST(AwacLoss, ActorLossByHand) {
  Fixture f;
  const auto result = awac_actor_loss(*f.networks, f.batch, f.noise, f.options);
  const double w0 = std::exp(3 * 0.4), w1 = std::exp(3 * 0.9);
  EXPECT_NEAR(metric(result, "advantage_mean"), 0.65, 1e-6);
  EXPECT_NEAR(metric(result, "advantage_weight_mean"), (w0 + w1) / 2, 1e-4);
  EXPECT_NEAR(result.loss.item<double>(), (w0 + w1) / 2 * (0.125 + kHalfLogTwoPi), 1e-4);
  result.loss.backward();
  const auto leaves = f.networks->actor.parameters();
  EXPECT_NEAR(leaves[0].grad()[0].item<double>(), -(w0 + w1) * 0.25, 1e-4);
  EXPECT_NEAR(leaves[0].grad()[1].item<double>(), -(w0 - w1) * 0.25, 1e-4);
  EXPECT_NEAR(leaves[1].grad()[0].item<double>(), 0.75 * (w0 + w1) / 2, 1e-4);
  EXPECT_FALSE(f.networks->critics.network().parameters().grad().defined());
}

TEST(AwacLoss, Weights) {
  AwacOptions options;
  const auto advantage = torch::tensor({0.4f, 0.9f, 50.0f});
  EXPECT_TRUE(torch::allclose(awac_weights(advantage, options),
                              torch::tensor({3.3201169f, 14.879732f, 100.0f}), 1e-5));
  options.weight_normalization = AwacOptions::WeightNormalization::softmax;
  const auto two = awac_weights(advantage.narrow(0, 0, 2), options);
  EXPECT_NEAR(two[0].item<double>(), 2 / (1 + std::exp(1.5)), 1e-5);
  EXPECT_NEAR(two.mean().item<double>(), 1.0, 1e-6);
}

TEST(AwacLoss, WeightsAreThoseOfCrrWithOneSample) {
  AwacOptions awac;
  CrrOptions crr;
  crr.n_action_samples = 1;
  crr.beta = awac.awac_lambda;
  crr.max_weight = awac.max_weight;
  const auto q = normal_noise({50}, 1) * 3, own = normal_noise({50}, 2) * 3;
  EXPECT_TRUE(torch::equal(awac_weights(q - own, awac),
                           crr_weights(crr_advantage(q, own.view({-1, 1}), crr), crr)));
}

struct Deep {
  AwacOptions options;
  AlgorithmContext context = context_of(3, 2, 5);
  Batch batch = random_rows(16, 3, 2);

  Deep() { options.hidden_sizes = {8, 8}; }
};

TEST(AwacLoss, GradientsEqualPlainTorch) {
  Deep d;
  const AwacNetworks n(d.options, d.context, Rng(2));
  const auto& b = d.batch;
  const auto noise = normal_noise({16, 2}, 3);
  const auto smallest = [](const CriticEnsemble& critics, const torch::Tensor& obs,
                           const torch::Tensor& actions) {
    return std::get<0>(plain(critics.network(), obs, actions).squeeze(2).detach().min(0));
  };
  const auto own = [&](const torch::Tensor& obs) {
    return gaussian_sample_plain(n.actor.head(obs), noise).actions.detach().clamp(-1, 1);
  };
  const auto y = b.rewards() + 0.99 * (1 - b.terminated()) *
                                   smallest(n.critics_target, b.next_obs(), own(b.next_obs()));
  const auto q = plain(n.critics.network(), b.obs(), b.actions()).squeeze(2);
  const auto& numbers = n.critics.network().parameters();
  EXPECT_TRUE(torch::allclose(gradient_at(numbers, awac_critic_loss(n, b, noise).loss),
                              gradient_at(numbers, (q - y).square().mean(1).sum()), 1e-4, 1e-5));

  const auto advantage =
      smallest(n.critics, b.obs(), b.actions()) - smallest(n.critics, b.obs(), own(b.obs()));
  const auto w = (advantage * 3).exp().clamp_max(100.0);
  for (const auto& leaf : n.actor.parameters()) {
    const auto plain = gradient_at(
        leaf, -(w * gaussian_log_prob_plain(n.actor.head(b.obs()), b.actions())).mean());
    const auto fused = gradient_at(leaf, awac_actor_loss(n, b, noise, d.options).loss);
    EXPECT_TRUE(torch::allclose(fused, plain, 1e-4, 1e-5));
    for (const auto& other : n.actor.parameters()) other.mutable_grad() = torch::Tensor();
  }
}

// The actor loss uses new noise and the critics after their step.
TEST(Awac, UpdatesCriticsThenActorThenTargets) {
  Deep d;
  Awac algorithm(d.options, d.context);
  AwacNetworks n(d.options, d.context, Rng(5, "init"));
  Rng rng(5, "policy");
  Adam actor(n.actor.parameters(), {}, {}), critics(n.critics.network(), {}, {});
  NoiseBuffer noise;
  for (int i = 0; i < 3; ++i) {
    algorithm.update(d.batch, 0.5);
    minimize(awac_critic_loss(n, d.batch, noise.normal(rng, {16, 2})).loss, critics, 0.5);
    minimize(awac_actor_loss(n, d.batch, noise.normal(rng, {16, 2}), d.options).loss, actor, 0.5);
    n.critics_target.network().polyak_from(n.critics.network(), d.options.tau);
  }
  MemoryState all, actor_state, target_state;
  all.save(algorithm);
  actor_state.save(n.actor);
  target_state.save(n.critics_target);
  for (const auto& [name, bytes] : actor_state.parts()) {
    EXPECT_EQ(all.parts().at("actor." + name), bytes);
  }
  for (const auto& [name, bytes] : target_state.parts()) {
    EXPECT_EQ(all.parts().at("critics_target." + name), bytes);
  }
}

}  // namespace
}  // namespace rl_training::test_awac
