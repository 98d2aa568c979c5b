#include <gtest/gtest.h>

#include "rl_training/algorithms/bear.h"
#include "tests/algorithms/linear_example.h"
#include "tests/algorithms/option_errors.h"

namespace rl_training::test_bear {
namespace {

// Linear networks with one-dimensional observations, actions and latents. The decoder returns the
// clipped latent. The policy has mean 0.4 * s and standard deviation 1.
struct Fixture {
  BearOptions options;
  std::unique_ptr<BearNetworks> networks;
  Batch batch = zero_batch(2, 1, 1);
  BearNoise noise;
  torch::Tensor alpha = torch::full({}, 3.0f);

  Fixture() {
    options.hidden_sizes.clear();
    options.vae_hidden_sizes.clear();
    options.latent_dim = 1;
    options.n_action_samples = 2;
    options.n_mmd_samples = 1;
    const auto context = linear_context();
    networks = std::make_unique<BearNetworks>(options, context, Rng(0));
    set_parameters(networks->vae.decoder(), {0, 1, 0});
    set_values(networks->actor.parameters()[0], {0.4f, 0.0f, 0.0f, 0.0f});
    set_parameters(networks->critics.network(), {1, 1, 0, 1, -2, 0});
    batch.obs().copy_(torch::tensor({{1.0f}, {-1.0f}}));
    batch.actions().copy_(torch::tensor({{0.5f}, {-0.5f}}));
    batch.rewards().copy_(torch::tensor({1.0f, 2.0f}));
    batch.next_obs().copy_(torch::tensor({{1.0f}, {3.0f}}));
    noise.encoder = torch::zeros({2, 1});
    noise.next_actions = torch::tensor({{0.3f}, {-0.9f}, {-1.0f}, {0.5f}});
    noise.actions = torch::tensor({{0.6f}, {-0.1f}});
    noise.latents = torch::tensor({{2.0f}, {-0.2f}});
  }
  BearActorLoss actor_loss(bool warming_up) const {
    return bear_actor_loss(*networks, batch, noise, alpha, warming_up, options);
  }
  // Returns the MMD of two single actions that are `distance` apart. Before tanh, the actions of
  // the policy are u = (1, -0.5) and those of the behaviour model are (0.5, -0.2), so the distances
  // are 0.5 and 0.3.
  static double mmd(double distance) { return std::sqrt(2 - 2 * std::exp(-distance / 40) + 1e-6); }
};

TEST(BearLoss, CriticLossByHand) {
  Fixture f;
  set_parameters(f.networks->critics_target.network(), {1, 1, 0, 1, -2, 0});
  const auto mix = [](double s, double noise) {
    const double a = std::tanh(0.4 * s + noise), q1 = s + a, q2 = s - 2 * a;
    return 0.75 * std::min(q1, q2) + 0.25 * std::max(q1, q2);
  };
  const double y0 = 1 + 0.99 * std::max(mix(1, 0.3), mix(1, -0.9));
  const double y1 = 2 + 0.99 * std::max(mix(3, -1.0), mix(3, 0.5));
  const auto result = bear_critic_loss(*f.networks, f.batch, f.noise, f.options);
  EXPECT_NEAR(metric(result, "target_q_mean"), (y0 + y1) / 2, 1e-5);
  // Q_1 = (1.5, -1.5) and Q_2 = (0, 0).
  const auto square = [](double x) { return x * x; };
  EXPECT_NEAR(result.loss.item<double>(),
              (square(1.5 - y0) + square(-1.5 - y1) + square(y0) + square(y1)) / 2, 1e-4);
  result.loss.backward();
  EXPECT_FALSE(f.networks->actor.parameters()[0].grad().defined());
  EXPECT_FALSE(f.networks->critics_target.network().parameters().grad().defined());
}

TEST(BearLoss, ActorLossByHand) {
  const Fixture f;
  const auto result = f.actor_loss(false);
  const double mmd = (Fixture::mmd(0.5) + Fixture::mmd(0.3)) / 2;
  const double a0 = std::tanh(1.0), a1 = std::tanh(-0.5);
  const double q = (std::min(1 + a0, 1 - 2 * a0) + std::min(-1 + a1, -1 - 2 * a1)) / 2;
  EXPECT_NEAR(metric(result, "mmd_loss"), mmd, 1e-5);
  EXPECT_NEAR(metric(result, "mmd_alpha"), 3.0, 1e-6);
  EXPECT_NEAR(result.loss.item<double>(), -q + 3 * (mmd - 0.05), 1e-4);

  // The gradient with respect to the bias of the policy's mean is averaged over the two rows. The
  // derivative of the action a = tanh(u) is 1 - a^2. The derivative of the distance d = |u - x| to
  // the action x of the behaviour model is +1 in row 0 and -1 in row 1. The derivative of the MMD
  // is exp(-d / 40) / 40 / mmd.
  result.loss.backward();
  const auto mmd_slope = [](double d) { return std::exp(-d / 40) / 40 / Fixture::mmd(d); };
  const double q_slope = (-2 * (1 - a0 * a0) + (1 - a1 * a1)) / 2;
  const auto gradient = f.networks->actor.parameters()[0].grad();
  EXPECT_NEAR(gradient[2].item<double>(), -q_slope + 3 * (mmd_slope(0.5) - mmd_slope(0.3)) / 2,
              1e-3);
  EXPECT_FALSE(f.networks->critics.network().parameters().grad().defined());
  EXPECT_FALSE(f.networks->vae.decoder().parameters().grad().defined());
}

TEST(BearLoss, WarmingUpDoesNotSeeTheCritics) {
  const Fixture f;
  const double before = f.actor_loss(true).loss.item<double>();
  EXPECT_NEAR(before, 3 * ((Fixture::mmd(0.5) + Fixture::mmd(0.3)) / 2 - 0.05), 1e-5);
  set_parameters(f.networks->critics.network(), {9, 9, 9, 9, 9, 9});
  EXPECT_EQ(f.actor_loss(true).loss.item<double>(), before);
  EXPECT_NE(f.actor_loss(false).loss.item<double>(), before);
}

TEST(BearLoss, AllTogetherReportAllMetrics) {
  const Fixture f;
  const auto result = bear_loss(*f.networks, f.batch, f.noise, f.alpha, false, f.options);
  EXPECT_EQ(names_of(result), bear_info().metrics);
  double sum = 0;
  for (const char* name : {"vae_loss", "critic_loss", "actor_loss"}) {
    sum += metric(result, name);
  }
  EXPECT_NEAR(result.loss.item<double>(), sum, 1e-4);
}

// Networks with hidden layers, and three samples per row, of which the critics use the first. The
// gradient must equal that of the same loss in plain torch operators.
TEST(BearLoss, ActorGradientAgainstPlainTorch) {
  BearOptions options;
  options.hidden_sizes = options.vae_hidden_sizes = {8, 8};
  options.n_mmd_samples = 3;
  options.mmd_kernel = MmdKernel::gaussian;
  options.mmd_sigma = 2;
  const auto context = context_of(3, 2);
  BearNetworks networks(options, context, Rng(1));
  auto batch = zero_batch(10, 3, 2);
  Rng rng(2);
  batch.obs().copy_(draw_normal(rng, {10, 3}));
  BearNoise noise;
  noise.actions = draw_normal(rng, {30, 2});
  noise.latents = draw_normal(rng, {30, 4});
  const auto alpha = torch::full({}, 2.0f);
  auto leaf = networks.actor.parameters()[0];
  const auto ours = bear_actor_loss(networks, batch, noise, alpha, false, options);
  ours.loss.backward();
  const auto gradient = leaf.grad().clone();
  leaf.mutable_grad() = torch::Tensor();

  const auto behavior = plain(networks.vae.decoder(), batch.obs().repeat_interleave(3, 0),
                              noise.latents.clamp(-0.5, 0.5))
                            .squeeze(0)
                            .detach();
  const auto policy = gaussian_sample_plain(networks.actor.head(batch.obs()), noise.actions);
  torch::Tensor sum = torch::zeros({});
  const auto q = plain(networks.critics.network(), batch.obs(), policy.actions.slice(0, 0, 30, 3),
                       Use::frozen);
  for (int64_t row = 0; row < 10; ++row) {
    const auto x = behavior.narrow(0, 3 * row, 3), y = policy.unbounded.narrow(0, 3 * row, 3);
    torch::Tensor squared = torch::full({}, 1e-6f);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        const auto k = [](const torch::Tensor& u, const torch::Tensor& v) {
          return torch::exp(-(u - v).pow(2).sum() / 4.0);
        };
        squared = squared + (k(x[i], x[j]) + k(y[i], y[j]) - 2 * k(x[i], y[j])) / 9.0;
      }
    }
    sum = sum + 2.0 * (squared.sqrt() - 0.05) - torch::min(q[0][row][0], q[1][row][0]);
  }
  (sum / 10.0).backward();
  EXPECT_NEAR(ours.loss.item<double>(), sum.item<double>() / 10, 1e-5);
  EXPECT_TRUE(torch::allclose(gradient, leaf.grad(), 1e-3, 1e-5));
}

TEST(BearLoss, TheMultiplierGrowsWhileTheDistanceIsTooLarge) {
  BearOptions options;
  const auto gradient = [&](double mmd) {
    return bear_multiplier_gradient(torch::full({}, 2.0f), torch::full({}, mmd), options)
        .item<double>();
  };
  EXPECT_NEAR(gradient(0.30), -0.5, 1e-6);  // gradient descent increases log alpha
  EXPECT_NEAR(gradient(0.05), 0.0, 1e-6);
  EXPECT_GT(gradient(0.01), 0.0);
}

struct Training {
  BearOptions options;
  AlgorithmContext context = context_of(3, 2);
  Batch batch = zero_batch(16, 3, 2);

  Training() {
    options.hidden_sizes = options.vae_hidden_sizes = {8};
    Rng rng(1);
    batch.obs().copy_(draw_normal(rng, {16, 3}));
    batch.next_obs().copy_(draw_normal(rng, {16, 3}));
    batch.actions().copy_(draw_normal(rng, {16, 2}).tanh());
    batch.rewards().copy_(draw_normal(rng, {16}));
  }
  // Performs `updates` updates. Returns the multiplier that is used in the last update.
  double alpha_after(int updates, double lr_scale = 1) const {
    Bear bear(options, context);
    double alpha = 0;
    for (int i = 0; i < updates; ++i) {
      alpha = metric(bear.update(batch, lr_scale), "mmd_alpha");
    }
    return alpha;
  }
};

TEST(Bear, TheMultiplierFollowsTheThresholdWithinItsBounds) {
  Training t;
  t.options.mmd_threshold = 0;
  EXPECT_NEAR(t.alpha_after(1), 1.0, 1e-6);
  EXPECT_NEAR(t.alpha_after(2), std::exp(1e-3), 1e-5);        // the first step of Adam is 1e-3
  EXPECT_NEAR(t.alpha_after(2, 1e-3), std::exp(1e-3), 1e-5);  // lr_scale has no effect
  t.options.lagrange_learning_rate = 1;
  t.options.log_alpha_max = 0.5;
  EXPECT_NEAR(t.alpha_after(4), std::exp(0.5), 1e-5);
  t.options.mmd_threshold = 10;
  t.options.log_alpha_min = -0.25;
  EXPECT_NEAR(t.alpha_after(4), std::exp(-0.25), 1e-5);
  t.options.mmd_alpha = 7;
  EXPECT_NEAR(t.alpha_after(4), 7.0, 1e-4);
}

TEST(Bear, QEntersAfterTheWarmUp) {
  Training t;
  t.options.warmup_updates = 2;
  Bear bear(t.options, t.context);
  for (int update = 1; update <= 4; ++update) {
    const auto metrics = bear.update(t.batch, 1.0);
    const auto value = [&](const char* name) { return metric(metrics, name); };
    const double distance_term = value("mmd_alpha") * (value("mmd_loss") - 0.05);
    EXPECT_EQ(std::abs(value("actor_loss") - distance_term) < 1e-5, update <= 2) << update;
  }
}

TEST(Bear, RefusesWhatCannotBe) {
  const std::pair<const char*, const char*> table[] = {
      {"mmd_sigma", "0"},           {"mmd_kernel", "laplace"}, {"n_mmd_samples", "0"},
      {"mmd_threshold", "-0.1"},    {"mmd_alpha", "0"},        {"lagrange_learning_rate", "0"},
      {"log_alpha_min", "10"},      {"vae_kl_weight", "-1"},   {"n_action_samples", "0"},
      {"lambda_min", "1.5"},        {"warmup_updates", "-1"},  {"actor_learning_rate", "0"},
      {"vae_learning_rate", "-1"},  {"latent_dim", "0"},       {"latent_clip", "0"},
      {"eval_action_samples", "0"},
  };
  for (const auto& [key, value] : table) {
    BearOptions options;
    EXPECT_TRUE(option_error(options, key, value).starts_with(std::string(key) + ": "))
        << key << "=" << value << ": " << option_error(options, key, value);
  }
  BearOptions options;
  EXPECT_EQ(option_error(options, "mmd_kernel", "gaussian"), "");
  EXPECT_EQ(option_error(options, "mmd_alpha", "10"), "");
}

}  // namespace
}  // namespace rl_training::test_bear
