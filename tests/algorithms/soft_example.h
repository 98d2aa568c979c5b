#pragma once
#include "rl_training/algorithms/soft_actor_critic.h"
#include "tests/algorithms/linear_example.h"

namespace rl_training {

// Linear networks with one-dimensional observations and actions, so that every value can be
// computed by hand. For every observation, the actor is a standard normal that is squashed by tanh:
// u is the noise, and the action is a = tanh(u).
//   Next states: u = (0, 1), so a' = (0, tanh 1) and log pi = (-0.918939, -0.551377).
//   Target critics: Q'_1 = 2 s' + a' + 0.5 and Q'_2 = s' - a' + 1. At s' = (1, 2), the minima are
//   (2, 2.238406).
//   Critics: Q_1 = s + a and Q_2 = 2 s - a + 0.1. At s = (1, -1) and a = (0.5, -0.5),
//   Q_1 = (1.5, -1.5) and Q_2 = (1.6, -1.4).
struct SoftExample {
  static constexpr double kLogProb[2] = {-0.918939, -0.551377};
  static constexpr double kTanh1 = 0.761594;

  SoftNetworks networks;
  Batch batch = two_rows();
  torch::Tensor noise = torch::tensor({{0.0f}, {1.0f}});
  torch::Tensor alpha = torch::full({}, 0.5f);

  SoftExample(SoftLearnerOptions options, const SoftDesign& design)
      : networks(linear(options), linear_context(), Rng(0), design) {
    set_values(networks.actor.parameters()[0], {0, 0, 0, 0});
    set_parameters(networks.critics_target.network(), kTargetCritics);
    set_parameters(networks.critics.network(), kOnlineCritics);
    set_terminated(batch, {0, 0});
  }

  static SoftLearnerOptions& linear(SoftLearnerOptions& options) {
    options.hidden_sizes.clear();
    return options;
  }

  // The target y of a row, with gamma = 0.99. `least` is the minimum of the target critics.
  static double target(int row, double least, double alpha, bool entropy = true) {
    const double value = least - (entropy ? alpha * kLogProb[row] : 0.0);
    return (row == 0 ? 1.0 : 2.0) + 0.99 * value;
  }
  // The critic loss: sum_i mean (Q_i - y)^2.
  static double squared_errors(double y0, double y1) {
    const auto square = [](double x) { return x * x; };
    return (square(1.5 - y0) + square(-1.5 - y1) + square(1.6 - y0) + square(-1.4 - y1)) / 2;
  }
  // The mean of alpha log pi - Q over the two rows, for the values q0 and q1 of Q.
  static double policy_loss(double alpha, double q0, double q1) {
    return (alpha * kLogProb[0] - q0 + alpha * kLogProb[1] - q1) / 2;
  }
};

constexpr double kLeastTarget[2] = {2.0, 3.0 - SoftExample::kTanh1};

// A batch of random values for whole updates. The values depend only on the seed n and on the
// shape.
inline Batch random_batch(uint64_t n, int64_t rows = 16, int64_t obs_dim = 3,
                          int64_t action_dim = 2) {
  auto batch = zero_batch(rows, obs_dim, action_dim);
  Rng rng(n, "batch");
  rng.fill_normal(floats(batch.obs()));
  rng.fill_normal(floats(batch.next_obs()));
  rng.fill_uniform(floats(batch.actions()), -1, 1);
  rng.fill_normal(floats(batch.rewards()));
  return batch;
}

inline AlgorithmContext small_context(uint64_t seed = 0) { return context_of(3, 2, seed); }

inline void expect_equal_metrics(const Metrics& got, const Metrics& expected) {
  ASSERT_EQ(got.values().size(), expected.values().size());
  for (const auto& [name, value] : expected.values()) {
    ASSERT_EQ(find_metric(got, name).defined(), value.defined()) << name;
    if (!value.defined()) continue;
    EXPECT_EQ(find_metric(got, name).item<float>(), value.item<float>()) << name;
  }
}

}  // namespace rl_training
