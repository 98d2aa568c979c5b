#include "rl_training/algorithms/rlpd.h"
#include "rl_training/algorithms/sac.h"
#include "tests/algorithms/soft_example.h"

namespace rl_training::test_rlpd {
namespace {

RlpdOptions like_sac(int64_t action_dim) {
  RlpdOptions options;
  options.num_critics = options.num_min_critics = 2;
  options.critic_layer_norm = false;
  options.actor_q = Reduce::minimum;
  options.target_entropy = -static_cast<double>(action_dim);
  options.environment.gradient_updates_per_step = 1;
  return options;
}

// The loss is alpha (H - H_target) = 1 (2 + 3). This is also its derivative with respect to log
// alpha.
TEST(RlpdLoss, TemperatureLossByHand) {
  RlpdOptions options;
  options.target_entropy = -3.0;
  const auto goal = options.design(6).temperature;
  const auto entropy = torch::full({}, 2.0f);
  const auto loss = soft_temperature_loss(torch::full({}, 1.0f), entropy, goal);
  EXPECT_NEAR(metric(loss, "temperature_loss"), 5.0, 1e-6);
  EXPECT_NEAR(loss.gradient.item<double>(), 5.0, 1e-6);
  const auto half = soft_temperature_loss(torch::full({}, 0.5f), entropy, goal);
  EXPECT_NEAR(half.gradient.item<double>(), 2.5, 1e-6);
  // If H is below its target, gradient descent increases log alpha.
  const auto low = soft_temperature_loss(torch::full({}, 1.0f), entropy - 10, goal);
  EXPECT_LT(low.gradient.item<double>(), 0);
}

// The critic loss is averaged over the two critics, and the actor maximises the mean of both.
TEST(RlpdLoss, ByHand) {
  auto options = like_sac(1);
  options.actor_q = Reduce::mean;
  for (const bool entropy : {true, false}) {
    options.backup_entropy = entropy;
    SoftExample f(options, options.design(1));
    const auto noise = torch::cat({f.noise, f.noise});
    const auto result = rlpd_loss(f.networks, f.batch, noise, {0, 1}, f.alpha, options);
    const double y0 = SoftExample::target(0, kLeastTarget[0], 0.5, entropy);
    const double y1 = SoftExample::target(1, kLeastTarget[1], 0.5, entropy);
    EXPECT_NEAR(metric(result, "target_q_mean"), (y0 + y1) / 2, 1e-5);
    EXPECT_NEAR(metric(result, "critic_loss"), SoftExample::squared_errors(y0, y1) / 2, 1e-4);
    EXPECT_EQ(names_of(result), rlpd_info().metrics);
    EXPECT_NEAR(result.loss.item<double>(),
                metric(result, "critic_loss") + metric(result, "actor_loss"), 1e-4);
    EXPECT_NEAR(metric(result, "actor_loss"), SoftExample::policy_loss(0.5, (1 + 2.1) / 2, -1.45),
                1e-5);
  }
}

TEST(RlpdLoss, NarrowedItIsSac) {
  auto options = like_sac(1);
  SacOptions sac;
  SoftExample f(options, options.design(1));
  const auto noise = torch::cat({f.noise, f.noise});
  const auto got = rlpd_loss(f.networks, f.batch, noise, {0, 1}, f.alpha, options);
  const auto design = sac.design(1);
  expect_equal_metrics(
      metrics_of(got.part<CriticLoss>(), got.part<SoftPolicyLoss>()),
      metrics_of(soft_critic_loss(f.networks, f.batch, f.noise, {0, 1}, f.alpha, design),
                 soft_policy_loss(f.networks, f.batch, f.noise, f.alpha, design)));
}

// Whole updates of RLPD and SAC are equal if both algorithms have the same temperature loss and the
// same initial networks.
TEST(Rlpd, NarrowedItUpdatesAsSac) {
  auto options = like_sac(2);
  options.hidden_sizes = {16};
  auto design = options.design(2);
  design.temperature.scaled_loss = false;
  design.init = {};
  SoftActorCritic rlpd(options, design, small_context());
  SacOptions sac_options;
  sac_options.hidden_sizes = {16};
  Sac sac(sac_options, small_context());
  for (int i = 0; i < 10; ++i) {
    const auto batch = random_batch(i);
    expect_equal_metrics(rlpd.update(batch, 1.0), sac.update(batch, 1.0));
  }
  const auto obs = random_batch(99).obs();
  EXPECT_TRUE(torch::equal(act_once(rlpd, obs), act_once(sac, obs)));
}

TEST(RlpdOptions, DefaultsArePublished) {
  const RlpdOptions options;
  const auto design = options.design(6);
  EXPECT_EQ(design.critics, 10);
  EXPECT_EQ(design.target_critics, 2);
  EXPECT_EQ(design.actor_reduce, Reduce::mean);
  EXPECT_EQ(design.actor_interval, 20);
  EXPECT_EQ(design.temperature.entropy, -3);
  EXPECT_EQ(design.layer_norm, LayerNorm::before_activation);
  EXPECT_TRUE(design.backup_entropy);
  EXPECT_TRUE(design.temperature.scaled_loss);
  EXPECT_EQ(options.offline_batch_ratio, 0.5);
  EXPECT_EQ(options.offline_pretrain_updates, 0);
  EXPECT_EQ(options.first_alpha(), 1.0);
}

TEST(RlpdOptions, BadTemperaturesAreRefused) {
  RlpdOptions options;
  for (const char* text : {"-0.1", "auto:0", "auto:-1", "auto:", "automatic", "1x", "", "nan"}) {
    options.alpha = text;
    try {
      options.check();
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config) << text;
      EXPECT_EQ(error.place().key, "alpha") << text;
    }
  }
  for (const char* text : {"auto", "auto:0.2", "0", "0.5", "1e-3"}) {
    options.alpha = text;
    EXPECT_NO_THROW(options.check()) << text;
  }
}

}  // namespace
}  // namespace rl_training::test_rlpd
