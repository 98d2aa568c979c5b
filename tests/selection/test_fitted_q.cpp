// Tests fitted Q evaluation with golden values and with tasks whose values are known.
#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/selection/fitted_q.h"
#include "tests/support/memory_state.h"

namespace rl_training {
namespace {

// The critic is Q = w0 + w1 s + w2 a, the policy is pi(s) = tanh(0.5 s), and gamma is 0.9. The rows
// (s, a, r, s', terminated) are (1, 0.5, 1, 2, 0) and (-1, -1, 0.5, 0, 1).
TEST(FittedQ, GoldenTargetLossAndGradient) {
  const auto doubles = torch::kFloat64;
  const auto w = torch::tensor({0.1, 0.2, -0.3}, doubles).set_requires_grad(true);
  const auto old = torch::tensor({0.0, 0.5, 0.25}, doubles);
  const auto q = [](const torch::Tensor& p, const torch::Tensor& s, const torch::Tensor& a) {
    return (p[0] + p[1] * s + p[2] * a).unsqueeze(0);
  };
  const auto s = torch::tensor({1.0, -1.0}, doubles), a = torch::tensor({0.5, -1.0}, doubles);
  const auto next = torch::tensor({2.0, 0.0}, doubles);
  const auto y =
      fitted_q_target(torch::tensor({1.0, 0.5}, doubles), torch::tensor({0.9, 0.0}, doubles),
                      q(old, next, (0.5 * next).tanh()), -1e9, 1e9);
  EXPECT_NEAR(y[0].item<double>(), 2.071359, 1e-6);
  EXPECT_NEAR(y[1].item<double>(), 0.5, 1e-12);
  const auto loss = fitted_q_loss(q(w, s, a), y.unsqueeze(0));
  EXPECT_NEAR(loss.item<double>(), 1.890810, 1e-6);
  loss.backward();
  const double expected[] = {-2.221359, -1.621359, -0.660679};
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(w.grad()[i].item<double>(), expected[i], 1e-6);
}

TEST(FittedQ, TargetIsTheMeanOfTheCriticsInsideTheBounds) {
  const auto y = fitted_q_target(torch::tensor({1.0, 1.0, 1.0}), torch::tensor({0.5, 0.5, 0.0}),
                                 torch::tensor({{2.0, 100.0, 100.0}, {4.0, 100.0, 100.0}}), -3, 9);
  EXPECT_FLOAT_EQ(y[0].item<float>(), 2.5);
  EXPECT_FLOAT_EQ(y[1].item<float>(), 9);
  EXPECT_FLOAT_EQ(y[2].item<float>(), 1);
}

FittedQOptions small_fit(double gamma, int64_t updates) {
  FittedQOptions options;
  options.gamma = gamma;
  options.updates = updates;
  options.batch_size = 32;
  options.critics = 2;
  options.hidden_sizes = {32, 32};
  options.learning_rate = 1e-3;
  options.tau = 0.05;
  return options;
}

// Returns episodes that visit the observations 0, 1, ..., `steps`. Every action is 0.5, and the
// rewards are 1, 2, ..., `steps`, times reward_scale.
TransitionDataset chain(int episodes, int steps, bool terminates, float reward_scale = 1) {
  DatasetBuilder builder(1, 1);
  for (int e = 0; e < episodes; ++e) {
    builder.begin_episode(std::array{0.0f});
    for (int t = 1; t <= steps; ++t) {
      const bool last = t == steps;
      builder.add(std::array{0.5f}, reward_scale * static_cast<float>(t),
                  std::array{static_cast<float>(t)}, last && terminates, last && !terminates);
    }
  }
  return std::move(builder).build();
}

torch::Tensor constant_actions(const TransitionDataset& data, float value) {
  return torch::full({data.rows(), data.action_dim()}, value);
}

double value_at(const FittedQ& fit, int64_t candidate, float obs, float action) {
  return fit.values(candidate, torch::tensor({{obs}}), torch::tensor({{action}}))
      .mean()
      .item<double>();
}

// Runs all updates: first those for the behaviour policy, then those for the candidates.
void run_fit(FittedQ& fit) {
  while (fit.updates_done() < fit.updates_total()) fit.update();
}

TEST(FittedQ, WithoutDiscountItIsRegressionOfTheReward) {
  const auto data = chain(4, 4, true);
  FittedQ fit(data, {constant_actions(data, 0.5f)}, small_fit(0.0, 800), {});
  run_fit(fit);
  for (int t = 0; t < 4; ++t)
    EXPECT_NEAR(value_at(fit, 0, static_cast<float>(t), 0.5f), t + 1, 0.1);
}

// In a deterministic chain, Q of the behaviour policy is the discounted return.
TEST(FittedQ, OwnPolicyHasTheMonteCarloReturn) {
  const auto data = chain(4, 4, true);
  FittedQ fit(data, {constant_actions(data, 0.5f)}, small_fit(0.9, 2000), {});
  run_fit(fit);
  double expected = 0;
  for (int t = 3; t >= 0; --t) {
    expected = t + 1 + 0.9 * expected;
    EXPECT_NEAR(value_at(fit, 0, static_cast<float>(t), 0.5f), expected, 0.15) << t;
  }
  const auto next = constant_actions(data, 0.5f);
  EXPECT_LT(fit.td_error(0, data, next), 0.05);
  EXPECT_GT(fit.td_error(0, chain(4, 4, true, 2), next), 1.0);
}

// The first part fits only the behaviour policy. The second part starts every candidate from this
// fit.
TEST(FittedQ, CandidatesStartFromTheValuesOfTheData) {
  const auto data = chain(4, 4, true);
  EXPECT_TRUE(next_actions_of(data).equal(constant_actions(data, 0.5f)));
  const auto other = constant_actions(data, -0.7f);
  FittedQ fit(data, {other, constant_actions(data, 0.5f)}, small_fit(0.9, 2000), {});
  EXPECT_EQ(fit.share_done(), 0);
  while (fit.updates_done() < 2000) fit.update();
  EXPECT_DOUBLE_EQ(fit.share_done(), 1.0 / 4);
  const auto own = [&] {
    return fit.own_values(torch::zeros({1, 1}), torch::full({1, 1}, 0.5f)).mean().item<double>();
  };
  const double expected = 1 + 0.9 * (2 + 0.9 * (3 + 0.9 * 4));
  EXPECT_NEAR(own(), expected, 0.15);
  fit.update();
  EXPECT_NEAR(value_at(fit, 0, 0.0f, 0.5f), own(), 0.1);
  EXPECT_NEAR(value_at(fit, 1, 0.0f, 0.5f), own(), 0.1);
  // A candidate that acts as the data does retains the value of the behaviour policy.
  run_fit(fit);
  EXPECT_DOUBLE_EQ(fit.share_done(), 1);
  EXPECT_NEAR(own(), expected, 0.1);
  EXPECT_NEAR(value_at(fit, 1, 0.0f, 0.5f), own(), 0.1);
}

// Without layer normalisation, values would grow in proportion to the distance from the data, here
// by a factor of 1000.
TEST(FittedQ, ValuesFarFromTheDataAreBounded) {
  const auto data = chain(4, 4, true);
  FittedQ fit(data, {constant_actions(data, 0.5f)}, small_fit(0.9, 100), {});
  run_fit(fit);
  const double far = value_at(fit, 0, 1e4f, 0.5f);
  EXPECT_NEAR(value_at(fit, 0, 1e7f, 0.5f), far, 0.01 * std::abs(far));
}

TEST(FittedQ, NextActionsStayInsideTheEpisode) {
  DatasetBuilder builder(1, 1);
  for (const float first : {0.1f, 0.5f}) {
    builder.begin_episode(std::array{0.0f});
    builder.add(std::array{first}, 0, std::array{1.0f}, false, false);
    builder.add(std::array{first + 0.1f}, 0, std::array{2.0f}, false, true);
  }
  const auto data = std::move(builder).build();
  EXPECT_TRUE(next_actions_of(data).equal(torch::tensor({{0.2f}, {0.2f}, {0.6f}, {0.6f}})));
}

// Every reward is 1, and every step leads back to its own observation. A truncated episode counts
// as if it continued forever, so its value is 1 / (1 - gamma). The episode at -50 terminates, so
// its value is 1.
TEST(FittedQ, TimeOutsAreNotTheEnd) {
  DatasetBuilder builder(1, 1);
  for (int e = 0; e < 20; ++e) {
    const bool ends = e == 0;
    const float place = ends ? -50.0f : static_cast<float>(e);
    builder.begin_episode(std::array{place});
    builder.add(std::array{0.0f}, 1.0f, std::array{place}, ends, !ends);
  }
  const auto data = std::move(builder).build();
  FittedQ fit(data, {constant_actions(data, 0.0f)}, small_fit(0.9, 1300), {});
  run_fit(fit);
  EXPECT_NEAR(value_at(fit, 0, 10.0f, 0.0f), 10, 0.7);
  EXPECT_NEAR(value_at(fit, 0, -50.0f, 0.0f), 1, 0.7);
}

// Every reward is 1. No episode terminates, so the fit subtracts the mean reward. All remaining
// rewards are 0, so even a short fit is accurate.
TEST(FittedQ, ConstantRewardWithoutEnd) {
  const auto data = [] {
    DatasetBuilder builder(1, 1);
    for (int e = 0; e < 20; ++e) {
      builder.begin_episode(std::array{static_cast<float>(e)});
      builder.add(std::array{0.0f}, 1.0f, std::array{static_cast<float>(e)}, false, true);
    }
    return std::move(builder).build();
  }();
  FittedQ fit(data, {constant_actions(data, 0.0f)}, small_fit(0.99, 50), {});
  run_fit(fit);
  EXPECT_NEAR(value_at(fit, 0, 3.0f, 0.0f), 100, 0.5);
}

// The action +1 has the reward 1, and the action -1 has the reward 0. The rewards do not depend on
// the state.
TEST(FittedQ, TellsABetterPolicyAndScalesWithTheReward) {
  const auto make = [](float scale) {
    DatasetBuilder builder(1, 1);
    Rng rng(2);
    for (int e = 0; e < 40; ++e) {
      builder.begin_episode(std::array{0.0f});
      for (int t = 0; t < 5; ++t) {
        const float action = rng.uniform() < 0.5 ? -1.0f : 1.0f;
        builder.add(std::array{action}, action > 0 ? scale : 0.0f,
                    std::array{static_cast<float>(t)}, t == 4, false);
      }
    }
    return std::move(builder).build();
  };
  const auto values = [&](float scale) {
    const auto data = make(scale);
    FittedQ fit(data, {constant_actions(data, 1), constant_actions(data, -1)}, small_fit(0.9, 1300),
                {});
    run_fit(fit);
    return std::array{value_at(fit, 0, 0, 1), value_at(fit, 1, 0, -1)};
  };
  const auto plain = values(1);
  // The observations of each episode are 0, 0, 1, 2 and 3. The exact value of the better policy at
  // 0 is 4.04, and that of the other policy is 0. The short fit only approximates these values.
  EXPECT_GT(plain[0], 2.5);
  EXPECT_LT(plain[1], 0.5);
  const auto scaled = values(8);
  EXPECT_NEAR(scaled[0], 8 * plain[0], 0.02 * 8 * plain[0]);
  EXPECT_NEAR(scaled[1], 8 * plain[1], 0.3);
}

TEST(FittedQ, ChoicesHaveOneOutputEach) {
  DatasetBuilder builder(Space::unbounded(1), Space::discrete(3));
  Rng rng(4);
  for (int e = 0; e < 200; ++e) {
    builder.begin_episode(std::array{0.0f});
    const auto choice = static_cast<int64_t>(rng.below(3));
    builder.add(std::array{choice}, static_cast<float>(choice), std::array{1.0f}, true, false);
  }
  const auto data = std::move(builder).build();
  FittedQ fit(data, {torch::zeros({data.rows()}, torch::kInt64)}, small_fit(0.9, 800), {});
  run_fit(fit);
  for (int64_t choice = 0; choice < 3; ++choice) {
    const auto q = fit.values(0, torch::zeros({1, 1}), torch::tensor({choice}, torch::kInt64));
    EXPECT_NEAR(q.mean().item<double>(), static_cast<double>(choice), 0.05);
  }
}

// An estimate depends neither on the other candidates nor on the number of threads.
TEST(FittedQ, CandidatesDoNotMixAndThreadsDoNotMatter) {
  const auto data = chain(4, 4, true);
  const auto good = constant_actions(data, 0.5f), other = constant_actions(data, -0.7f);
  FittedQ alone(data, {other}, small_fit(0.9, 40), {});
  ThreadPool pool(3);
  Compute compute;
  compute.pool = &pool;
  FittedQ both(data, {good, other}, small_fit(0.9, 40), compute);
  run_fit(alone);
  run_fit(both);
  EXPECT_EQ(value_at(alone, 0, 1.0f, 0.2f), value_at(both, 1, 1.0f, 0.2f));
  EXPECT_NE(value_at(both, 0, 1.0f, 0.2f), value_at(both, 1, 1.0f, 0.2f));
}

TEST(FittedQ, StateIsAllThereIs) {
  const auto data = chain(4, 4, true);
  const auto next = constant_actions(data, 0.1f);
  FittedQ whole(data, {next}, small_fit(0.9, 30), {});
  run_fit(whole);
  // Stops in the first part, between the parts, and in the second part.
  for (const int64_t stop : {13, 30, 41}) {
    FittedQ first(data, {next}, small_fit(0.9, 30), {}),
        second(data, {next}, small_fit(0.9, 30), {});
    while (first.updates_done() < stop) first.update();
    MemoryState state;
    state.save(first);
    state.restore(second);
    EXPECT_EQ(second.updates_done(), stop);
    run_fit(second);
    EXPECT_EQ(value_at(second, 0, 2.0f, 0.5f), value_at(whole, 0, 2.0f, 0.5f)) << stop;
  }
}

}  // namespace
}  // namespace rl_training
