#include <cmath>

#include "rl_training/algorithms/discrete_cql.h"
#include "rl_training/algorithms/dqn.h"
#include "tests/algorithms/discrete_example.h"

namespace rl_training::test_discrete_cql {
namespace {

struct Example {
  explicit Example(const std::vector<float>& values)
      : networks(linear_options(), choice_context(3), Rng(0)) {
    set_biases(networks.critics, {values});
    set_biases(networks.critics_target, {{1, 3, 2}});
  }
  static DiscreteCqlOptions linear_options() {
    DiscreteCqlOptions options;
    options.hidden_sizes = {};
    return options;
  }
  DiscreteQNetworks networks;
};

// Q = 1 at the dataset action, so the penalty is log(e^1 + e^2 + e^0) - 1. The target of Double DQN
// is 0.5 + 0.9 * 3 = 3.2, and the Huber loss of the error 1 - 3.2 is 1.7.
TEST(DiscreteCqlLoss, ByHand) {
  const Example f({1, 2, 0});
  const auto loss = discrete_cql_loss(f.networks, rows_of({0}, 3, 0.5f, 0.9f), 2.0);
  EXPECT_NEAR(number_of(loss.target_q_mean), 3.2, 1e-6);
  EXPECT_NEAR(number_of(loss.cql_diff), 1.407606, 1e-6);
  EXPECT_NEAR(number_of(loss.loss), 1.7 + 2 * 1.407606, 1e-5);
}

// The derivative of cql_diff is softmax(Q) - 1[a]. The Huber loss adds its slope of -1 at the
// dataset action.
TEST(DiscreteCqlLoss, GradientByHand) {
  const Example f({1, 2, 0});
  discrete_cql_loss(f.networks, rows_of({0}, 3, 0.5f, 0.9f), 1.0).loss.backward();
  EXPECT_TRUE(torch::allclose(bias_gradient(f.networks.critics, 0),
                              torch::tensor({-2.0f + 0.244728f, 0.665241f, 0.090031f}), 1e-5));
}

TEST(DiscreteCqlLoss, WithoutItsPenaltyItIsDoubleDqn) {
  const Example f({1, 2, 0});
  const auto batch = rows_of({0, 2}, 3, 0.5f, 0.9f);
  EXPECT_EQ(number_of(discrete_cql_loss(f.networks, batch, 0).loss),
            number_of(dqn_loss(f.networks, batch, true).loss));
}

TEST(DiscreteCqlLoss, EqualValuesHaveThePenaltyLogN) {
  const Example f({5, 5, 5});
  EXPECT_NEAR(number_of(discrete_cql_loss(f.networks, rows_of({1}, 3), 1).cql_diff), std::log(3),
              1e-6);
}

}  // namespace
}  // namespace rl_training::test_discrete_cql
