#include <gtest/gtest.h>

#include "rl_training/algorithms/bcq.h"
#include "rl_training/models/losses.h"
#include "tests/algorithms/linear_example.h"
#include "tests/algorithms/option_errors.h"

namespace rl_training::test_bcq {
namespace {

// Linear networks with one-dimensional observations, actions and latents. The decoder returns the
// latent, so the candidate action of a latent e is tanh(clip(e, +-0.5)).
struct Fixture {
  BcqOptions options;
  std::unique_ptr<BcqNetworks> networks;
  Batch batch = zero_batch(2, 1, 1);
  BcqNoise noise;

  explicit Fixture(double perturbation_scale = 0.05) {
    options.hidden_sizes.clear();
    options.vae_hidden_sizes.clear();
    options.latent_dim = 1;
    options.n_action_samples = 2;
    options.perturbation_scale = perturbation_scale;
    const auto context = linear_context();
    networks = std::make_unique<BcqNetworks>(options, context, Rng(0));
    set_parameters(networks->vae.decoder(), {0, 1, 0});
    batch.obs().copy_(torch::tensor({{1.0f}, {-1.0f}}));
    batch.actions().copy_(torch::tensor({{0.5f}, {-0.5f}}));
    batch.rewards().copy_(torch::tensor({1.0f, 2.0f}));
    batch.next_obs().copy_(torch::tensor({{1.0f}, {3.0f}}));
    noise.encoder = torch::zeros({2, 1});
    noise.next_latents = torch::tensor({{3.0f}, {-0.2f}, {0.1f}, {-7.0f}});
    noise.latents = torch::tensor({{9.0f}, {0.2f}});
  }
  double target_mean() const {
    return bcq_critic_loss(*networks, batch, noise, options).target_q_mean.item<double>();
  }
};

// Returns the target of one row. Its candidates are -1 and 1, with Q'_1 = 2 + a = (1, 3) and
// Q'_2 = 1 - a = (2, 0).
double golden_target(double lambda_min) {
  Rng rng(0);
  CriticEnsemble online(1, 1, {.hidden_sizes = {}}, rng, {}), target(online);
  set_parameters(target.network(), {0, 1, 2, 0, -1, 1});
  auto batch = zero_batch(1, 1, 1);
  batch.rewards().fill_(0.5);
  return candidate_critic_loss({online, target, lambda_min}, batch,
                               torch::tensor({{-1.0f}, {1.0f}}))
      .target_q_mean.item<double>();
}

TEST(BcqLoss, GoldenTarget) {
  EXPECT_NEAR(golden_target(0.75), 1.7375, 1e-6);           // 0.5 + 0.99 * max(1.25, 0.75)
  EXPECT_NEAR(golden_target(1.0), 0.5 + 0.99 * 1.0, 1e-6);  // minimum of the critics: max(1, 0)
  EXPECT_NEAR(golden_target(0.5), 0.5 + 0.99 * 1.5, 1e-6);  // mean of the critics: max(1.5, 1.5)
  EXPECT_NEAR(golden_target(0.0), 0.5 + 0.99 * 3.0, 1e-6);  // maximum of the critics: max(2, 3)
}

// The target perturbation network xi' adds 0.05 * 0.5 = 0.025 to every candidate. Without xi', the
// candidates are tanh(0.5) and tanh(-0.2) in row 0 (s' = 1), and tanh(0.1) and tanh(-0.5) in row 1
// (s' = 3). The target critics are Q'_1 = s' + a and Q'_2 = s' - 2 a. The target uses the candidate
// with the largest 0.75 min Q' + 0.25 max Q'.
TEST(BcqLoss, CriticLossByHand) {
  Fixture f;
  set_parameters(f.networks->actor_target.network(), {0, 0, std::atanh(0.5f)});
  set_parameters(f.networks->critics_target.network(), {1, 1, 0, 1, -2, 0});
  set_parameters(f.networks->critics.network(), {1, 1, 0, 2, -1, 0.1});
  const auto mix = [](double s, double latent) {
    const double a = std::tanh(latent) + 0.025, q1 = s + a, q2 = s - 2 * a;
    return 0.75 * std::min(q1, q2) + 0.25 * std::max(q1, q2);
  };
  const double row0[] = {mix(1, 0.5), mix(1, -0.2)}, row1[] = {mix(3, 0.1), mix(3, -0.5)};
  const double y0 = 1 + 0.99 * std::max(row0[0], row0[1]);
  const double y1 = 2 + 0.99 * std::max(row1[0], row1[1]);
  const auto result = bcq_critic_loss(*f.networks, f.batch, f.noise, f.options);
  EXPECT_NEAR(metric(result, "target_q_mean"), (y0 + y1) / 2, 1e-6);
  EXPECT_NEAR(metric(result, "candidate_q_mean"), (row0[0] + row0[1] + row1[0] + row1[1]) / 4,
              1e-6);
  // Q_1 = s + a = (1.5, -1.5) and Q_2 = 2 s - a + 0.1 = (1.6, -1.4).
  const auto square = [](double x) { return x * x; };
  const double loss =
      (square(1.5 - y0) + square(-1.5 - y1) + square(1.6 - y0) + square(-1.4 - y1)) / 2;
  EXPECT_NEAR(result.loss.item<double>(), loss, 1e-4);

  result.loss.backward();
  const auto gradient = f.networks->critics.network().parameters().grad();
  EXPECT_NEAR(gradient[2].item<double>(), 1.5 - y0 - 1.5 - y1, 1e-4);
  EXPECT_FALSE(f.networks->critics_target.network().parameters().grad().defined());
  EXPECT_FALSE(f.networks->actor_target.network().parameters().grad().defined());
  EXPECT_FALSE(f.networks->vae.decoder().parameters().grad().defined());
}

TEST(BcqLoss, TerminatedRowsDoNotBootstrap) {
  Fixture f;
  set_terminated(f.batch, {1, 1});
  EXPECT_NEAR(f.target_mean(), 1.5, 1e-6);
}

// With one candidate, lambda = 1 and no perturbation, the target is r + gamma min_k Q'_k(s', a'),
// where the VAE generates a'.
TEST(BcqLoss, OneCandidateIsLikeSarsa) {
  Fixture f(1e-12);
  f.options.n_action_samples = 1;
  f.options.lambda_min = 1;
  f.noise.next_latents = torch::tensor({{0.3f}, {-0.4f}});
  set_parameters(f.networks->critics_target.network(), {1, 1, 0, 1, -2, 0});
  const double q0 = 1 - 2 * std::tanh(0.3), q1 = 3 + std::tanh(-0.4);
  EXPECT_NEAR(f.target_mean(), 1.5 + 0.99 * (q0 + q1) / 2, 1e-6);
}

// The candidate c is tanh(0.5) in row 0, where the latent is clipped, and tanh(0.2) in row 1. All
// parameters of the perturbation network xi are 0, so the perturbed action is c + 0.05 tanh(0) = c.
TEST(BcqLoss, ActorLossByHand) {
  Fixture f;
  set_parameters(f.networks->actor.network(), {0, 0, 0});
  set_parameters(f.networks->critics.network(), {1, 4, 0.5, 100, 100, 100});  // Q_1 = s + 4 a + 0.5
  const auto result = bcq_actor_loss(*f.networks, f.batch, f.noise);
  const double c0 = std::tanh(0.5), c1 = std::tanh(0.2);
  EXPECT_NEAR(result.loss.item<double>(), -(4 * c0 + 4 * c1 + 1) / 2, 1e-5);

  // The gradient with respect to the bias is -4 * 0.05 * tanh'(0). For the weight of c, it is
  // multiplied by the mean of c.
  result.loss.backward();
  const auto gradient = f.networks->actor.network().parameters().grad();
  EXPECT_NEAR(gradient[0].item<double>(), 0.0, 1e-6);  // s = (1, -1), so the rows cancel out
  EXPECT_NEAR(gradient[1].item<double>(), -0.2 * (c0 + c1) / 2, 1e-6);
  EXPECT_NEAR(gradient[2].item<double>(), -0.2, 1e-6);
  EXPECT_FALSE(f.networks->critics.network().parameters().grad().defined());
  EXPECT_FALSE(f.networks->vae.decoder().parameters().grad().defined());
  EXPECT_FALSE(f.networks->vae.encoder().parameters().grad().defined());
}

TEST(BcqLoss, AllTogetherReportAllMetrics) {
  Fixture f;
  const auto result = bcq_loss(*f.networks, f.batch, f.noise, f.options);
  EXPECT_EQ(names_of(result), bcq_info().metrics);
  double sum = 0;
  for (const char* name : {"vae_loss", "critic_loss", "actor_loss"}) {
    sum += metric(result, name);
  }
  EXPECT_NEAR(result.loss.item<double>(), sum, 1e-4);
  EXPECT_NEAR(metric(result, "vae_loss"),
              metric(result, "reconstruction_loss") + 0.5 * metric(result, "kl_loss"), 1e-5);
}

// Networks with hidden layers. The gradient must equal that of the same loss in plain torch
// operators.
TEST(BcqLoss, ActorGradientAgainstPlainTorch) {
  BcqOptions options;
  options.hidden_sizes = options.vae_hidden_sizes = {8, 8};
  options.perturbation_scale = 0.7;  // large enough for actions to be clipped
  const auto context = context_of(3, 2);
  BcqNetworks networks(options, context, Rng(1));
  auto batch = zero_batch(20, 3, 2);
  Rng rng(2);
  batch.obs().copy_(draw_normal(rng, {20, 3}));
  BcqNoise noise;
  noise.latents = draw_normal(rng, {20, 4});
  auto& actor = networks.actor.network();
  const auto fused = bcq_actor_loss(networks, batch, noise);
  fused.loss.backward();
  const auto gradient = actor.parameters().grad().clone();
  actor.parameters().mutable_grad() = torch::Tensor();

  const auto proposed = plain(networks.vae.decoder(), batch.obs(), noise.latents.clamp(-0.5, 0.5))
                            .squeeze(0)
                            .tanh()
                            .detach();
  const auto actions =
      (proposed + 0.7 * plain(actor, batch.obs(), proposed).squeeze(0)).clamp(-1, 1);
  const auto expected =
      -plain(networks.critics.network(), batch.obs(), actions, Use::frozen).select(0, 0).mean();
  expected.backward();
  EXPECT_NEAR(fused.loss.item<double>(), expected.item<double>(), 1e-6);
  EXPECT_TRUE(torch::allclose(gradient, actor.parameters().grad(), 1e-4, 1e-7));
}

struct Acting {
  BcqOptions options;
  AlgorithmContext context = context_of(3, 2);
  torch::Tensor obs;
  explicit Acting(int64_t rows) {
    options.hidden_sizes = options.vae_hidden_sizes = {8};
    obs = normal_noise({rows, 3}, 3);
  }
};

TEST(Bcq, ActsByTheBestCandidate) {
  const Acting a(5);
  BcqNetworks networks(a.options, a.context, Rng(0));
  std::vector<torch::Tensor> seen;
  CandidatePolicy policy{7, 4, [&](const torch::Tensor& obs, const torch::Tensor& noise) {
                           const auto rows = repeat_rows(obs, 7);
                           seen.push_back(networks.actor.actions(
                               rows, networks.vae.decode(rows, networks.vae.prior_latents(noise))));
                           return seen.back();
                         }};
  const auto actions = best_candidates(policy, networks.critics, a.obs, nullptr);
  const auto candidates = seen.at(0).view({5, 7, 2});
  for (int64_t row = 0; row < 5; ++row) {
    const auto q = networks.critics.first_value(a.obs[row].expand({7, 3}), candidates[row]);
    EXPECT_TRUE(torch::equal(actions[row], candidates[row][q.argmax().item<int64_t>()])) << row;
  }
}

// The action of a row does not depend on other rows, although large inputs are processed in chunks.
TEST(Bcq, TheGreedyActionIsAFunctionOfTheObservationAlone) {
  const Acting a(200);
  Bcq algorithm(a.options, a.context);
  const auto all = act_once(algorithm, a.obs);
  for (const int64_t row : {0, 1, 80, 81, 163, 199}) {
    const auto one = act_once(algorithm, a.obs.narrow(0, row, 1));
    EXPECT_TRUE(torch::allclose(one[0], all[row], 1e-5, 1e-6)) << row;
  }
  const auto same = act_once(algorithm, a.obs[0].expand({4, 3}).contiguous());
  EXPECT_TRUE(torch::allclose(same, same[0].expand({4, 2})));
}

TEST(Bcq, ExploringDrawsAnew) {
  const Acting a(6);
  Bcq algorithm(a.options, a.context);
  const auto greedy = act_once(algorithm, a.obs);
  const auto first = act_once(algorithm, a.obs, ActMode::explore);
  EXPECT_FALSE(torch::equal(first, greedy));
  EXPECT_FALSE(torch::equal(first, act_once(algorithm, a.obs, ActMode::explore)));
  EXPECT_TRUE(torch::equal(greedy, act_once(algorithm, a.obs)));
}

TEST(Bcq, RefusesWhatCannotBe) {
  const std::pair<const char*, const char*> table[] = {
      {"n_action_samples", "0"},    {"eval_action_samples", "0"}, {"perturbation_scale", "0"},
      {"perturbation_scale", "-1"}, {"lambda_min", "-0.1"},       {"lambda_min", "1.1"},
      {"vae_kl_weight", "-0.5"},    {"latent_dim", "0"},          {"latent_clip", "0"},
      {"vae_learning_rate", "0"},   {"learning_rate", "0"},       {"vae_hidden_sizes", "7"},
  };
  for (const auto& [key, value] : table) {
    BcqOptions options;
    EXPECT_TRUE(option_error(options, key, value).starts_with(std::string(key) + ": "))
        << key << "=" << value << ": " << option_error(options, key, value);
  }
  BcqOptions options;
  EXPECT_EQ(option_error(options, "lambda_min", "1"), "");
  EXPECT_EQ(option_error(options, "latent_dim", "3"), "");
}

}  // namespace
}  // namespace rl_training::test_bcq
