#include "rl_training/algorithms/ddpg.h"
#include "rl_training/algorithms/td3.h"
#include "tests/algorithms/soft_example.h"

namespace rl_training::test_td3 {
namespace {

// Linear networks with one-dimensional observations and actions.
struct Fixture {
  Td3Networks networks;
  Batch batch = zero_batch(2, 1, 1);

  explicit Fixture(int64_t critics) : networks(linear(), linear_context(), Rng(0), critics) {
    set_parameters(networks.actor.network(), {std::atanh(0.5f), 0});
    set_parameters(networks.actor_target.network(), {0, std::atanh(0.8f)});
    batch.obs().copy_(torch::tensor({{1.0f}, {0.0f}}));
    batch.actions().copy_(torch::tensor({{0.5f}, {-0.5f}}));
    batch.rewards().copy_(torch::tensor({1.0f, 2.0f}));
    batch.next_obs().copy_(torch::tensor({{1.0f}, {2.0f}}));
  }
  static Td3Options linear() {
    Td3Options options;
    options.hidden_sizes.clear();
    return options;
  }
};

// a' = clip(0.8 + clip(0.2 * (9, -1), 0.5), 1) = (1, 0.6). The target critics are
// Q'_1 = s' + a' and Q'_2 = 2 s' - a', with the minima (1, 2.6), so y = (1.99, 4.574).
// The online critics are Q_1 = a = (0.5, -0.5) and Q_2 = 1.
TEST(Td3Loss, CriticLossByHand) {
  Fixture f(2);
  set_parameters(f.networks.critics_target.network(), {1, 1, 0, 2, -1, 0});
  set_parameters(f.networks.critics.network(), {0, 1, 0, 0, 0, 1});
  const auto noise = torch::tensor({{9.0f}, {-1.0f}});
  const auto result = td3_critic_loss(f.networks, f.batch, noise, Td3Options());
  const double y0 = 1.99, y1 = 2 + 0.99 * 2.6;
  EXPECT_NEAR(metric(result, "target_q_mean"), (y0 + y1) / 2, 1e-5);
  const auto square = [](double x) { return x * x; };
  const double expected =
      (square(0.5 - y0) + square(-0.5 - y1) + square(1 - y0) + square(1 - y1)) / 2;
  EXPECT_NEAR(result.loss.item<double>(), expected, 1e-4);
}

// pi = (0.5, 0) and Q_1 = 5 s + 2 a - 4 = (2, -4). Q_2 has no effect.
TEST(Td3Loss, ActorLossByHand) {
  Fixture f(2);
  set_parameters(f.networks.critics.network(), {5, 2, -4, -100, -100, -100});
  const auto result = td3_actor_loss(f.networks, f.batch);
  EXPECT_NEAR(result.loss.item<double>(), 1.0, 1e-6);
  EXPECT_NEAR(metric(result, "actor_q_mean"), -1.0, 1e-6);
  result.loss.backward();
  const auto gradient = f.networks.actor.network().parameters().grad();
  EXPECT_NEAR(gradient[0].item<double>(), -0.75, 1e-5);  // -2 / 2 * (1 - 0.25) * s
  EXPECT_NEAR(gradient[1].item<double>(), -0.75 - 1.0, 1e-5);
  EXPECT_FALSE(f.networks.critics.network().parameters().grad().defined());
}

// With one critic and no noise, y = r + gamma (s' + 0.8).
TEST(DdpgLoss, ByHand) {
  Fixture f(1);
  set_parameters(f.networks.critics_target.network(), {1, 1, 0});
  set_parameters(f.networks.critics.network(), {5, 2, -4});
  Td3Options options;
  options.policy_noise = options.noise_clip = 0;
  const auto result = td3_critic_loss(f.networks, f.batch, torch::ones({2, 1}), options);
  const double y0 = 1 + 0.99 * 1.8, y1 = 2 + 0.99 * 2.8;  // Q = (2, -5)
  EXPECT_NEAR(metric(result, "critic_loss"), ((2 - y0) * (2 - y0) + (-5 - y1) * (-5 - y1)) / 2,
              1e-3);
}

// DDPG is TD3 with one critic and without noise on the next action.
TEST(Ddpg, UpdatesOneCriticWithoutNoise) {
  DdpgOptions options;
  options.hidden_sizes = {8};
  Ddpg algorithm(options, small_context(3));
  const Td3Networks n(options, small_context(3), Rng(3, "init"), 1);
  const auto batch = random_batch(1);
  const auto metrics = algorithm.update(batch, 1.0);
  EXPECT_EQ(names_of(metrics), ddpg_info().metrics);
  const torch::NoGradGuard no_grad;
  const auto next = n.actor_target.actions(batch.next_obs());
  const auto y = batch.rewards() + 0.99 * n.critics_target.values(batch.next_obs(), next)[0];
  const auto q = n.critics.values(batch.obs(), batch.actions())[0];
  EXPECT_NEAR(metric(metrics, "critic_loss"), (q - y).square().mean().item<double>(), 1e-5);
  EXPECT_TRUE(std::isfinite(metric(metrics, "actor_loss")));
}

template <class Class, class Options>
void expect_actor_every(Options options, int delay) {
  options.hidden_sizes = {8};
  Class algorithm(options, small_context());
  const auto obs = random_batch(99).obs();
  for (int update = 1; update <= 6; ++update) {
    const auto before = act_once(algorithm, obs).clone();
    const auto metrics = algorithm.update(random_batch(update), 1.0);
    EXPECT_EQ(torch::equal(before, act_once(algorithm, obs)), update % delay != 0);
    EXPECT_EQ(find_metric(metrics, "actor_loss").defined(), update >= delay) << update;
  }
}

TEST(Td3, TheActorWaitsForThePolicyDelay) {
  expect_actor_every<Td3>(Td3Options(), 2);
  Td3Options slow;
  slow.policy_delay = 3;
  expect_actor_every<Td3>(slow, 3);
  expect_actor_every<Ddpg>(DdpgOptions(), 1);
}

TEST(Td3, ExploresWithNoiseOfTheGivenSize) {
  Td3Options options;
  options.hidden_sizes = {8};
  options.exploration_noise = 0.05;
  Td3 algorithm(options, small_context());
  const auto obs = random_batch(1, 4000).obs() * 0.1;
  const auto greedy = act_once(algorithm, obs).clone();
  const auto noise = act_once(algorithm, obs, ActMode::explore) - greedy;
  EXPECT_NEAR(noise.std().item<double>(), 0.05, 0.002);
  EXPECT_NEAR(noise.mean().item<double>(), 0.0, 0.003);
  options.exploration_noise = 0;
  Td3 quiet(options, small_context());
  EXPECT_TRUE(torch::equal(act_once(quiet, obs, ActMode::explore), greedy));
}

TEST(Td3, ExploredActionsStayInTheBox) {
  const auto actions = Explorer(1).around(torch::full({1000, 1}, 0.9f), 0.5);
  EXPECT_EQ(actions.max().item<float>(), 1.0f);
  EXPECT_GE(actions.min().item<float>(), -1.0f);
  EXPECT_NEAR((actions < 0.9f).to(torch::kFloat).mean().item<double>(), 0.5, 0.08);
}

}  // namespace
}  // namespace rl_training::test_td3
