#include <gtest/gtest.h>

#include "rl_training/algorithms/bc.h"
#include "tests/algorithms/linear_example.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_bc {
namespace {

constexpr double kHalfLogTwoPi = 0.918938533;

struct Fixture {
  BcOptions options;
  std::unique_ptr<BcNetworks> networks;
  Batch batch = two_rows();

  explicit Fixture(BcOptions::Policy policy) {
    options.policy = policy;
    options.hidden_sizes.clear();
    networks = std::make_unique<BcNetworks>(options, linear_context(), Rng(0));
    // At s = (1, -1), pi(s) = (tanh(0.4), tanh(-0.2)).
    set_values(networks->actor.parameters()[0], {0.3f, 0.1f});
  }
};

const double kFirst = std::tanh(0.4) - 0.5, kSecond = std::tanh(-0.2) + 0.5;

TEST(BcLoss, DeterministicByHand) {
  Fixture f(BcOptions::Policy::deterministic);
  const auto result = bc_loss(*f.networks, f.batch, f.options);
  EXPECT_NEAR(result.loss.item<double>(), (kFirst * kFirst + kSecond * kSecond) / 2, 1e-6);
  EXPECT_EQ(metric(result, "actor_loss"), metric(result, "bc_loss"));
  result.loss.backward();
  const auto leaves = f.networks->actor.parameters();
  const double g0 = kFirst * (1 - std::pow(std::tanh(0.4), 2));
  const double g1 = kSecond * (1 - std::pow(std::tanh(0.2), 2));
  EXPECT_NEAR(leaves[0].grad()[0].item<double>(), g0 - g1, 1e-6);
  EXPECT_NEAR(leaves[0].grad()[1].item<double>(), g0 + g1, 1e-6);
  EXPECT_EQ(leaves.size(), 1u);  // the standard deviation is not trained
}

TEST(BcLoss, GaussianByHand) {
  Fixture f(BcOptions::Policy::gaussian);
  set_values(f.networks->actor.parameters()[1], {std::log(0.5f)});
  const auto result = bc_loss(*f.networks, f.batch, f.options);
  const double squares = (kFirst * kFirst + kSecond * kSecond) / 2;
  EXPECT_NEAR(result.loss.item<double>(), 0.5 * squares / 0.25 + std::log(0.5) + kHalfLogTwoPi,
              1e-6);
  EXPECT_NEAR(metric(result, "bc_loss"), squares, 1e-6);
  result.loss.backward();
  EXPECT_NEAR(f.networks->actor.parameters()[1].grad()[0].item<double>(), 1 - squares / 0.25, 1e-5);
}

TEST(BcLoss, GradientsEqualPlainTorch) {
  BcOptions options;
  options.policy = BcOptions::Policy::gaussian;
  options.hidden_sizes = {8, 8};
  const auto context = context_of(3, 2);
  const BcNetworks n(options, context, Rng(2));
  const auto batch = random_rows(16, 3, 2);
  const auto leaf = n.actor.parameters()[0];
  const auto plain = -gaussian_log_prob_plain(n.actor.head(batch.obs()), batch.actions()).mean();
  EXPECT_TRUE(torch::allclose(gradient_at(leaf, bc_loss(n, batch, options).loss),
                              gradient_at(leaf, plain), 1e-4, 1e-6));
}

// A demonstrator with a constant action is imitated exactly.
TEST(Bc, LearnsAConstantAction) {
  for (const auto policy : {BcOptions::Policy::deterministic, BcOptions::Policy::gaussian}) {
    BcOptions options;
    options.policy = policy;
    options.hidden_sizes = {8};
    options.learning_rate = 1e-2;
    Bc algorithm(options, context_of(3, 2));
    auto batch = random_rows(32, 3, 2);
    batch.actions().copy_(torch::tensor({0.25f, -0.75f}).expand({32, 2}));
    Metrics metrics;
    for (int i = 0; i < 400; ++i) metrics = algorithm.update(batch, 1.0);
    EXPECT_LT(metric(metrics, "bc_loss"), 1e-3) << options.deterministic();
    EXPECT_EQ(names_of(metrics), bc_info().metrics);
    const auto action = act_once(algorithm, batch.obs()).mean(0);
    EXPECT_NEAR(action[0].item<double>(), 0.25, 0.03) << options.deterministic();
    EXPECT_NEAR(action[1].item<double>(), -0.75, 0.03) << options.deterministic();
  }
}

TEST(Bc, OnlyTheGaussianPolicyExplores) {
  for (const auto policy : {BcOptions::Policy::deterministic, BcOptions::Policy::gaussian}) {
    BcOptions options;
    options.policy = policy;
    options.hidden_sizes = {8};
    Bc algorithm(options, linear_context());
    const auto obs = torch::zeros({10, 1});
    const bool same =
        torch::equal(act_once(algorithm, obs), act_once(algorithm, obs, ActMode::explore));
    EXPECT_EQ(same, options.deterministic());
  }
}

}  // namespace
}  // namespace rl_training::test_bc
