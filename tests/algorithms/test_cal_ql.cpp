#include "rl_training/algorithms/cal_ql.h"
#include "tests/algorithms/linear_example.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_cal_ql {
namespace {

// Both critics return a_1, the first component of the action. The batch has a single row with four
// actions: the dataset action, a uniform action, and the policy's actions at s' and at s.
struct Golden {
  CalQlOptions options;
  std::unique_ptr<CqlNetworks> networks;
  Batch batch = zero_batch(1, 1, 2);
  CqlCandidates candidates = {
      torch::zeros({1, 2}),
      torch::tensor({{0.5f, 0.0f}, {1.0f, 0.0f}, {2.0f, 0.0f}, {-3.0f, 0.0f}}),
      torch::tensor({{static_cast<float>(-2 * std::log(2.0)), -0.5f, -1.0f}})};

  Golden() {
    options.hidden_sizes.clear();
    options.critic_hidden_sizes.clear();
    options.cql_alpha = 1;
    networks = std::make_unique<CqlNetworks>(options, context_of(1, 2), Rng(0));
    set_parameters(networks->critics.network(), {0, 1, 0, 0, 0, 1, 0, 0});
    batch.actions().copy_(torch::tensor({{0.5f, 0.0f}}));
  }
  CqlCriticLoss loss(const torch::Tensor& reference) const {
    return cql_critic_loss(*networks, batch, candidates, torch::ones({}), options,
                           {.reference = reference});
  }
  torch::Tensor gradient(const torch::Tensor& loss) const {
    return gradient_at(networks->critics.network().parameters(), loss);
  }
};

TEST(CalQlLoss, Golden) {
  const Golden f;
  const auto cql = f.loss({}), cal_ql = f.loss(torch::zeros({1}));
  EXPECT_NEAR(metric(cql, "cql_diff"), 2.643762, 1e-5);
  EXPECT_NEAR(metric(cal_ql, "cql_diff"), 2.749362, 1e-5);
  EXPECT_EQ(cal_ql.bound_rate.item<double>(), 0.5);
  // The gradient of `diff` with respect to the weight of a_1 is the softmax-weighted mean of a_1
  // over the sampled actions, minus a_1 = 0.5 of the dataset action. The six-digit constants are
  // the softmax weights of the uniform action (a_1 = 1), the policy's action at s' (2) and its
  // action at s (-3). Cal-QL replaces the value of the last action by the reference, which has no
  // gradient. `diff` is the mean over two critics, so the gradient of one critic is multiplied by
  // 2.
  const auto slopes = f.gradient(cql.diff), bounded = f.gradient(cal_ql.diff);
  EXPECT_NEAR(slopes[1].item<double>() * 2, 0.468852 + 2 * 0.525312 - 3 * 0.005836 - 0.5, 1e-5);
  EXPECT_NEAR(slopes[3].item<double>(), 0, 1e-6);
  EXPECT_NEAR(bounded[1].item<double>() * 2, 0.421866 + 2 * 0.472668 - 0.5, 1e-5);
  EXPECT_NEAR(bounded[3].item<double>() * 2, 0.421866 + 0.472668 - 1, 1e-5);
}

TEST(CalQlLoss, ALowReferenceIsCqlBitForBit) {
  const Golden f;
  const auto cql = f.loss({}), cal_ql = f.loss(torch::full({1}, -1e9f));
  EXPECT_EQ(cal_ql.loss.item<float>(), cql.loss.item<float>());
  EXPECT_EQ(cal_ql.bound_rate.item<double>(), 0);
  EXPECT_TRUE(torch::equal(f.gradient(cal_ql.loss), f.gradient(cql.loss)));
}

// The reference replaces the values of both policy actions. It has no gradient, and it is so large
// that the softmax weight of the uniform action is 0. Only the gradient of the dataset action
// remains, which is -a_1 = -0.5.
TEST(CalQlLoss, AHighReferenceLeavesThePolicyAlone) {
  const Golden f;
  const auto result = f.loss(torch::full({1}, 1e4f));
  EXPECT_EQ(result.bound_rate.item<double>(), 1);
  EXPECT_NEAR(f.gradient(result.diff)[1].item<double>() * 2, -0.5, 1e-6);
}

TEST(CalQlLoss, TheTargetLooksAtTheDrawnMembersOnly) {
  Golden f;
  set_parameters(f.networks->critics_target.network(), {0, 0, 0, 4, 0, 0, 0, 7});
  const auto target = [&](const std::vector<int64_t>& members) {
    return metric(cql_critic_loss(*f.networks, f.batch, f.candidates, torch::ones({}), f.options,
                                  {.members = members}),
                  "target_q_mean");
  };
  EXPECT_NEAR(target({}), 0.99 * 4, 1e-5);
  EXPECT_NEAR(target({1}), 0.99 * 7, 1e-5);
}

Batch batch_with_returns(uint64_t seed, float returns) {
  auto request = CalQlOptions().request();
  request.rows = 16;
  Batch batch(request, Space::unbounded(1), Space::unit_box(2));
  Rng rng(seed);
  for (const auto* part : {&batch.obs(), &batch.next_obs(), &batch.rewards()}) {
    rng.fill_normal(floats(*part));
  }
  rng.fill_uniform(floats(batch.actions()), -1, 1);
  batch.discount().fill_(0.99);
  batch.returns_to_go().fill_(returns);
  return batch;
}

CalQlOptions small_options() {
  CalQlOptions options;
  options.hidden_sizes = options.critic_hidden_sizes = {8};
  options.n_action_samples = 2;
  return options;
}

TEST(CalQl, ALowReferenceUpdatesAsCql) {
  CalQl cal_ql(small_options(), context_of(1, 2));
  Cql cql(small_options(), context_of(1, 2));
  for (int i = 0; i < 5; ++i) {
    const auto batch = batch_with_returns(i, -1e9f);
    const auto got = cal_ql.update(batch, 1.0), expected = cql.update(batch, 1.0);
    for (const auto& [name, value] : expected.values()) {
      EXPECT_EQ(find_metric(got, name).item<float>(), value.item<float>()) << name;
    }
    EXPECT_EQ(metric(got, "bound_rate"), 0);
  }
}

PhaseSpec online_phase(int64_t block) {
  PhaseSpec phase{.name = "online", .source = PhaseSpec::Source::mixture};
  phase.collect.gradient_updates_per_step = block;
  return phase;
}

TEST(CalQl, TheWeightOfThePhaseThatCollectsIsItsOwn) {
  auto options = small_options();
  options.online_cql_alpha = 0;
  CalQl algorithm(options, context_of(1, 2));
  auto metrics = algorithm.update(batch_with_returns(0, 0), 1.0);
  EXPECT_GT(std::abs(metric(metrics, "critic_loss") - metric(metrics, "td_loss")), 1e-3);
  algorithm.begin_phase(online_phase(1), 10);
  metrics = algorithm.update(batch_with_returns(1, 0), 1.0);
  EXPECT_EQ(metric(metrics, "critic_loss"), metric(metrics, "td_loss"));
  EXPECT_EQ(metric(metrics, "cql_diff"), 0);
}

// In the online phase, the actor is updated once per block of gradient_updates_per_step critic
// updates, as in WSRL. In the preceding offline phase, every update includes the actor.
TEST(CalQl, OnlineTheActorCanWaitForTheEndOfABlock) {
  auto options = small_options();
  options.actor_once_per_block = true;
  CalQl algorithm(options, context_of(1, 2));
  const auto obs = torch::ones({3, 1});
  const auto moves = [&](int i) {
    const auto before = act_once(algorithm, obs).clone();
    algorithm.update(batch_with_returns(i, 0), 1.0);
    return !torch::equal(before, act_once(algorithm, obs));
  };
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(moves(i));
  algorithm.begin_phase(online_phase(4), 100);
  for (int i = 1; i <= 8; ++i) EXPECT_EQ(moves(i), i % 4 == 0) << i;
}

// After loading, the algorithm continues in the middle of a block.
TEST(CalQl, ResumesInsideABlock) {
  auto options = small_options();
  options.actor_once_per_block = true;
  options.online_cql_alpha = 0;
  options.num_critics = 4;
  options.num_min_critics = 2;
  CalQl first(options, context_of(1, 2)), second(options, context_of(1, 2, 9));
  first.begin_phase(online_phase(4), 100);
  for (int i = 0; i < 6; ++i) first.update(batch_with_returns(i, 0), 1.0);
  MemoryState saved;
  saved.save(first);
  saved.restore(second);
  for (int i = 6; i < 12; ++i) {
    const auto batch = batch_with_returns(i, 0);
    const auto expected = first.update(batch, 1.0), got = second.update(batch, 1.0);
    for (const auto& [name, value] : expected.values()) {
      EXPECT_EQ(find_metric(got, name).item<float>(), value.item<float>()) << name << " " << i;
    }
  }
}

TEST(CalQlOptions, AskForReturnsOfTheRewardsThatAreLearntFrom) {
  CalQlOptions options;
  options.gamma = 0.9;
  options.failure_reward = -5;
  const auto request = options.request();
  EXPECT_TRUE(request.has(BatchColumn::return_to_go));
  EXPECT_EQ(request.returns.gamma, 0.9);
  EXPECT_EQ(request.returns.failure_reward, -5);
}

TEST(CalQlNetworks, AreOrthogonalInEveryLayer) {
  CalQlOptions options;
  options.hidden_sizes = {32};
  const CqlNetworks networks(options, context_of(3, 2), Rng(0));
  // The parameters are one flat tensor: [3, 32], [32], [32, 4] and [4], one after another.
  const auto values = networks.actor.parameters()[0].detach();
  const auto first = values.narrow(0, 0, 96).view({3, 32});
  EXPECT_TRUE(torch::allclose(first.mm(first.t()), 2 * torch::eye(3), 1e-4, 1e-4));
  const auto head = values.narrow(0, 128, 128).view({32, 4});
  EXPECT_TRUE(torch::allclose(head.t().mm(head), 1e-4 * torch::eye(4), 1e-4, 1e-7));
  EXPECT_EQ(networks.critics.network().parameters().numel(),
            2 * (5 * 256 + 256 + 3 * (256 * 256 + 256) + 257));
}

}  // namespace
}  // namespace rl_training::test_cal_ql
