#include <gtest/gtest.h>

#include "rl_training/algorithms/crossq.h"
#include "rl_training/models/renorm_mlp.h"
#include "tests/support/memory_state.h"
#include "tests/support/metric_values.h"

namespace rl_training::test_crossq {
namespace {

constexpr int64_t kRows = 12, kObs = 3, kActions = 2;

std::span<float> floats(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

CrossqOptions small_options() {
  CrossqOptions options;
  options.hidden_sizes = {16};
  options.critic_hidden_sizes = {16, 16};
  options.batch_size = kRows;
  return options;
}

AlgorithmContext small_context() {
  AlgorithmContext context;
  context.obs = Space::unbounded(kObs);
  context.action = Space::unit_box(kActions);
  return context;
}

Batch random_batch(uint64_t seed) {
  Batch batch(small_options().request(), Space::unbounded(kObs), Space::unit_box(kActions));
  Rng rng(seed);
  rng.fill_normal(floats(batch.obs()));
  rng.fill_normal(floats(batch.next_obs()));
  rng.fill_uniform(floats(batch.actions()), -1, 1);
  rng.fill_normal(floats(batch.rewards()));
  floats(batch.discount())[0] = 0.0f;
  for (int64_t i = 1; i < kRows; ++i) floats(batch.discount())[i] = 0.99f;
  return batch;
}

torch::Tensor noise(uint64_t seed) {
  auto values = torch::empty({kRows, kActions});
  Rng(seed).fill_normal(floats(values));
  return values;
}

const RenormMlp& network_of(const CriticEnsemble& critics) {
  return dynamic_cast<const RenormMlp&>(critics.network());
}

struct Example {
  CrossqNetworks networks{small_options(), small_context(), Rng(0)};
  Batch batch = random_batch(1);
  torch::Tensor alpha = torch::full({}, 0.5f);
};

// The loss must equal the same loss in plain torch operators: one critic pass over the rows (s, a)
// and (s', a') together, in which only the target is detached.
TEST(CrossqLoss, CriticLossIsOnePassOverBothHalves) {
  Example e, same;
  const auto loss = crossq_critic_loss(e.networks, e.batch, noise(2), e.alpha);
  const auto next = same.networks.actor.sample(e.batch.next_obs(), noise(2));
  const auto obs = torch::cat(std::vector<torch::Tensor>{e.batch.obs(), e.batch.next_obs()});
  const auto actions =
      torch::cat(std::vector<torch::Tensor>{e.batch.actions(), next.actions.detach()});
  const auto q = network_of(same.networks.critics)
                     .forward(obs, actions, {.mode = Mode::train, .twice_differentiable = true})
                     .squeeze(2);
  const auto least = q.detach().narrow(1, kRows, kRows).amin(0);
  const auto y =
      e.batch.rewards() + e.batch.discount() * (least - e.alpha * next.log_prob.detach());
  const auto expected = 0.5 * (q.narrow(1, 0, kRows) - y).square().mean(1).sum();
  EXPECT_NEAR(loss.loss.item<double>(), expected.item<double>(), 1e-5);
  EXPECT_NEAR(loss.target_q_mean.item<double>(), y.mean().item<double>(), 1e-5);

  loss.loss.backward();
  expected.backward();
  const auto gradient = network_of(e.networks.critics).parameters().grad();
  EXPECT_LT(
      (gradient - network_of(same.networks.critics).parameters().grad()).abs().max().item<float>(),
      1e-4f);
  // The actor receives no gradient.
  EXPECT_FALSE(e.networks.actor.parameters()[0].grad().defined());
}

// The batch statistics include the next states. If the next states change, the values of (s, a)
// change too.
TEST(CrossqLoss, NextStatesTakePartInTheStatistics) {
  Example e, other;
  other.batch.next_obs().mul_(3.0);
  for (auto* batch : {&e.batch, &other.batch}) batch->discount().zero_();
  const double here =
      crossq_critic_loss(e.networks, e.batch, noise(2), e.alpha).loss.item<double>();
  const double there =
      crossq_critic_loss(other.networks, other.batch, noise(2), e.alpha).loss.item<double>();
  EXPECT_GT(std::abs(here - there), 1e-4);
}

TEST(CrossqLoss, ActorLossUsesTheCriticsRunningStatistics) {
  Example e, same;
  const auto before = network_of(e.networks.critics).running_mean().clone();
  const auto loss = crossq_actor_loss(e.networks, e.batch, noise(2), e.alpha);
  EXPECT_TRUE(torch::equal(network_of(e.networks.critics).running_mean(), before));

  const auto sample = same.networks.actor.sample(e.batch.obs(), noise(2), Mode::train);
  const auto q = same.networks.critics.values(e.batch.obs(), sample.actions);
  const auto expected = (e.alpha * sample.log_prob - q.amin(0)).mean();
  EXPECT_NEAR(loss.loss.item<double>(), expected.item<double>(), 1e-5);
  EXPECT_NEAR(loss.entropy.item<double>(), -sample.log_prob.mean().item<double>(), 1e-5);

  loss.loss.backward();
  EXPECT_TRUE(e.networks.actor.parameters()[0].grad().defined());
  EXPECT_FALSE(network_of(e.networks.critics).parameters().grad().defined());
}

// Returns the number of training passes that the saved state contains for `network`.
int64_t passes(Crossq& algorithm, const std::string& network) {
  MemoryState state;
  state.save(algorithm);
  int64_t value = -1;
  std::memcpy(&value, state.parts().at(network + ".training_passes").data(), sizeof value);
  return value;
}

TEST(Crossq, ActorAndItsStatisticsMoveEveryThirdUpdate) {
  Crossq algorithm(small_options(), small_context());
  const auto batch = random_batch(1);
  for (int update = 1; update <= 7; ++update) {
    const auto before = act_once(algorithm, batch.obs()).clone();
    const auto metrics = algorithm.update(batch, 1.0);
    EXPECT_EQ(torch::equal(act_once(algorithm, batch.obs()), before), update % 3 != 0) << update;
    EXPECT_EQ(find_metric(metrics, "actor_loss").defined(), update >= 3) << update;
    EXPECT_EQ(passes(algorithm, "critics"), update);
    EXPECT_EQ(passes(algorithm, "actor"), update / 3);
  }
}

// The temperature loss is alpha (H - H_target). Alpha starts at 1, and the first step of Adam
// changes log alpha by the learning rate.
TEST(Crossq, TheTemperatureFollowsTheEntropy) {
  auto options = small_options();
  options.policy_delay = 1;
  options.target_entropy = 100.0;  // the entropy is lower, so alpha increases
  Crossq algorithm(options, small_context());
  const auto metrics = algorithm.update(random_batch(1), 1.0);
  EXPECT_NEAR(metric(metrics, "alpha"), std::exp(1e-3), 1e-6);
  EXPECT_NEAR(metric(metrics, "temperature_loss"), metric(metrics, "entropy") - 100.0, 1e-4);
  options.alpha = "0.3";
  options.target_entropy.reset();
  Crossq fixed(options, small_context());
  EXPECT_NEAR(metric(fixed.update(random_batch(1), 1.0), "alpha"), 0.3, 1e-7);
}

TEST(Crossq, RefusesBatchesOfOneRow) {
  auto options = small_options();
  options.batch_size = 1;
  try {
    options.check();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.place().key, "batch_size");
  }
}

TEST(Crossq, DefaultsAreThePublishedOnes) {
  const CrossqOptions options;
  EXPECT_EQ(options.critic_hidden_sizes, (std::vector<int64_t>{2048, 2048}));
  EXPECT_EQ(options.hidden_sizes, (std::vector<int64_t>{256, 256}));
  EXPECT_EQ(options.policy_delay, 3);
  EXPECT_EQ(options.learning_rate, 1e-3);
  EXPECT_EQ(options.adam_beta1, 0.5);
  EXPECT_EQ(options.environment.learning_starts, 5000);
  EXPECT_EQ(options.renorm.warmup_steps, 100000);
}

}  // namespace
}  // namespace rl_training::test_crossq
