#include <gtest/gtest.h>

#include "rl_training/algorithms/td3_bc.h"
#include "tests/algorithms/linear_example.h"

namespace rl_training::test_td3_bc {
namespace {

// Linear networks with one-dimensional observations and actions, so that every value can be
// computed by hand.
struct Fixture {
  Td3BcOptions options;
  std::unique_ptr<Td3Networks> networks;
  Batch batch = two_rows();
  torch::Tensor noise = torch::tensor({{3.0f}, {0.5f}});

  Fixture() {
    options.hidden_sizes.clear();
    networks = std::make_unique<Td3Networks>(options, linear_context(), Rng(0));
  }
};

// The next actions are a' = 0 + clip(0.2 * (3, 0.5), 0.5) = (0.5, 0.1).
// The target critics are Q'_1 = 2 s' + a' + 0.5 and Q'_2 = s' - a' + 1. At s' = 1, their minimum is
// min(3, 1.5), so y = (1 + 0.99 * 1.5, 2) = (2.485, 2).
// The online critics are Q_1 = s + a and Q_2 = 2 s - a + 0.1, at s = (1, -1) and a = (0.5, -0.5).
TEST(Td3BcLoss, CriticLossByHand) {
  Fixture f;
  set_parameters(f.networks->actor_target.network(), {0, 0});
  set_parameters(f.networks->critics_target.network(), kTargetCritics);
  set_parameters(f.networks->critics.network(), kOnlineCritics);
  const auto result = td3_critic_loss(*f.networks, f.batch, f.noise, f.options);
  EXPECT_NEAR(metric(result, "target_q_mean"), (2.485 + 2) / 2, 1e-6);
  const double q1 = (0.985 * 0.985 + 3.5 * 3.5) / 2;
  const double q2 = (0.885 * 0.885 + 3.4 * 3.4) / 2;
  EXPECT_NEAR(result.loss.item<double>(), q1 + q2, 1e-5);
  EXPECT_NEAR(metric(result, "critic_loss"), 12.781725, 1e-5);

  // dL/dQ_i = 2 (Q_i - y) / 2, so the gradient with respect to the bias of Q_1 is -0.985 - 3.5.
  result.loss.backward();
  const auto gradient = f.networks->critics.network().parameters().grad();
  EXPECT_NEAR(gradient[2].item<double>(), -0.985 - 3.5, 1e-5);
  EXPECT_NEAR(gradient[5].item<double>(), -0.885 - 3.4, 1e-5);
  EXPECT_FALSE(f.networks->critics_target.network().parameters().grad().defined());
}

// With q_scale = 1: pi = (0.5, 0), a = (0, 0) and Q_1 = (2, -4), so lambda = 2.5 / 3 and
// L = lambda + 0.125.
void set_actor_example(Fixture& f, float q_scale) {
  set_parameters(f.networks->actor.network(), {std::atanh(0.5f), 0});
  set_parameters(f.networks->critics.network(),
                 {5 * q_scale, 2 * q_scale, -4 * q_scale, 100, 100, 100});
  f.batch.obs().copy_(torch::tensor({{1.0f}, {0.0f}}));
  f.batch.actions().zero_();
}

TEST(Td3BcLoss, ActorLossByHand) {
  Fixture f;
  set_actor_example(f, 1);
  const auto result = td3_bc_actor_loss(*f.networks, f.batch, f.options);
  EXPECT_NEAR(metric(result, "bc_lambda"), 0.833333, 1e-6);
  EXPECT_NEAR(metric(result, "bc_loss"), 0.125, 1e-6);
  EXPECT_NEAR(metric(result, "actor_q_mean"), -1.0, 1e-6);
  EXPECT_NEAR(result.loss.item<double>(), 0.958333, 1e-6);

  // dL/dpi = -lambda * 2 / 2 + (pi - a). For the weight and the bias, it is multiplied by the slope
  // of tanh, 1 - pi^2.
  result.loss.backward();
  const auto gradient = f.networks->actor.network().parameters().grad();
  const double first = (-2.5 / 3 + 0.5) * 0.75, second = -2.5 / 3;
  EXPECT_NEAR(gradient[0].item<double>(), first, 1e-5);
  EXPECT_NEAR(gradient[1].item<double>(), first + second, 1e-5);
  EXPECT_FALSE(f.networks->critics.network().parameters().grad().defined());
}

TEST(Td3BcLoss, BothTogetherReportAllMetrics) {
  Fixture f;
  set_actor_example(f, 1);
  const auto result = td3_bc_loss(*f.networks, f.batch, f.noise, f.options);
  EXPECT_EQ(names_of(result), td3_bc_info().metrics);
  EXPECT_NEAR(result.loss.item<double>(),
              metric(result, "critic_loss") + metric(result, "actor_loss"), 1e-3);
}

TEST(Td3BcLoss, VanishingAlphaIsCloning) {
  Fixture f;
  set_actor_example(f, 1);
  f.options.bc_alpha = 1e-8;
  const auto result = td3_bc_actor_loss(*f.networks, f.batch, f.options);
  EXPECT_NEAR(result.loss.item<double>(), 0.125, 1e-6);
}

TEST(Td3BcLoss, DoesNotDependOnTheScaleOfQ) {
  Fixture f;
  set_actor_example(f, 1);
  const double one = td3_bc_actor_loss(*f.networks, f.batch, f.options).loss.item<double>();
  set_actor_example(f, 10);
  const double ten = td3_bc_actor_loss(*f.networks, f.batch, f.options).loss.item<double>();
  EXPECT_NEAR(one, ten, 1e-5);
}

// Without the cloning term and with lambda = 1, the loss is the loss of TD3, -mean Q_1.
TEST(Td3BcLoss, WithoutCloningItIsTd3) {
  Fixture f;
  set_actor_example(f, 1);
  f.batch.actions().copy_(torch::tensor({{0.5f}, {0.0f}}));  // a = pi, so there is no cloning error
  f.options.bc_alpha = 3.0;                                  // equals mean |Q|, so lambda = 1
  const auto result = td3_bc_actor_loss(*f.networks, f.batch, f.options);
  EXPECT_NEAR(result.loss.item<double>(), 1.0, 1e-6);
}

TEST(Td3Bc, ActorAndTargetsWaitForThePolicyDelay) {
  Td3BcOptions options;
  options.hidden_sizes = {8};
  options.policy_delay = 3;
  const auto context = context_of(3, 2);
  Td3Bc algorithm(options, context);
  const auto batch = random_rows(16, 3, 2);
  for (int update = 1; update <= 6; ++update) {
    const auto before = act_once(algorithm, batch.obs()).clone();
    const auto metrics = algorithm.update(batch, 1.0);
    const auto after = act_once(algorithm, batch.obs());
    EXPECT_EQ(torch::equal(before, after), update % 3 != 0) << update;
    EXPECT_EQ(find_metric(metrics, "actor_loss").defined(), update >= 3) << update;
  }
}

}  // namespace
}  // namespace rl_training::test_td3_bc
