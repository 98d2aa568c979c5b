#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "rl_training/algorithms/trpo.h"
#include "tests/algorithms/rollout_example.h"

namespace rl_training::test_trpo {
namespace {

double number_of(const torch::Tensor& value) { return value.item<double>(); }

TrpoOptions linear_options() {
  TrpoOptions options;
  options.hidden_sizes = {};
  options.rollout.normalize_observations = false;
  return options;
}

TEST(ConjugateGradients, IteratesByHand) {
  const auto a = torch::tensor({{4.0f, 1.0f}, {1.0f, 3.0f}}), b = torch::tensor({1.0f, 2.0f});
  const auto product = [&](const torch::Tensor& v) { return a.mv(v); };
  EXPECT_TRUE(torch::allclose(conjugate_gradients(product, b, 1), torch::tensor({0.25f, 0.5f})));
  EXPECT_TRUE(
      torch::allclose(conjugate_gradients(product, b, 2), torch::tensor({0.090909f, 0.636364f})));
  EXPECT_TRUE(
      torch::allclose(conjugate_gradients(product, b, 50), torch::tensor({0.090909f, 0.636364f})));
}

// The policy has the mean 0.5 * s and the standard deviation 1. The rows are s = 1 and 2, with the
// actions 1.5 and 0.5 and the advantages 1 and -1.
struct Example {
  Example() : networks(linear_options(), rollout_context(Space::unit_box(1)), Rng(0)) {
    set_parameters(networks.actor, {0.5f, 0.0f});
    set_values(batch.actions().view({-1}), {1.5f, 0.5f});
    const torch::NoGradGuard no_grad;
    batch.log_probs().copy_(networks.distribution(batch.obs()).log_prob(batch.actions()));
  }
  OnPolicyNetworks networks;
  Batch batch = rollout_batch(Space::unit_box(1), {1, 2}, {1, -1});
};

// The policy's parameters are the weight, the bias and the log standard deviation. The Fisher
// matrix is F = ((2.5, 1.5, 0), (1.5, 1, 0), (0, 0, 2)).
TEST(FisherProduct, ByHand) {
  const Example f;
  const FisherProduct plain(f.networks, f.batch.obs(), 0), damped(f.networks, f.batch.obs(), 0.1);
  EXPECT_TRUE(torch::allclose(plain(torch::tensor({1.0f, 0.0f, 0.0f})),
                              torch::tensor({2.5f, 1.5f, 0.0f}), 1e-5, 1e-6));
  EXPECT_TRUE(torch::allclose(damped(torch::tensor({0.0f, 1.0f, 1.0f})),
                              torch::tensor({1.5f, 1.1f, 2.1f}), 1e-5, 1e-6));
}

// A network with hidden layers, for continuous or discrete actions.
struct Hidden {
  explicit Hidden(const Space& space)
      : networks(hidden_options(), rollout_context(space, 3), Rng(5)) {
    const torch::NoGradGuard no_grad;
    // Ensure that the outputs depend on the state and that the standard deviation is not 1.
    networks.actor.parameters().mul_(1.5).add_(
        draw_normal(rng, networks.actor.parameters().sizes()), 0.2);
    if (networks.log_std.defined()) networks.log_std.add_(draw_normal(rng, {space.size()}), 0.3);
    for (const auto& leaf : networks.policy_parameters()) size += leaf.numel();
  }
  static TrpoOptions hidden_options() {
    TrpoOptions options;
    options.hidden_sizes = {5, 4};
    options.rollout.normalize_observations = false;
    return options;
  }
  torch::Tensor direction() { return draw_normal(rng, {size}); }
  Rng rng{3};
  OnPolicyNetworks networks;
  torch::Tensor obs = draw_normal(rng, {17, 3});
  int64_t size = 0;
};

// Moves the parameters by step * v, computes the gradient of the mean KL divergence from the old
// policy, and moves the parameters back.
torch::Tensor kl_gradient(Hidden& f, const ActionDistribution& old, const torch::Tensor& v,
                          double step) {
  const auto leaves = f.networks.policy_parameters();
  const auto move = [&](double by) {
    const torch::NoGradGuard no_grad;
    int64_t first = 0;
    for (auto leaf : leaves) {
      leaf.add_(v.narrow(0, first, leaf.numel()), by);
      first += leaf.numel();
    }
  };
  move(step);
  const auto kl = f.networks.distribution(f.obs, true).kl_from(old);
  const auto gradient = torch::cat(torch::autograd::grad({kl}, leaves));
  move(-step);
  return gradient;
}

TEST(FisherProduct, EqualsFiniteDifferencesOfTheGradient) {
  for (const auto& space : {Space::unit_box(2), Space::discrete(4)}) {
    Hidden f(space);
    const auto old = f.networks.distribution(f.obs).detached();
    const auto v = f.direction();
    const double step = 5e-3;
    const auto numeric =
        (kl_gradient(f, old, v, step) - kl_gradient(f, old, v, -step)) / (2 * step);
    const auto exact = FisherProduct(f.networks, f.obs, 0)(v);
    EXPECT_LT(number_of((numeric - exact).norm() / exact.norm()), 5e-3) << space.text();
    EXPECT_GT(number_of(exact.norm()), 0.1);
  }
}

// Returns J' M J v / rows. J is the Jacobian of the network's outputs, and M is diag(1 / std^2) for
// continuous actions or diag(p) - p p' for discrete actions. For the log standard deviations, the
// result is 2 v.
torch::Tensor gauss_newton(Hidden& f, const torch::Tensor& v) {
  const auto policy = f.networks.distribution(f.obs, true);
  const auto parameters = f.networks.actor.parameters();
  const auto outputs = f.networks.actor.forward(f.obs, {}, {.twice_differentiable = true})
                           .squeeze(0);  // shape [rows, outputs]
  const auto own = v.narrow(0, 0, parameters.numel());
  auto result = torch::zeros_like(own);
  for (int64_t row = 0; row < outputs.size(0); ++row) {
    std::vector<torch::Tensor> jacobian;
    for (int64_t j = 0; j < outputs.size(1); ++j) {
      jacobian.push_back(torch::autograd::grad({outputs[row][j]}, {parameters}, {}, true)[0]);
    }
    const auto stacked = torch::stack(jacobian);  // shape [outputs, parameters]
    torch::Tensor metric;
    if (policy.discrete()) {
      const auto p = policy.log_probs[row].detach().exp();
      metric = torch::diag(p) - torch::outer(p, p);
    } else {
      metric = torch::diag((-2 * policy.log_std().detach()).exp());
    }
    result += stacked.t().mv(metric.mv(stacked.mv(own)));
  }
  result /= static_cast<double>(outputs.size(0));
  if (policy.discrete()) return result;
  return torch::cat({result, 2 * v.narrow(0, own.numel(), v.numel() - own.numel())});
}

TEST(FisherProduct, EqualsTheGaussNewtonForm) {
  for (const auto& space : {Space::unit_box(2), Space::discrete(4)}) {
    Hidden f(space);
    const auto v = f.direction();
    EXPECT_TRUE(
        torch::allclose(FisherProduct(f.networks, f.obs, 0)(v), gauss_newton(f, v), 1e-3, 1e-5))
        << space.text();
  }
}

TEST(FisherProduct, IsSymmetricAndNotNegative) {
  for (const auto& space : {Space::unit_box(2), Space::discrete(4)}) {
    Hidden f(space);
    const FisherProduct fisher(f.networks, f.obs, 0);
    const auto u = f.direction(), v = f.direction();
    EXPECT_NEAR(number_of(u.dot(fisher(v))), number_of(v.dot(fisher(u))), 1e-3);
    EXPECT_GT(number_of(v.dot(fisher(v))), 0);
  }
}

// The advantages (1, -1) are standardised to +-0.707107. This factor scales the gradient g, but the
// step does not depend on the length of g.
TEST(TrustRegionStep, ByHand) {
  TrpoOptions options = linear_options();
  const Example f;
  const auto leaves = f.networks.policy_parameters();
  const auto step = trust_region_step(f.networks, f.batch, options);
  EXPECT_EQ(number_of(step.scale), 1);
  EXPECT_LT(number_of(step.kl), 0.01);
  EXPECT_GT(number_of(step.kl), 0.008);
  // Solves (F + 0.1) x = g by hand. The gradient is g = 0.707107 (1, 0.75, 0.375); the factor is
  // left out, because it does not affect the step.
  const double gw = 1, gb = 0.75, gl = 0.375, determinant = 2.6 * 1.1 - 2.25;
  const double xw = (1.1 * gw - 1.5 * gb) / determinant, xb = (2.6 * gb - 1.5 * gw) / determinant,
               xl = gl / 2.1;
  const double beta = std::sqrt(2 * 0.01 / (xw * gw + xb * gb + xl * gl));
  EXPECT_NEAR(number_of(f.networks.actor.parameters()[0]), 0.5 + beta * xw, 1e-4);
  EXPECT_NEAR(number_of(f.networks.actor.parameters()[1]), beta * xb, 1e-4);
  EXPECT_NEAR(number_of(f.networks.log_std[0]), beta * xl, 1e-4);
}

// The parameters are set to the result of a step in which the bias is fixed, with g = (1, 0.375)
// and F + 0.1 = diag(2.6, 2.1). The KL divergences in both directions and the objective are
// compared with golden values.
TEST(TrustRegionStep, DivergencesByHand) {
  const Example f;
  const auto old = f.networks.distribution(f.batch.obs()).detached();
  set_parameters(f.networks.actor, {0.580942f, 0.0f});
  set_values(f.networks.log_std, {0.037580f});
  const torch::NoGradGuard no_grad;
  const auto moved = f.networks.distribution(f.batch.obs());
  EXPECT_NEAR(number_of(moved.kl_from(old)), 0.009638, 1e-5);
  EXPECT_NEAR(number_of(old.kl_from(moved)), 0.008974, 1e-5);
  EXPECT_NEAR(number_of(surrogate_objective(moved, f.batch, torch::tensor({1.0f, -1.0f}))),
              0.091269, 1e-5);
}

TEST(TrustRegionStep, ATinyRegionLeavesThePolicyNearlyAsItWas) {
  TrpoOptions options = linear_options();
  options.target_kl = 1e-10;
  const Example f;
  trust_region_step(f.networks, f.batch, options);
  EXPECT_NEAR(number_of(f.networks.actor.parameters()[0]), 0.5, 1e-4);
}

// If no step improves the objective, the parameters are restored bit for bit.
TEST(TrustRegionStep, IsTakenBackWhereNothingIsGained) {
  const Example f;
  TrpoOptions options = linear_options();
  options.line_search_steps = 1;
  options.damping = 0;
  options.target_kl = 50;  // the quadratic model is not valid at this distance
  const auto step = trust_region_step(f.networks, f.batch, options);
  ASSERT_EQ(number_of(step.scale), 0);
  EXPECT_EQ(number_of(f.networks.actor.parameters()[0]), 0.5);
  EXPECT_EQ(number_of(f.networks.log_std[0]), 0);
  EXPECT_EQ(number_of(step.kl), 0);
}

TEST(TrustRegionStep, EqualAdvantagesChangeNothing) {
  const Example f;
  set_values(f.batch.advantages(), {2, 2});
  const auto step = trust_region_step(f.networks, f.batch, linear_options());
  EXPECT_EQ(number_of(step.scale), 0);
  EXPECT_EQ(number_of(f.networks.actor.parameters()[0]), 0.5);
}

// Adam minimises the mean square of V - (A + V_old). After 400 passes over one minibatch, V is
// close to A + V_old.
TEST(Trpo, ValuesApproachTheReturns) {
  auto options = linear_options();
  options.learning_rate = 0.05;
  options.critic_epochs = 400;
  Trpo trpo(options, rollout_context(Space::unit_box(1)));
  const Example f;
  set_values(f.batch.values(), {0.5f, 1.0f});
  trpo.update(f.batch, 1.0);
  EXPECT_TRUE(
      torch::allclose(trpo.state_values(f.batch.obs()), torch::tensor({1.5f, 0.0f}), 0, 0.05));
}

TEST(TrpoOptions, OneUpdateOfAWholeRollout) {
  TrpoOptions options;
  EXPECT_EQ(options.request().rows, 2048);
  EXPECT_EQ(options.phases(4096).front().rollout.updates(), 1);
}

}  // namespace
}  // namespace rl_training::test_trpo
