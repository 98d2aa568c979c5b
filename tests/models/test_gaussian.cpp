#include <gtest/gtest.h>

#include "rl_training/models/gaussian_actor.h"
#include "rl_training/models/log_scalar.h"

namespace rl_training::test_gaussian {
namespace {

torch::Tensor draw(Rng& rng, torch::IntArrayRef shape, float scale = 1) {
  auto values = torch::empty(shape);
  rng.fill_normal({values.data_ptr<float>(), static_cast<size_t>(values.numel())});
  return values.mul_(scale);
}

double tanh_normal_log_prob(float u) {
  GaussianHead head;
  head.output = torch::zeros({1, 2});
  return gaussian_sample(head, torch::full({1, 1}, u)).log_prob.item<double>();
}

// For u ~ N(0, 1), the log density of tanh(u) is log N(u; 0, 1) - 2 (log 2 - u - softplus(-2u)).
TEST(Gaussian, GoldenLogDensities) {
  EXPECT_NEAR(tanh_normal_log_prob(0), -0.918939, 1e-6);
  EXPECT_NEAR(tanh_normal_log_prob(1), -0.551377, 1e-6);
  EXPECT_NEAR(tanh_normal_log_prob(-1), -0.551377, 1e-6);
  EXPECT_NEAR(tanh_normal_log_prob(10), -32.305233, 1e-5);
}

TEST(Gaussian, GivenActionsAtTheEdgeStayFinite) {
  GaussianHead head;
  head.output = torch::zeros({2, 2});
  const auto log_prob = gaussian_log_prob(head, torch::tensor({{1.0f}, {-1.0f}}));
  const double u = std::atanh(1.0 - 1e-5);
  const double expected =
      -0.5 * u * u - 0.918938533 - 2 * (std::log(2.0) - u - std::log1p(std::exp(-2 * u)));
  EXPECT_NEAR(log_prob[0].item<double>(), expected, 2e-2);  // float32 resolves 1 - a coarsely
  EXPECT_EQ(log_prob[0].item<float>(), log_prob[1].item<float>());
}

// A kind of Gaussian head and the number of samples per row. For each kind, values and gradients
// are compared with those of torch operators.
struct Kind {
  bool squash, free_std;
  int64_t samples_each;
};

class GaussianAgainstPlain : public testing::TestWithParam<Kind> {
 protected:
  static constexpr int64_t kRows = 13, kActions = 3;
  GaussianHead make_head() {
    Rng rng(1);
    const auto kind = GetParam();
    GaussianHead head;
    head.squash = kind.squash;
    head.log_std_min = -1.5;  // the bounds clamp some of the log stds
    head.log_std_max = 0.8;
    head.output =
        draw(rng, {kRows, kind.free_std ? kActions : 2 * kActions}, 1.3f).set_requires_grad(true);
    if (kind.free_std) {
      head.free_log_std = torch::tensor({-0.3f, 0.4f, 1.7f}).set_requires_grad(true);
    }
    return head;
  }
  static void expect_close(const torch::Tensor& got, const torch::Tensor& expected) {
    EXPECT_TRUE(torch::allclose(got, expected, 1e-5, 1e-5)) << got << expected;
  }
  static void expect_same_gradients(const GaussianHead& a, const GaussianHead& b) {
    // With torch operators, a result that does not depend on the means leaves their gradient
    // undefined.
    const auto& plain = b.output.grad();
    expect_close(a.output.grad(), plain.defined() ? plain : torch::zeros_like(b.output));
    if (a.free_log_std.defined()) expect_close(a.free_log_std.grad(), b.free_log_std.grad());
  }
};

INSTANTIATE_TEST_SUITE_P(All, GaussianAgainstPlain,
                         testing::Values(Kind{true, false, 1}, Kind{true, false, 4},
                                         Kind{true, true, 2}, Kind{false, true, 1},
                                         Kind{false, false, 3}));

TEST_P(GaussianAgainstPlain, Samples) {
  Rng rng(2);
  const auto noise = draw(rng, {kRows * GetParam().samples_each, kActions});
  const auto weight_a = draw(rng, noise.sizes()), weight_u = draw(rng, noise.sizes());
  const auto weight_l = draw(rng, {noise.size(0)});
  const auto fused_head = make_head(), plain_head = make_head();
  const auto fused = gaussian_sample(fused_head, noise);
  const auto plain = gaussian_sample_plain(plain_head, noise);
  expect_close(fused.actions, plain.actions);
  expect_close(fused.log_prob, plain.log_prob);
  expect_close(fused.unbounded, plain.unbounded);
  for (const auto* s : {&fused, &plain}) {
    ((s->actions * weight_a).sum() + (s->log_prob * weight_l).sum() +
     (s->unbounded * weight_u).sum())
        .backward();
  }
  expect_same_gradients(fused_head, plain_head);
}

TEST_P(GaussianAgainstPlain, OneResultAloneGivesItsOwnGradient) {
  Rng rng(3);
  const auto noise = draw(rng, {kRows * GetParam().samples_each, kActions});
  const auto fused_head = make_head(), plain_head = make_head();
  gaussian_sample(fused_head, noise).log_prob.sum().backward();
  gaussian_sample_plain(plain_head, noise).log_prob.sum().backward();
  expect_same_gradients(fused_head, plain_head);
}

TEST_P(GaussianAgainstPlain, GivenActions) {
  Rng rng(4);
  const auto actions = draw(rng, {kRows, kActions}).clamp_(-1, 1);
  const auto weight = draw(rng, {kRows});
  const auto fused_head = make_head(), plain_head = make_head();
  const auto fused = gaussian_log_prob(fused_head, actions);
  const auto plain = gaussian_log_prob_plain(plain_head, actions);
  EXPECT_TRUE(torch::allclose(fused, plain, 1e-3, 1e-3));
  (fused * weight).sum().backward();
  (plain * weight).sum().backward();
  EXPECT_TRUE(torch::allclose(fused_head.output.grad(), plain_head.output.grad(), 1e-4, 1e-4));
}

TEST(GaussianActor, ModeStaysInTheBox) {
  Rng rng(5);
  GaussianActor::Options options;
  options.hidden_sizes = {8};
  options.squash = false;
  options.state_dependent_std = false;
  GaussianActor actor(2, 2, options, rng, {});
  const auto mode = actor.mode(torch::full({4, 2}, 1000.0f));
  EXPECT_LE(mode.abs().max().item<float>(), 1.0f);
  EXPECT_EQ(actor.parameters().size(), 2u);
}

// The actor computes log std = m x + c, where x is the output of the network. Initially m = 1 and
// c = -1, and both are trained.
TEST(GaussianActor, LearnsTheScaleOfItsStandardDeviation) {
  Rng rng(6);
  GaussianActor::Options options;
  options.hidden_sizes = {8};
  GaussianActor plain(2, 2, options, rng, {});
  options.learn_std_scale = true;
  GaussianActor scaled(2, 2, options, rng, {});
  ASSERT_EQ(scaled.parameters().size(), 2u);
  {
    const torch::NoGradGuard no_grad;
    scaled.parameters()[0].copy_(plain.parameters()[0]);
  }
  const auto obs = draw(rng, {5, 2}), raw = plain.head(obs).output.detach();
  const auto x = raw.narrow(1, 2, 2);
  EXPECT_TRUE(torch::allclose(scaled.head(obs).output.narrow(1, 2, 2), x - 1));
  EXPECT_TRUE(torch::equal(scaled.mode(obs), plain.mode(obs)));
  // At the mean, the derivative of log p with respect to each log std is -1. For the sum of log p
  // over 5 rows with 2 action dimensions, the derivative is therefore -sum x with respect to m, and
  // -10 with respect to c.
  scaled.sample(obs, torch::zeros({5, 2})).log_prob.sum().backward();
  const auto gradient = scaled.parameters()[1].grad();
  EXPECT_NEAR(gradient[0].item<double>(), -x.sum().item<double>(), 1e-5);
  EXPECT_NEAR(gradient[1].item<double>(), -10.0, 1e-5);

  GaussianActor target(scaled);
  scaled.parameters()[1].detach().fill_(3);
  EXPECT_EQ(target.parameters()[1][0].item<float>(), 1.0f);
  target.polyak_from(scaled, 0.5);
  EXPECT_EQ(target.parameters()[1][0].item<float>(), 2.0f);
}

// The gradient with respect to log x is 1 at every step, so each Adam step decreases log x by the
// learning rate, until log x reaches its lower bound.
TEST(LogScalar, StepsInTheLogarithmAndStopsAtItsBound) {
  LogScalar scalar({.initial_log = 0.0, .learning_rate = 0.1, .log_min = -0.25}, {});
  EXPECT_NEAR(scalar.value().item<double>(), 1.0, 1e-7);
  scalar.descend(torch::ones({}));
  EXPECT_NEAR(scalar.value().item<double>(), std::exp(-0.1), 1e-6);
  for (int i = 0; i < 5; ++i) scalar.descend(torch::ones({}));
  EXPECT_NEAR(scalar.value().item<double>(), std::exp(-0.25), 1e-6);
}

}  // namespace
}  // namespace rl_training::test_gaussian
