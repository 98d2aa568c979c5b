#include <gtest/gtest.h>

#include "rl_training/algorithms/crr.h"
#include "tests/algorithms/linear_example.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_crr {
namespace {

// log pi(+-0.5) of a tanh-Gaussian with mean 0 and standard deviation 1. Before tanh,
// u = +-0.549306.
constexpr double kLogProb = -0.918938533 - 0.5 * 0.549306144 * 0.549306144 + 0.287682072;

// Before tanh, the online policy has mean 0 and standard deviation 1. The mean of the target policy
// is atanh(0.5).
struct Fixture {
  CrrOptions options;
  std::unique_ptr<CrrNetworks> networks;
  Batch batch = two_rows();
  // With this noise, the policy's actions are (0.5, -0.5) in the first row and (0, 0.5) in the
  // second.
  torch::Tensor noise;

  Fixture() {
    options.hidden_sizes.clear();
    options.n_action_samples = 2;
    networks = std::make_unique<CrrNetworks>(options, linear_context(), Rng(0));
    const float half = std::atanh(0.5f);
    set_values(networks->actor.parameters()[0], {0, 0, 0, 0});
    set_values(networks->actor_target.parameters()[0], {0, 0, half, 0});
    set_parameters(networks->critics.network(), kOnlineCritics);
    set_parameters(networks->critics_target.network(), kTargetCritics);
    noise = torch::tensor({{half}, {-half}, {0.0f}, {half}});
  }
  CrrActorLoss actor_loss() const { return crr_actor_loss(*networks, batch, noise, options); }
};

// a' = 0.5, and min Q'(1, 0.5) = min(3, 1.5) = 1.5. The targets are therefore y = 1 + 0.99 * 1.5 in
// the first row and y = 2 in the second row, which is terminal.
TEST(CrrLoss, CriticLossByHand) {
  Fixture f;
  const auto result = crr_critic_loss(*f.networks, f.batch, torch::zeros({2, 1}));
  EXPECT_NEAR(metric(result, "target_q_mean"), (2.485 + 2) / 2, 1e-6);
  EXPECT_NEAR(result.loss.item<double>(), 12.781725, 1e-5);
  result.loss.backward();
  const auto gradient = f.networks->critics.network().parameters().grad();
  EXPECT_NEAR(gradient[2].item<double>(), -0.985 - 3.5, 1e-5);
  EXPECT_NEAR(gradient[5].item<double>(), -0.885 - 3.4, 1e-5);
  EXPECT_FALSE(f.networks->actor_target.parameters()[0].grad().defined());
}

// For the actions of the data, min Q is 1.5 in the first row and -1.5 in the second. For the
// policy's actions, it is (1.5, 0.5) with the mean 1 in the first row, and (-1.9, -2.4) with the
// mean -2.15 in the second. The advantages are therefore 0.5 and 0.65.
TEST(CrrLoss, ActorLossByHand) {
  Fixture f;
  const auto result = f.actor_loss();
  const double w0 = std::exp(0.5), w1 = std::exp(0.65);
  EXPECT_NEAR(metric(result, "advantage_mean"), (0.5 + 0.65) / 2, 1e-6);
  EXPECT_NEAR(metric(result, "advantage_weight_mean"), (w0 + w1) / 2, 1e-6);
  EXPECT_NEAR(metric(result, "positive_fraction"), 1.0, 1e-6);
  EXPECT_NEAR(result.loss.item<double>(), -(w0 + w1) / 2 * kLogProb, 1e-5);

  // The derivative of -log pi is -u with respect to the mean and 1 - u^2 with respect to log std.
  // The gradient is the mean over the two rows.
  result.loss.backward();
  const auto gradient = f.networks->actor.parameters()[0].grad();
  const double u = 0.549306144;
  EXPECT_NEAR(gradient[0].item<double>(), -(w0 + w1) * u / 2, 1e-5);  // weight of s = (1, -1)
  EXPECT_NEAR(gradient[2].item<double>(), -(w0 - w1) * u / 2, 1e-5);
  EXPECT_NEAR(gradient[3].item<double>(), (w0 + w1) * (1 - u * u) / 2, 1e-5);
  EXPECT_FALSE(f.networks->critics.network().parameters().grad().defined());
}

TEST(CrrLoss, BinaryWeightsAndLargestCandidateByHand) {
  Fixture f;
  f.options.advantage_type = CrrOptions::AdvantageType::max;
  f.options.weight_type = CrrOptions::WeightType::binary;
  const auto result = f.actor_loss();  // the advantages are 1.5 - 1.5 and -1.5 + 1.9
  EXPECT_NEAR(metric(result, "advantage_mean"), 0.2, 1e-6);
  EXPECT_NEAR(metric(result, "advantage_weight_mean"), 0.5, 1e-6);
  EXPECT_NEAR(metric(result, "positive_fraction"), 0.5, 1e-6);
  EXPECT_NEAR(result.loss.item<double>(), -kLogProb / 2, 1e-6);
}

TEST(CrrLoss, Weights) {
  CrrOptions options;
  const auto advantage = torch::tensor({std::log(30.0f), 0.0f, -1.0f, 1e-3f});
  EXPECT_TRUE(torch::allclose(crr_weights(advantage, options),
                              torch::tensor({20.0f, 1.0f, 0.36787944f, 1.0010005f})));
  options.weight_type = CrrOptions::WeightType::binary;
  EXPECT_TRUE(torch::equal(crr_weights(advantage, options), torch::tensor({1.f, 0.f, 0.f, 1.f})));
}

TEST(CrrLoss, AtHighTemperatureAllWeighOne) {
  CrrOptions options;
  options.beta = 1e8;
  const auto weights = crr_weights(normal_noise({100}, 1) * 10, options);
  EXPECT_TRUE(torch::allclose(weights, torch::ones({100}), 1e-6));
}

TEST(CrrLoss, AtLowTemperatureItIsBinaryTimesTheCap) {
  CrrOptions exp, binary;
  exp.beta = 1e-6;
  binary.weight_type = CrrOptions::WeightType::binary;
  const auto advantage = normal_noise({100}, 1);
  EXPECT_TRUE(torch::allclose(crr_weights(advantage, exp), 20 * crr_weights(advantage, binary)));
}

// With constant critics, every advantage is 0 and every weight is 1, so the loss is the negative
// log-likelihood of the data.
TEST(CrrLoss, WithEqualValuesItIsCloning) {
  Fixture f;
  set_parameters(f.networks->critics.network(), {0, 0, 7, 0, 0, 7});
  EXPECT_NEAR(f.actor_loss().loss.item<double>(), -kLogProb, 1e-6);
}

TEST(CrrLoss, LargestCandidateNeverGivesMoreThanTheMean) {
  CrrOptions mean, max;
  max.advantage_type = CrrOptions::AdvantageType::max;
  const auto q = normal_noise({100}, 1), candidates = normal_noise({100, 4}, 2);
  EXPECT_TRUE(
      (crr_advantage(q, candidates, max) <= crr_advantage(q, candidates, mean)).all().item<bool>());
  const auto one = candidates.narrow(1, 0, 1);
  EXPECT_TRUE(torch::equal(crr_advantage(q, one, max), crr_advantage(q, one, mean)));
}

TEST(CrrLoss, BothTogetherReportAllMetrics) {
  Fixture f;
  const auto result = crr_loss(*f.networks, f.batch, torch::zeros({2, 1}), f.noise, f.options);
  EXPECT_EQ(names_of(result), crr_info().metrics);
  EXPECT_NEAR(result.loss.item<double>(),
              metric(result, "critic_loss") + metric(result, "actor_loss"), 1e-5);
}

struct Deep {
  CrrOptions options;
  AlgorithmContext context = context_of(3, 2, 5);
  Batch batch = random_rows(16, 3, 2);

  Deep() {
    options.hidden_sizes = {8, 8};
    options.layer_norm = true;
  }
};

TEST(CrrLoss, GradientsEqualPlainTorch) {
  Deep d;
  const CrrNetworks n(d.options, d.context, Rng(2));
  const auto& b = d.batch;
  const auto noise = normal_noise({64, 2}, 3);
  const auto smallest = [](const CriticEnsemble& critics, const torch::Tensor& obs,
                           const torch::Tensor& actions) {
    return std::get<0>(plain(critics.network(), obs, actions).squeeze(2).detach().min(0));
  };
  const auto next =
      gaussian_sample_plain(n.actor_target.head(b.next_obs()), noise.narrow(0, 0, 16));
  const auto y = b.rewards() + 0.99 * (1 - b.terminated()) *
                                   smallest(n.critics_target, b.next_obs(), next.actions);
  const auto q = plain(n.critics.network(), b.obs(), b.actions()).squeeze(2);
  const auto& numbers = n.critics.network().parameters();
  const auto fused_loss = crr_critic_loss(n, b, noise.narrow(0, 0, 16)).loss;
  EXPECT_TRUE(torch::allclose(gradient_at(numbers, fused_loss),
                              gradient_at(numbers, (q - y).square().mean(1).sum()), 1e-3, 1e-5));

  const auto own = gaussian_sample_plain(n.actor.head(b.obs()), noise).actions.detach();
  const auto candidates = smallest(n.critics, b.obs().repeat_interleave(4, 0), own).view({16, 4});
  const auto w =
      (smallest(n.critics, b.obs(), b.actions()) - candidates.mean(1)).exp().clamp_max(20.0);
  const auto leaf = n.actor.parameters()[0];
  const auto log_prob = gaussian_log_prob_plain(n.actor.head(b.obs()), b.actions());
  EXPECT_TRUE(torch::allclose(gradient_at(leaf, crr_actor_loss(n, b, noise, d.options).loss),
                              gradient_at(leaf, -(w * log_prob).mean()), 1e-3, 1e-5));
}

// The actor loss uses the critics after their step. Both target networks are updated.
TEST(Crr, UpdatesCriticsThenActorThenTargets) {
  Deep d;
  Crr algorithm(d.options, d.context);
  CrrNetworks n(d.options, d.context, Rng(5, "init"));
  Rng rng(5, "policy");
  Adam actor(n.actor.parameters(), {}, {}), critics(n.critics.network(), {}, {});
  NoiseBuffer noise;
  for (int i = 0; i < 3; ++i) {
    algorithm.update(d.batch, 0.5);
    minimize(crr_critic_loss(n, d.batch, noise.normal(rng, {16, 2})).loss, critics, 0.5);
    minimize(crr_actor_loss(n, d.batch, noise.normal(rng, {64, 2}), d.options).loss, actor, 0.5);
    n.critics_target.network().polyak_from(n.critics.network(), d.options.tau);
    n.actor_target.polyak_from(n.actor, d.options.tau);
  }
  MemoryState all, actor_state, target_state;
  all.save(algorithm);
  actor_state.save(n.actor_target);
  target_state.save(n.critics_target);
  for (const auto& [name, bytes] : actor_state.parts()) {
    EXPECT_EQ(all.parts().at("actor_target." + name), bytes);
  }
  for (const auto& [name, bytes] : target_state.parts()) {
    EXPECT_EQ(all.parts().at("critics_target." + name), bytes);
  }
}

TEST(CriticWeightedPolicy, ChoosesBySoftmax) {
  CrrOptions options;
  // The probabilities are 0.1, 0.2 and 0.7.
  const auto q = torch::tensor({{0.1f, 0.2f, 0.7f}}).log().expand({5, 3});
  const auto uniform = torch::tensor({{0.0f}, {0.09f}, {0.11f}, {0.31f}, {0.9999f}});
  EXPECT_TRUE(torch::equal(crr_choose(q, uniform, options), torch::tensor({0, 0, 1, 2, 2})));
  options.beta = 0.5;  // probabilities 1 / 54, 4 / 54, 49 / 54
  EXPECT_TRUE(torch::equal(crr_choose(q, uniform, options), torch::tensor({0, 1, 2, 2, 2})));
}

TEST(CriticWeightedPolicy, GreedyIsAFunctionOfTheObservation) {
  Deep d;
  d.options.critic_weighted_policy = true;
  Crr algorithm(d.options, d.context);
  algorithm.update(d.batch, 1.0);
  MemoryState before, after;
  before.save(algorithm);
  const auto all = act_once(algorithm, d.batch.obs());
  for (int64_t row = 0; row < 16; ++row) {
    const auto alone = act_once(algorithm, d.batch.obs().narrow(0, row, 1));
    EXPECT_TRUE(torch::allclose(all.narrow(0, row, 1), alone, 1e-5, 1e-6)) << row;
  }
  after.save(algorithm);
  EXPECT_EQ(before.parts(), after.parts());
  // Exploration draws separately for each row.
  const auto same = torch::zeros({50, 3});
  const auto explored = act_once(algorithm, same, ActMode::explore);
  EXPECT_FALSE(torch::equal(explored[0], explored[1]));
  EXPECT_LE(explored.abs().max().item<float>(), 1.0f);
  after.save(algorithm);
  EXPECT_NE(before.parts(), after.parts());
}

}  // namespace
}  // namespace rl_training::test_crr
