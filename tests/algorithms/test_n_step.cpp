// Tests rows that span several steps. The sampler supplies the reward and the discount, and every
// target is reward + discount * value. The first row has the reward 1 + 0.99 * 2 and the discount
// 0.99^2. The second row is terminal, so its discount is 0.
#include "rl_training/algorithms/rebrac.h"
#include "rl_training/algorithms/redq.h"
#include "rl_training/algorithms/rlpd.h"
#include "rl_training/algorithms/sac.h"
#include "rl_training/algorithms/td3_bc.h"
#include "rl_training/algorithms/tqc.h"
#include "tests/algorithms/soft_example.h"

namespace rl_training::test_n_step {
namespace {

constexpr double kReward = 2.98, kDiscount = 0.9801, kLastReward = 2;
constexpr double kLogProb = -0.918939;  // log pi of a squashed standard normal at u = 0

void span_two_steps(const Batch& batch) {
  batch.rewards().copy_(torch::tensor({2.98f, 2.0f}));
  batch.discount().copy_(torch::tensor({0.9801f, 0.0f}));
}

double mean_target(double next_value) {
  return (kReward + kDiscount * next_value + kLastReward) / 2;
}

// a' = 0, so Q'_1(1, 0) = 2.5 and Q'_2(1, 0) = 2.
template <class Networks>
void set_targets(Networks& networks) {
  set_parameters(networks.actor_target.network(), {0, 0});
  set_parameters(networks.critics_target.network(), kTargetCritics);
}

TEST(NStep, Td3AndTd3Bc) {
  Td3BcOptions options;
  options.hidden_sizes.clear();
  Td3Networks networks(options, linear_context(), Rng(0));
  set_targets(networks);
  const auto batch = two_rows();
  span_two_steps(batch);
  const auto noise = torch::zeros({2, 1});
  EXPECT_NEAR(metric(td3_critic_loss(networks, batch, noise, Td3Options()), "target_q_mean"),
              mean_target(2), 1e-6);
  EXPECT_NEAR(metric(td3_bc_loss(networks, batch, noise, options), "target_q_mean"), mean_target(2),
              1e-6);
}

// The penalty of the next action, |0 - 0.5|^2, is discounted together with the value.
TEST(NStep, Rebrac) {
  RebracOptions options;
  options.hidden_sizes.clear();
  options.critic_bc_weight = 0.1;
  RebracNetworks networks(options, linear_context(), Rng(0));
  set_targets(networks);
  const auto batch = zero_batch(2, 1, 1, /*next_actions=*/true);
  span_two_steps(batch);
  batch.next_obs().fill_(1);
  batch.next_actions().fill_(0.5);
  batch.next_action_valid().fill_(1);
  EXPECT_NEAR(metric(rebrac_loss(networks, batch, torch::zeros({2, 1}), options), "target_q_mean"),
              mean_target(2 - 0.1 * 0.25), 1e-6);
}

TEST(NStep, SacRedqAndRlpd) {
  RlpdOptions rlpd;
  RedqOptions redq;
  rlpd.num_critics = rlpd.num_min_critics = redq.num_critics = redq.num_min_critics = 2;
  rlpd.critic_layer_norm = false;
  const auto noise = torch::zeros({4, 1});
  const double expected = mean_target(2 - 0.5 * kLogProb);
  for (const auto& design : {SacOptions().design(1), redq.design(1)}) {
    const SoftExample f(redq, design);
    span_two_steps(f.batch);
    const auto critic =
        soft_critic_loss(f.networks, f.batch, noise.narrow(0, 0, 2), {0, 1}, f.alpha, design);
    EXPECT_NEAR(metric(critic, "target_q_mean"), expected, 1e-5);
  }
  const SoftExample f(rlpd, rlpd.design(1));
  span_two_steps(f.batch);
  EXPECT_NEAR(metric(rlpd_loss(f.networks, f.batch, noise, {0, 1}, f.alpha, rlpd), "target_q_mean"),
              expected, 1e-5);
}

// The target uses the lowest two of the quantiles 0, 1, 5 and 7.
TEST(NStep, Tqc) {
  TqcOptions options;
  options.hidden_sizes.clear();
  options.num_critics = options.num_quantiles = 2;
  options.drop_per_critic = 1;
  const TqcNetworks networks(options, linear_context(), Rng(0));
  set_values(networks.actor.parameters()[0], {0, 0, 0, 0});
  set_parameters(networks.critics_target.network(), {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 5, 7});
  const auto batch = two_rows();
  span_two_steps(batch);
  const auto critic =
      tqc_critic_loss(networks, batch, torch::zeros({2, 1}), torch::full({}, 0.5f), options);
  EXPECT_NEAR(metric(critic, "target_q_mean"), mean_target(0.5 - 0.5 * kLogProb), 1e-5);
}

}  // namespace
}  // namespace rl_training::test_n_step
