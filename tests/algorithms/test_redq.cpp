#include <set>

#include "rl_training/algorithms/redq.h"
#include "rl_training/algorithms/sac.h"
#include "tests/algorithms/soft_example.h"

namespace rl_training::test_redq {
namespace {

RedqOptions two_critics() {
  RedqOptions options;
  options.num_critics = options.num_min_critics = 2;
  options.environment.gradient_updates_per_step = 1;
  return options;
}

// The losses are those of SAC, except that the critic loss has no factor 1/2 and the actor
// maximises the mean of the critics.
TEST(RedqLoss, ByHand) {
  auto options = two_critics();
  SoftExample f(options, options.design(1));
  const auto design = options.design(1);
  const auto critic = soft_critic_loss(f.networks, f.batch, f.noise, {0, 1}, f.alpha, design);
  const auto actor = soft_policy_loss(f.networks, f.batch, f.noise, f.alpha, design);
  const double y0 = SoftExample::target(0, kLeastTarget[0], 0.5);
  const double y1 = SoftExample::target(1, kLeastTarget[1], 0.5);
  EXPECT_NEAR(critic.loss.item<double>(), SoftExample::squared_errors(y0, y1), 1e-4);
  EXPECT_NEAR(actor.loss.item<double>(), SoftExample::policy_loss(0.5, (1 + 2.1) / 2, -1.45), 1e-5);
}

// Only the drawn members affect the target. If only the first member is drawn, its values
// (2.5, 4.5 + tanh 1) are used.
TEST(RedqLoss, TheTargetLooksAtTheDrawnMembersOnly) {
  auto options = two_critics();
  const auto design = options.design(1);
  SoftExample f(options, design);
  const auto target_of = [&](const std::vector<int64_t>& members) {
    return soft_critic_loss(f.networks, f.batch, f.noise, members, f.alpha, design)
        .target_q_mean.item<double>();
  };
  const double first0 = SoftExample::target(0, 2.5, 0.5);
  const double first1 = SoftExample::target(1, 4.5 + SoftExample::kTanh1, 0.5);
  EXPECT_NEAR(target_of({0}), (first0 + first1) / 2, 1e-5);
  EXPECT_LT(target_of({1}), target_of({0}));
  EXPECT_EQ(target_of({0, 1}), target_of({1, 0}));
}

TEST(RedqLoss, TwoCriticsWithTheMinimumAreSac) {
  auto options = two_critics();
  auto design = options.design(1);
  design.actor_reduce = Reduce::minimum;
  SacOptions sac;
  SoftExample f(options, design);
  const auto critic_with = [&](const SoftDesign& chosen) {
    return soft_critic_loss(f.networks, f.batch, f.noise, {0, 1}, f.alpha, chosen);
  };
  const auto actor_with = [&](const SoftDesign& chosen) {
    return soft_policy_loss(f.networks, f.batch, f.noise, f.alpha, chosen);
  };
  const auto critic = critic_with(design), expected_critic = critic_with(sac.design(1));
  EXPECT_EQ(critic.loss.item<float>(), 2 * expected_critic.loss.item<float>());
  EXPECT_EQ(critic.target_q_mean.item<float>(), expected_critic.target_q_mean.item<float>());
  expect_equal_metrics(metrics_of(actor_with(design)), metrics_of(actor_with(sac.design(1))));
}

// With two critics and the same initial state, whole updates of REDQ equal those of SAC.
TEST(Redq, TwoCriticsWithTheMinimumUpdateAsSac) {
  auto options = two_critics();
  options.hidden_sizes = {16};
  auto design = options.design(2);
  design.actor_reduce = Reduce::minimum;
  design.critic_loss_scale = 0.5;
  design.init = {};
  SoftActorCritic redq(options, design, small_context());
  SacOptions sac_options;
  sac_options.hidden_sizes = {16};
  Sac sac(sac_options, small_context());
  for (int i = 0; i < 10; ++i) {
    const auto batch = random_batch(i);
    expect_equal_metrics(redq.update(batch, 1.0), sac.update(batch, 1.0));
  }
  const auto obs = random_batch(99).obs();
  EXPECT_TRUE(torch::equal(act_once(redq, obs), act_once(sac, obs)));
}

TEST(Redq, TheActorIsUpdatedOnceABlock) {
  RedqOptions options;
  options.hidden_sizes = {8};
  options.num_critics = 3;
  options.environment.gradient_updates_per_step = 4;
  Redq algorithm(options, small_context());
  const auto obs = random_batch(99).obs();
  for (int update = 1; update <= 12; ++update) {
    const auto before = act_once(algorithm, obs).clone();
    const auto metrics = algorithm.update(random_batch(update), 1.0);
    EXPECT_EQ(torch::equal(before, act_once(algorithm, obs)), update % 4 != 0) << update;
    EXPECT_EQ(find_metric(metrics, "actor_loss").defined(), update >= 4) << update;
  }
}

// A block consists of gradient_updates_per_step updates. The reported entropy depends only on the
// observations of the last batch of the block.
TEST(Redq, TheActorLearnsFromTheLastMinibatchOfABlock) {
  const auto entropy_after = [](std::vector<int> batches) {
    RedqOptions options;
    options.hidden_sizes = {8};
    options.num_critics = 3;
    options.environment.gradient_updates_per_step = 3;
    Redq algorithm(options, small_context());
    Metrics metrics;
    for (const int n : batches) metrics = algorithm.update(random_batch(n), 1.0);
    return metric(metrics, "entropy");
  };
  EXPECT_EQ(entropy_after({1, 2, 3}), entropy_after({4, 5, 3}));
  EXPECT_NE(entropy_after({1, 2, 3}), entropy_after({1, 2, 6}));
}

// Updates before the first environment step must not shift the blocks.
TEST(Redq, BlocksBeginWithTheFirstEnvironmentStep) {
  RedqOptions options;
  options.hidden_sizes = {8};
  options.num_critics = 2;
  options.environment.gradient_updates_per_step = 3;
  Redq algorithm(options, small_context());
  for (int i = 0; i < 5; ++i) algorithm.update(random_batch(i), 1.0);
  algorithm.begin_phase({.name = "online", .source = PhaseSpec::Source::mixture}, 1);
  const auto obs = random_batch(99).obs();
  for (int update = 1; update <= 6; ++update) {
    const auto before = act_once(algorithm, obs).clone();
    algorithm.update(random_batch(update), 1.0);
    EXPECT_EQ(torch::equal(before, act_once(algorithm, obs)), update % 3 != 0) << update;
  }
}

// Sets the value of target critic i to i for every input.
class NumberTargets final : public StateVisitor {
 protected:
  void on_array(const std::string& name, DType dtype, std::span<const int64_t> shape,
                void* data) override {
    const std::string prefix = "critics_target.member";
    if (dtype != DType::f32 || !name.starts_with(prefix)) return;
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    auto* values = static_cast<float*>(data);
    std::fill_n(values, count, 0.0f);
    if (name.ends_with("bias")) values[0] = std::stof(name.substr(prefix.size()));
  }
  void on_text(const std::string&, std::string&) override {}
};

// y = min(i, j) shows which critics were drawn. Without replacement, the largest value 9 is never
// the minimum. Each value v is the minimum in 9 - v of the 45 pairs.
TEST(Redq, SubsetsAreDrawnAnewForEachUpdateWithoutReplacement) {
  RedqOptions options;
  options.hidden_sizes.clear();
  options.alpha = "0";
  options.learning_rate = options.tau = 1e-12;
  Redq algorithm(options, small_context());
  NumberTargets number;
  algorithm.visit_state(number);
  auto batch = random_batch(0);
  batch.rewards().zero_();
  batch.discount().fill_(1);
  std::vector<int> seen(10);
  int changes = 0, last = -1;
  constexpr int kUpdates = 900;
  for (int i = 0; i < kUpdates; ++i) {
    const auto target = metric(algorithm.update(batch, 1.0), "target_q_mean");
    const int value = static_cast<int>(std::lround(target));
    EXPECT_NEAR(target, value, 1e-4);
    ASSERT_TRUE(value >= 0 && value <= 8) << value;
    ++seen[value];
    changes += value != last ? 1 : 0;
    last = value;
  }
  for (int value = 0; value < 9; ++value) {
    const double expected = kUpdates * (9 - value) / 45.0;
    EXPECT_NEAR(seen[value], expected, 5 * std::sqrt(expected)) << value;
  }
  EXPECT_GT(changes, kUpdates / 2);
}

TEST(RedqOptions, MoreDrawnThanThereAreIsRefused) {
  RedqOptions options;
  options.num_min_critics = 11;
  try {
    options.check();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.place().key, "num_min_critics");
    EXPECT_NE(error.message().find("got 11"), std::string::npos);
  }
}

}  // namespace
}  // namespace rl_training::test_redq
