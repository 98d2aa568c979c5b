#include <gtest/gtest.h>

#include "rl_training/models/backward.h"
#include "rl_training/models/renorm_mlp.h"
#include "tests/support/fake_group.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_renorm_mlp {
namespace {

torch::Tensor normal(uint64_t seed, torch::IntArrayRef shape) {
  auto values = torch::empty(shape);
  Rng(seed).fill_normal({values.data_ptr<float>(), static_cast<size_t>(values.numel())});
  return values;
}

// Returns a batch of four rows with one feature, whose values are 0, 1, 2 and 5. Their mean is 2,
// and their variance is 3.5.
BatchRenorm example(float running_mean, float running_var, Mode mode, bool warm) {
  return {torch::tensor({0.0f, 1.0f, 2.0f, 5.0f}).view({1, 4, 1}),
          torch::ones({1, 1}),
          torch::zeros({1, 1}),
          torch::full({1, 1}, running_mean),
          torch::full({1, 1}, running_var),
          mode,
          warm};
}

void expect_values(const torch::Tensor& y, const std::vector<double>& expected) {
  ASSERT_EQ(y.numel(), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(y.view({-1})[static_cast<int64_t>(i)].item<double>(), expected[i], 2e-6) << i;
  }
}

TEST(BatchRenorm, NormalisesByTheBatchBeforeItIsWarm) {
  const auto work = example(0.5f, 1.0f, Mode::train, false);
  expect_values(batch_renorm(work, {}, nullptr), {-1.068892, -0.534446, 0.0, 1.603338});
  EXPECT_NEAR(work.running_mean.item<double>(), 0.515, 1e-6);
  EXPECT_NEAR(work.running_var.item<double>(), 1.025, 1e-6);
}

TEST(BatchRenorm, CorrectsTowardsTheRunningStatisticsOnceWarm) {
  const auto work = example(0.5f, 1.0f, Mode::train, true);
  expect_values(batch_renorm(work, {}, nullptr), {-0.499786, 0.499358, 1.498502, 4.495934});
  EXPECT_NEAR(work.running_mean.item<double>(), 0.515, 1e-6);
}

TEST(BatchRenorm, BoundsTheCorrection) {
  expect_values(batch_renorm(example(-10.0f, 0.01f, Mode::train, true), {}, nullptr),
                {1.790564, 3.392074, 4.993584, 9.798113});
}

TEST(BatchRenorm, UsesTheRunningStatisticsInEvalMode) {
  const auto work = example(0.5f, 1.0f, Mode::eval, true);
  expect_values(batch_renorm(work, {}, nullptr), {-0.499750, 0.499750, 1.499251, 4.497752});
  EXPECT_EQ(work.running_mean.item<float>(), 0.5f);
  EXPECT_EQ(work.running_var.item<float>(), 1.0f);
}

// The bounds force r = 1 and d = 0. The result is then plain batch normalisation.
TEST(BatchRenorm, WithTheNarrowestBoundsIsBatchNormalisation) {
  const auto warm = example(0.5f, 1.0f, Mode::train, true);
  expect_values(batch_renorm(warm, {.r_max = 1.0, .d_max = 0.0}, nullptr),
                {-1.068892, -0.534446, 0.0, 1.603338});
}

// Compares values, statistics and gradients of the fused node with those of torch operators. There
// are 70 features, more than the 64 of one unit of work. One feature is constant.
void compare_with_plain(Mode mode, bool warm) {
  const int64_t members = 2, rows = 9, features = 70;
  auto x = normal(1, {members, rows, features}) * 2 + 1;
  x.select(2, 3).fill_(0.25f);
  x.set_requires_grad(true);
  const auto gain = normal(2, {members, features}).set_requires_grad(true);
  const auto shift = normal(3, {members, features}).set_requires_grad(true);
  const auto mean = normal(4, {members, features});
  const auto var = normal(5, {members, features}).square() + 0.1;
  const auto weights = normal(6, {members, rows, features});
  const auto result = [&](bool fused) {
    const BatchRenorm work = {x, gain, shift, mean.clone(), var.clone(), mode, warm};
    const auto y = fused ? batch_renorm(work, {}, nullptr) : batch_renorm_plain(work, {});
    run_backward((y * weights + y.square()).sum());
    std::vector<torch::Tensor> all = {y.detach(), work.running_mean, work.running_var};
    for (const auto& leaf : {x, gain, shift}) {
      all.push_back(leaf.grad().clone());
      leaf.mutable_grad() = torch::Tensor();
    }
    return all;
  };
  const auto fused = result(true), plain = result(false);
  for (size_t i = 0; i < fused.size(); ++i) {
    EXPECT_LT((fused[i] - plain[i]).abs().max().item<float>(), 2e-3f) << i;
    EXPECT_TRUE(torch::allclose(fused[i], plain[i], 1e-4, 1e-4)) << i;
  }
}

TEST(BatchRenorm, FusedAndPlainAgree) {
  compare_with_plain(Mode::train, false);
  compare_with_plain(Mode::train, true);
  compare_with_plain(Mode::eval, true);
}

RenormMlpSpec small_spec() {
  RenormMlpSpec spec;
  spec.inputs = 4;
  spec.outputs = 3;
  spec.hidden_sizes = {8, 6};
  spec.members = 2;
  return spec;
}

RenormMlp small_network(const Compute& compute = {}) {
  Rng rng(7);
  return {small_spec(), rng, compute};
}

TEST(RenormMlp, HasAPlainPathForGradientsOfGradients) {
  const auto network = small_network(), same = small_network();
  const auto x = normal(1, {10, 3}), side = normal(2, {10, 1});
  const auto fused = network.forward(x, side, {.mode = Mode::train});
  const auto plain = same.forward(x, side, {.mode = Mode::train, .twice_differentiable = true});
  EXPECT_EQ(fused.sizes(), (torch::IntArrayRef{2, 10, 3}));
  EXPECT_LT((fused - plain).abs().max().item<float>(), 1e-5f);
  EXPECT_LT((network.running_var() - same.running_var()).abs().max().item<float>(), 1e-6f);
  run_backward(fused.square().sum());
  plain.square().sum().backward();
  EXPECT_LT((network.parameters().grad() - same.parameters().grad()).abs().max().item<float>(),
            1e-3f);
}

TEST(RenormMlp, OnlyTrainingPassesMoveTheStatistics) {
  const auto network = small_network();
  const auto x = normal(1, {10, 4});
  const auto before = network.running_mean().clone();
  network.forward(x);
  network.forward_member(1, x);
  EXPECT_TRUE(torch::equal(network.running_mean(), before));
  EXPECT_EQ(network.training_passes(), 0);
  network.forward(x, {}, {.mode = Mode::train});
  EXPECT_FALSE(torch::equal(network.running_mean(), before));
  EXPECT_EQ(network.training_passes(), 1);
}

// Normalisation with batch statistics removes a constant shift of the inputs.
TEST(RenormMlp, TrainingPassesDoNotSeeAShiftOfTheInputs) {
  const auto network = small_network();
  const auto x = normal(1, {50, 4});
  const auto y = network.forward(x, {}, {.mode = Mode::train});
  const auto shifted = network.forward(x + 3.0, {}, {.mode = Mode::train});
  EXPECT_LT((y - shifted).abs().max().item<float>(), 1e-4f);
}

// After the warm-up, if r and d are within their bounds, training and evaluation passes compute
// nearly the same values.
TEST(RenormMlp, TrainingAndEvalPassesMeetAfterTheWarmUp) {
  auto spec = small_spec();
  spec.renorm.warmup_steps = 200;
  spec.renorm.momentum = 0.9;
  Rng rng(7);
  const RenormMlp network(spec, rng, {});
  const auto x = normal(1, {200, 4});
  const torch::NoGradGuard no_grad;
  for (int i = 0; i < 200; ++i) network.forward(x, {}, {.mode = Mode::train});
  const auto eval = network.forward(x);
  const auto train = network.forward(x, {}, {.mode = Mode::train});
  EXPECT_LT((eval - train).abs().max().item<float>(), 1e-2f);
}

TEST(RenormMlp, FrozenPassesReachTheInputsOnly) {
  const auto network = small_network();
  const auto x = normal(1, {10, 4}).set_requires_grad(true);
  run_backward(network.forward(x, {}, {.use = Use::frozen}).square().sum());
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(network.parameters().grad().defined());
}

TEST(RenormMlp, MembersAreSeparateNetworks) {
  const auto network = small_network();
  const auto x = normal(1, {10, 4});
  network.forward(normal(2, {30, 4}), {}, {.mode = Mode::train});
  const auto all = network.forward(x);
  EXPECT_FALSE(torch::equal(all[0], all[1]));
  EXPECT_TRUE(torch::equal(network.forward_member(1, x), all[1]));
  EXPECT_TRUE(torch::equal(network.forward(x, {}, {.members = 1})[0], all[0]));
}

TEST(RenormMlp, AveragingLeavesTheStatisticsAlone) {
  auto network = small_network();
  const auto other = small_network();
  other.forward(normal(1, {10, 4}), {}, {.mode = Mode::train});
  const auto before = network.running_mean().clone();
  network.polyak_from(other, 1.0);
  EXPECT_TRUE(torch::equal(network.running_mean(), before));
}

TEST(RenormMlp, ItsStateIsComplete) {
  auto network = small_network();
  for (int i = 0; i < 3; ++i) network.forward(normal(1, {10, 4}), {}, {.mode = Mode::train});
  MemoryState saved;
  saved.save(network);
  Rng rng(99);
  RenormMlp loaded(small_spec(), rng, {});
  saved.restore(loaded);
  EXPECT_EQ(loaded.training_passes(), 3);
  const auto x = normal(2, {10, 4});
  EXPECT_TRUE(torch::equal(loaded.forward(x), network.forward(x)));
  auto copy = loaded.clone();
  loaded.forward(x, {}, {.mode = Mode::train});
  EXPECT_TRUE(torch::equal(copy->forward(x, {}, {}), network.forward(x)));
}

TEST(RenormMlp, TheNumberOfThreadsChangesNoBit) {
  torch::Tensor first, first_gradient;
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    auto spec = small_spec();
    spec.hidden_sizes = {100, 100};
    Rng rng(7);
    const RenormMlp network(spec, rng, {&pool});
    run_backward(network.forward(normal(1, {300, 4}), {}, {.mode = Mode::train}).square().sum());
    if (threads == 1) first = network.running_var().clone();
    if (threads == 1) first_gradient = network.parameters().grad().clone();
    EXPECT_TRUE(torch::equal(network.running_var(), first));
    EXPECT_TRUE(torch::equal(network.parameters().grad(), first_gradient));
  }
}

// Each process updates its running statistics with its own rows. Averaging makes the statistics
// equal in all processes.
TEST(RenormMlp, AveragesRunningStatisticsOverProcesses) {
  FakeGroup group(2);
  group.mean = [](size_t at, float mine) { return mine + static_cast<float>(at); };
  RenormMlpSpec spec;
  spec.inputs = 2;
  spec.outputs = 1;
  spec.hidden_sizes = {3};
  Rng rng(1), same(1);
  const RenormMlp network(spec, rng, {.processes = &group}), alone(spec, same, {});
  const auto x = normal(2, {8, 2});
  network.forward(x, {}, {.mode = Mode::eval});
  EXPECT_TRUE(group.messages.empty());
  network.forward(x, {}, {.mode = Mode::train});
  alone.forward(x, {}, {.mode = Mode::train});
  EXPECT_EQ(group.messages, std::vector<size_t>{2 * 5});  // means and variances of 2 + 3 features
  const auto order = torch::arange(10, torch::kFloat);
  EXPECT_TRUE(torch::equal(network.running_mean().view(-1),
                           alone.running_mean().view(-1) + order.narrow(0, 0, 5)));
  EXPECT_TRUE(torch::equal(network.running_var().view(-1),
                           alone.running_var().view(-1) + order.narrow(0, 5, 5)));
}

}  // namespace
}  // namespace rl_training::test_renorm_mlp
