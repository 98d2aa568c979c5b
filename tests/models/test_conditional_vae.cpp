#include <gtest/gtest.h>

#include "rl_training/models/conditional_vae.h"
#include "rl_training/models/perturbation_actor.h"
#include "tests/support/tensors.h"

namespace rl_training::test_conditional_vae {
namespace {

ConditionalVae make(int64_t obs_dim, int64_t action_dim, int64_t latent_dim,
                    std::vector<int64_t> hidden_sizes) {
  Rng rng(5);
  return ConditionalVae(obs_dim, action_dim,
                        {.latent_dim = latent_dim, .hidden_sizes = std::move(hidden_sizes)}, rng,
                        {});
}

// Returns the KL divergence of a linear encoder that outputs these means and log standard
// deviations for every input.
double kl_of(const std::vector<float>& means, const std::vector<float>& log_stds) {
  const auto latent_dim = static_cast<int64_t>(means.size());
  auto vae = make(1, 1, latent_dim, {});
  std::vector<float> numbers(2 * 2 * means.size(), 0.0f);  // zero weights for s and a
  numbers.insert(numbers.end(), means.begin(), means.end());
  numbers.insert(numbers.end(), log_stds.begin(), log_stds.end());
  set_parameters(vae.encoder(), numbers);
  return vae.loss(torch::zeros({3, 1}), torch::zeros({3, 1}), torch::zeros({3, latent_dim}), 1.0)
      .kl.item<double>();
}

TEST(ConditionalVae, KlByHand) {
  EXPECT_NEAR(kl_of({0}, {0}), 0.0, 1e-7);
  EXPECT_NEAR(kl_of({1}, {0}), 0.5, 1e-6);
  EXPECT_NEAR(kl_of({1, 1}, {0, 0}), 0.5, 1e-6);  // mean over the latent dimensions, not the sum
  EXPECT_NEAR(kl_of({1, 0}, {0, 0}), 0.25, 1e-6);
  EXPECT_NEAR(kl_of({0}, {std::log(2.0f)}), -0.5 * (1 + std::log(4.0) - 4), 1e-6);
}

TEST(ConditionalVae, LogStdIsClampedToMinusFourAndFifteen) {
  EXPECT_NEAR(kl_of({0}, {-10}), -0.5 * (1 - 8 - std::exp(-8.0)), 1e-5);
  EXPECT_NEAR(kl_of({0}, {20}) / (-0.5 * (1 + 30 - std::exp(30.0))), 1.0, 1e-5);
}

// The encoder computes mu = s + 2 a and sigma = 1; the decoder computes tanh(0.5 s + z). For
// (s, a) = (1, 0.25) and the noise -1, mu is 1.5 and z is mu - 1. The reconstructed action is
// therefore tanh(1), and the KL divergence is 1.5^2 / 2.
TEST(ConditionalVae, LossByHand) {
  auto vae = make(1, 1, 1, {});
  set_parameters(vae.encoder(), {1, 0, 2, 0, 0, 0});
  set_parameters(vae.decoder(), {0.5, 1, 0});
  const auto terms =
      vae.loss(torch::ones({1, 1}), torch::full({1, 1}, 0.25f), torch::full({1, 1}, -1.0f), 0.5);
  const double error = std::tanh(1.0) - 0.25;
  EXPECT_NEAR(terms.reconstruction.item<double>(), error * error, 1e-6);
  EXPECT_NEAR(terms.kl.item<double>(), 1.125, 1e-6);
  EXPECT_NEAR(terms.loss.item<double>(), error * error + 0.5 * 1.125, 1e-6);
}

TEST(ConditionalVae, GradientsAgainstPlainTorch) {
  auto vae = make(3, 2, 4, {8, 8});
  Rng rng(1);
  const auto obs = draw_normal(rng, {11, 3}), actions = draw_normal(rng, {11, 2}).tanh();
  const auto noise = draw_normal(rng, {11, 4});
  const auto fused = vae.loss(obs, actions, noise, 0.5);
  fused.loss.backward();
  std::vector<torch::Tensor> gradients;
  for (auto& leaf : vae.parameters()) {
    gradients.push_back(leaf.grad().clone());
    leaf.mutable_grad() = torch::Tensor();
  }

  const auto encoded = plain(vae.encoder(), obs, actions).squeeze(0).chunk(2, 1);
  const auto mean = encoded[0], log_std = encoded[1].clamp(-4, 15);
  const auto decoded = plain(vae.decoder(), obs, mean + log_std.exp() * noise).squeeze(0).tanh();
  const auto kl = -0.5 * (1 + log_std.exp().pow(2).log() - mean.pow(2) - log_std.exp().pow(2));
  const auto expected = (decoded - actions).pow(2).mean() + 0.5 * kl.mean();
  expected.backward();
  EXPECT_NEAR(fused.loss.item<double>(), expected.item<double>(), 1e-6);
  for (size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_GT(gradients[i].abs().max().item<double>(), 1e-4);
    EXPECT_TRUE(torch::allclose(gradients[i], vae.parameters()[i].grad(), 1e-4, 1e-6)) << i;
  }
}

TEST(ConditionalVae, DecodesBeforeAndAfterTanh) {
  const auto vae = make(3, 2, 0, {8});
  EXPECT_EQ(vae.latent_dim(), 4);  // the default is twice the action dimension
  Rng rng(2);
  const auto obs = draw_normal(rng, {6, 3}), latents = draw_normal(rng, {6, 4});
  EXPECT_TRUE(torch::equal(vae.decode(obs, latents), vae.decode_unbounded(obs, latents).tanh()));
}

// Prior latents are N(0, 1) noise clipped to [-0.5, 0.5], not noise with half the standard
// deviation.
TEST(ConditionalVae, PriorLatentsAreClipped) {
  const auto vae = make(1, 1, 3, {});
  const auto latents = vae.prior_latents(torch::tensor({{2.0f, -0.3f, -9.0f}}));
  EXPECT_TRUE(torch::equal(latents, torch::tensor({{0.5f, -0.3f, -0.5f}})));
}

TEST(PerturbationActor, MovesByAtMostItsScaleInsideTheBox) {
  Rng rng(3);
  PerturbationActor actor(1, 1, {.hidden_sizes = {}, .scale = 0.1}, rng, {});
  set_parameters(actor.network(), {0, 0, std::atanh(0.5f)});
  const auto obs = torch::zeros({3, 1});
  const auto moved = actor.actions(obs, torch::tensor({{0.2f}, {0.98f}, {-1.0f}}));
  EXPECT_TRUE(torch::allclose(moved, torch::tensor({{0.25f}, {1.0f}, {-0.95f}})));
  set_parameters(actor.network(), {0, 0, 1e6});
  EXPECT_NEAR(actor.actions(obs, torch::zeros({3, 1}))[0].item<double>(), 0.1, 1e-6);
}

}  // namespace
}  // namespace rl_training::test_conditional_vae
