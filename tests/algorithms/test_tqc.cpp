#include "rl_training/algorithms/tqc.h"
#include "tests/algorithms/soft_example.h"

namespace rl_training::test_tqc {
namespace {

// Two linear critics with two quantiles each, for one-dimensional observations and actions. All
// weights are zero, so the quantiles of a critic are its biases. The actor is a standard normal,
// and the noise is 0.
struct Fixture {
  TqcOptions options;
  std::unique_ptr<TqcNetworks> networks;
  Batch batch = zero_batch(1, 1, 1);
  torch::Tensor noise = torch::zeros({1, 1});
  torch::Tensor alpha = torch::full({}, 0.5f);

  Fixture() {
    options.hidden_sizes.clear();
    options.num_critics = options.num_quantiles = 2;
    options.drop_per_critic = 1;
    networks = std::make_unique<TqcNetworks>(options, linear_context(), Rng(0));
    set_values(networks->actor.parameters()[0], {0, 0, 0, 0});
  }
  static void set_quantiles(CriticEnsemble& critics, const std::vector<float>& q) {
    set_parameters(critics.network(), {0, 0, 0, 0, q[0], q[1], 0, 0, 0, 0, q[2], q[3]});
  }
};

// The quantiles are (1, 0) and (5, 7). The target uses the two lowest values of all four, 0 and 1,
// and not the lowest value of each critic.
TEST(TqcLoss, TheHighestOfThePoolAreLeftOut) {
  Fixture f;
  f.set_quantiles(f.networks->critics_target, {1, 0, 5, 7});
  f.batch.rewards().fill_(2);
  const auto target_of = [&] {
    return tqc_critic_loss(*f.networks, f.batch, f.noise, f.alpha, f.options)
        .target_q_mean.item<double>();
  };
  EXPECT_NEAR(target_of(), 2 + 0.99 * (0.5 + 0.5 * 0.918939), 1e-5);
  f.options.drop_per_critic = 0;
  EXPECT_NEAR(target_of(), 2 + 0.99 * (13.0 / 4 + 0.5 * 0.918939), 1e-5);
  set_terminated(f.batch, {1});
  EXPECT_NEAR(target_of(), 2.0, 1e-6);
}

// In a terminal row, every target is the reward 2. The quantiles are (0, 1) and (0, 3). The losses
// of the two critics are 0.375 and 0.25, as computed in tests/models/test_losses.cpp.
TEST(TqcLoss, CriticLossByHand) {
  Fixture f;
  f.batch.rewards().fill_(2);
  set_terminated(f.batch, {1});
  f.set_quantiles(f.networks->critics, {0, 1, 0, 3});
  const auto result = tqc_critic_loss(*f.networks, f.batch, f.noise, f.alpha, f.options);
  EXPECT_NEAR(result.loss.item<double>(), (0.375 + 0.25) / 2, 1e-6);
  // For a quantile q of level p, dL/dq = -p * slope / 4 if the target is above q, and
  // (1 - p) * slope / 4 otherwise. The divisor 4 is the number of quantiles of both critics. The
  // slope of the Huber loss is 1 for |delta| >= 1.
  result.loss.backward();
  const auto gradient = f.networks->critics.network().parameters().grad();
  EXPECT_NEAR(gradient[4].item<double>(), -0.25 / 4, 1e-6);
  EXPECT_NEAR(gradient[5].item<double>(), -0.75 / 4, 1e-6);
  EXPECT_NEAR(gradient[11].item<double>(), 0.25 / 4, 1e-6);
  EXPECT_FALSE(f.networks->critics_target.network().parameters().grad().defined());
}

TEST(TqcLoss, TheActorClimbsTheMeanOfAllQuantiles) {
  Fixture f;
  f.set_quantiles(f.networks->critics, {0, 1, 2, 5});
  const auto result = tqc_actor_loss(*f.networks, f.batch, f.noise, f.alpha);
  EXPECT_NEAR(result.loss.item<double>(), 0.5 * -0.918939 - 2.0, 1e-5);
  result.loss.backward();
  EXPECT_FALSE(f.networks->critics.network().parameters().grad().defined());
  // dL / d log std = alpha (-1 + 2 a e) for the noise e. At a = 0, this is -alpha.
  EXPECT_NEAR(f.networks->actor.parameters()[0].grad()[3].item<double>(), -0.5, 1e-5);
}

TEST(Tqc, TheTemperatureMovesTheRightWay) {
  for (const double target : {100.0, -100.0}) {
    TqcOptions options;
    options.hidden_sizes = {8};
    options.target_entropy = target;
    Tqc algorithm(options, small_context());
    const auto alpha = metric(algorithm.update(random_batch(0), 1.0), "alpha");
    EXPECT_EQ(alpha > 1, target > 0);
  }
}

TEST(TqcOptions, SomethingOfTheTargetMustStay) {
  TqcOptions options;
  options.drop_per_critic = 24;
  EXPECT_NO_THROW(options.check());
  options.drop_per_critic = 25;
  try {
    options.check();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.place().key, "drop_per_critic");
  }
}

}  // namespace
}  // namespace rl_training::test_tqc
