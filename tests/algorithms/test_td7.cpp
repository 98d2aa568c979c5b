#include "rl_training/algorithms/td7.h"
#include "tests/algorithms/linear_example.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_td7 {
namespace {

Td7Options small_options() {
  Td7Options options;
  options.hidden_sizes = {16, 16};
  options.embedding_dim = 8;
  return options;
}

TEST(Td7, AverageL1NormByHand) {
  EXPECT_TRUE(
      torch::allclose(average_l1_norm(torch::tensor({{1.0f, -2.0f, 3.0f}, {0.0f, 0.0f, 0.0f}})),
                      torch::tensor({{0.5f, -1.0f, 1.5f}, {0.0f, 0.0f, 0.0f}})));
}

// |Q - y| of the two critics is (0.5, 2) in the first row and (0.2, 0.1) in the second. The loss of
// an error e is e^2 / 2 below the bound of 1, and e above it.
TEST(Td7Loss, CriticLossAndPrioritiesByHand) {
  const auto target = torch::tensor({1.0f, -1.0f});
  const auto values = torch::tensor({{1.5f, -1.2f}, {-1.0f, -0.9f}}).set_requires_grad(true);
  const auto result = td7_critic_loss(values, target, 1.0);
  EXPECT_NEAR(metric(result, "critic_loss"), 1.075, 1e-6);
  EXPECT_EQ(metric(result, "target_q_mean"), 0);
  const auto priorities = td7_priorities(values, target, Td7Options());
  EXPECT_NEAR(priorities[0].item<double>(), 1.319508, 1e-6);
  EXPECT_EQ(priorities[1].item<double>(), 1);
  EXPECT_FALSE(priorities.requires_grad());
  // The derivative is e for an error e within the bound, and 1 or -1 for a larger error. Both are
  // divided by the number of rows, 2.
  result.loss.backward();
  EXPECT_TRUE(torch::allclose(values.grad(), torch::tensor({{0.25f, -0.1f}, {-0.5f, 0.05f}})));
}

// The values of the two critics are (2, 4) in the first row and (-1, 3) in the second, so mean
// Q = 2 and mean |Q| = 2.5. With the cloning distance 0.25 and its weight 0.1, the loss is
// 0.1 * 2.5 * 0.25 - 2.
TEST(Td7Loss, ActorLossByHand) {
  const auto values = torch::tensor({{2.0f, -1.0f}, {4.0f, 3.0f}}).set_requires_grad(true);
  const auto result = td7_actor_loss(values, torch::tensor(0.25f), 0.1);
  EXPECT_NEAR(metric(result, "actor_loss"), -1.9375, 1e-6);
  EXPECT_EQ(metric(result, "actor_q_mean"), 2);
  result.loss.backward();  // mean |Q| has no gradient
  EXPECT_TRUE(torch::allclose(values.grad(), torch::full({2, 2}, -0.25f)));
  EXPECT_EQ(td7_actor_loss(values, torch::tensor(0.25f), 0).loss.item<double>(), -2);
}

// A critic must equal the same computation in plain torch operators.
TEST(Td7Networks, CriticSeesTheNormedPairAndBothEmbeddings) {
  const auto batch = random_rows(6, 3, 2);
  const Td7Networks networks(small_options(), context_of(3, 2), Rng(0));
  const auto layer = [](const Mlp& network, size_t index, const torch::Tensor& x) {
    const auto& place = network.layout().layers[index];
    const auto parameters = network.parameters().detach();
    return x.matmul(parameters.narrow(0, place.weight, place.inputs * place.outputs)
                        .view({place.inputs, place.outputs})) +
           parameters.narrow(0, place.bias, place.outputs);
  };
  const auto three = [&](const Mlp& network, const torch::Tensor& x) {
    return layer(network, 2, torch::elu(layer(network, 1, torch::elu(layer(network, 0, x)))));
  };
  const auto obs = batch.obs(), actions = batch.actions();
  const auto z = average_l1_norm(three(networks.fixed.f, obs));
  const auto z_sa = three(networks.fixed.g, torch::cat({z, actions}, 1));
  const auto own =
      average_l1_norm(layer(networks.critics.two.first, 0, torch::cat({obs, actions}, 1)));
  const auto expected = three(networks.critics.two.head, torch::cat({own, z_sa, z}, 1)).squeeze(1);
  const torch::NoGradGuard no_grad;
  const auto embedding = networks.fixed.embed(obs);
  const auto values = networks.critics.values(
      {obs, actions, embedding, networks.fixed.embed_pair(embedding, actions)});
  EXPECT_TRUE(torch::allclose(values[1], expected, 1e-4, 1e-5));
  EXPECT_NEAR(embedding.abs().mean().item<double>(), 1, 1e-5);
}

// While both bounds are 0, bootstrapped values are clipped to 0, so targets equal the rewards.
// After follow(), bootstrapped values are clipped to the range of the targets seen so far.
TEST(Td7Loss, TargetsStayInTheRangeOfTargets) {
  const auto batch = random_rows(32, 3, 2);
  const auto options = small_options();
  const Td7Networks networks(options, context_of(3, 2), Rng(0));
  const auto noise = torch::zeros({32, 2});
  ValueRange range;
  EXPECT_TRUE(torch::equal(td7_target(networks, batch, noise, options, range), batch.rewards()));
  range.see(torch::tensor({-0.25f, 0.5f}));
  range.see(torch::tensor({0.0f, 0.25f}));
  EXPECT_EQ(range.high.item<double>(), 0);
  range.follow();
  EXPECT_EQ(range.low.item<double>(), -0.25);
  EXPECT_EQ(range.high.item<double>(), 0.5);
  range.low.fill_(7);
  range.high.fill_(7);
  EXPECT_TRUE(torch::allclose(td7_target(networks, batch, noise, options, range),
                              batch.rewards() + 7 * batch.discount()));
}

TEST(Td7, TargetsAreCopiedInSteps) {
  auto options = small_options();
  options.target_update_interval = 4;
  Td7 algorithm(options, context_of(3, 2));
  const auto batch = random_rows(16, 3, 2);
  const auto part = [&](const char* name) {
    MemoryState state;
    state.save(algorithm);
    std::string bytes;
    for (const auto& [key, value] : state.parts()) {
      if (key.starts_with(name)) bytes += value;
    }
    EXPECT_FALSE(bytes.empty()) << name;
    return bytes;
  };
  const auto start = part("encoder.");
  EXPECT_EQ(part("fixed_encoder."), start);
  for (int update = 1; update <= 3; ++update) algorithm.update(batch, 1.0);
  EXPECT_EQ(part("fixed_encoder."), start);
  EXPECT_NE(part("critics_target."), part("critics."));
  algorithm.update(batch, 1.0);
  EXPECT_EQ(part("fixed_encoder."), part("encoder."));
  EXPECT_EQ(part("fixed_encoder_target."), start);
  EXPECT_EQ(part("critics_target."), part("critics."));
  EXPECT_EQ(part("actor_target."), part("actor."));
}

const PhaseSpec kOnline = {.name = "online", .source = PhaseSpec::Source::replay};

TEST(Td7, UpdatesWaitForTheRatingOfAPolicy) {
  Td7 algorithm(small_options(), context_of(3, 2));
  const auto batch = random_rows(16, 3, 2);
  algorithm.begin_phase(kOnline, 100);
  EXPECT_EQ(algorithm.updates_now(1), 0);
  EXPECT_EQ(algorithm.updates_now(1), 0);
  algorithm.episode_collected(5);
  EXPECT_EQ(algorithm.updates_now(1), 3);
  EXPECT_EQ(algorithm.updates_now(1), 0);
  // Greedy actions come from the checkpoint, which is a copy of the best-rated policy. Training
  // does not change the checkpoint. A policy with at least the same rating replaces it.
  const auto best = act_once(algorithm, batch.obs()).clone();
  for (int i = 0; i < 10; ++i) algorithm.update(batch, 1.0);
  EXPECT_TRUE(torch::equal(act_once(algorithm, batch.obs()), best));
  algorithm.episode_collected(4);
  EXPECT_EQ(algorithm.updates_now(1), 2);
  EXPECT_TRUE(torch::equal(act_once(algorithm, batch.obs()), best));
  algorithm.episode_collected(5);
  EXPECT_EQ(algorithm.updates_now(0), 0);  // the policy is rated, and no update was requested
  EXPECT_FALSE(torch::equal(act_once(algorithm, batch.obs()), best));
}

TEST(Td7, LongerRatingsCountTheWorstEpisode) {
  auto options = small_options();
  options.checkpoint_after_updates = 0;
  options.checkpoint_episodes = 2;
  options.checkpoint_reset_weight = 0.5;
  Td7 algorithm(options, context_of(3, 2));
  algorithm.begin_phase(kOnline, 100);
  algorithm.episode_collected(20);
  EXPECT_EQ(algorithm.updates_now(1), 1);
  // From this update on, the best rating of 20 counts as 10, because checkpoint_reset_weight is
  // 0.5.
  algorithm.update(random_rows(16, 3, 2), 1.0);
  algorithm.episode_collected(12);
  EXPECT_EQ(algorithm.updates_now(1), 0);
  algorithm.episode_collected(11);
  EXPECT_EQ(algorithm.updates_now(1), 2);  // the lowest return, 11, is the new best rating
  algorithm.episode_collected(10.9);
  EXPECT_EQ(algorithm.updates_now(1), 1);  // 10.9 is below 11, so the rating ends
}

TEST(Td7, WithoutCheckpointsEveryUpdateIsMade) {
  auto options = small_options();
  options.policy_checkpoints = false;
  Td7 algorithm(options, context_of(3, 2));
  const auto batch = random_rows(16, 3, 2);
  algorithm.begin_phase(kOnline, 100);
  EXPECT_EQ(algorithm.updates_now(2), 2);
  algorithm.episode_collected(5);
  EXPECT_EQ(algorithm.updates_now(2), 2);
  const auto before = act_once(algorithm, batch.obs()).clone();
  for (int i = 0; i < 2; ++i) algorithm.update(batch, 1.0);
  EXPECT_FALSE(torch::equal(act_once(algorithm, batch.obs()), before));
}

// In the online phase, the actor loss has no cloning term, so it does not depend on the actions of
// the data.
TEST(Td7, ClonesOfflineAlone) {
  const auto first_actor_loss = [](bool online) {
    Td7 algorithm(small_options(), context_of(3, 2));
    if (online) algorithm.begin_phase(kOnline, 100);
    const auto batch = random_rows(16, 3, 2);
    algorithm.update(batch, 1.0);
    return algorithm.update(batch, 1.0);
  };
  const auto offline = first_actor_loss(false), online = first_actor_loss(true);
  EXPECT_NEAR(metric(online, "actor_loss"), -metric(online, "actor_q_mean"), 1e-7);
  EXPECT_GT(metric(offline, "actor_loss"), -metric(offline, "actor_q_mean"));
  EXPECT_GT(metric(offline, "bc_loss"), 0);
}

}  // namespace
}  // namespace rl_training::test_td7
