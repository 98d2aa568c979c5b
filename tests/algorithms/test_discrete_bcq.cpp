#include "rl_training/algorithms/discrete_bcq.h"
#include "rl_training/algorithms/dqn.h"
#include "tests/algorithms/discrete_example.h"

namespace rl_training::test_discrete_bcq {
namespace {

DiscreteBcqOptions linear_options(double threshold) {
  DiscreteBcqOptions options;
  options.hidden_sizes = {};
  options.bcq_threshold = threshold;
  return options;
}

// The imitation logits are (2, 1, -1). Divided by the largest probability, the probabilities are 1,
// 0.367879 and 0.049787.
struct Example {
  explicit Example(double threshold)
      : options(linear_options(threshold)), networks(options, choice_context(3), Rng(0)) {
    set_biases(networks.critics, {{-5, -7, 9}});
    set_biases(networks.critics_target, {{1, 3, 2}});
    set_biases(imitation, {{2, 1, -1}});
  }
  DiscreteBcqLoss loss() const {
    return discrete_bcq_loss(networks, imitation, rows_of({1}, 3, 0.5f, 0.9f), options);
  }
  DiscreteBcqOptions options;
  DiscreteQNetworks networks;
  Rng rng{1};
  Mlp imitation{choice_spec(options, choice_context(3)), rng, Compute()};
};

int64_t best_of(const std::vector<float>& values, double threshold) {
  const auto logits = torch::tensor({{2.0f, 1.0f, -1.0f}});
  return likely_values(torch::tensor(values).unsqueeze(0), logits, threshold)
      .argmax(1)
      .item<int64_t>();
}

TEST(DiscreteBcq, OnlyLikelyChoicesCount) {
  EXPECT_EQ(best_of({-5, -7, 9}, 0.3), 0);  // although all likely choices have negative values
  EXPECT_EQ(best_of({-7, -5, 9}, 0.3), 1);
  EXPECT_EQ(best_of({-7, -5, 9}, 0.37), 0);  // 0.367879 is below the threshold
  EXPECT_EQ(best_of({-7, -5, 9}, 0.049), 2);
  EXPECT_EQ(best_of({-7, -5, 9}, 0.999), 0);  // only the most likely choice counts, as in cloning
}

// a' = 0 is the best of the likely choices, so y = 0.5 + 0.9 * 1 = 1.4. At the dataset action,
// Q = -7, and the Huber loss of the error -7 - 1.4 is 7.9.
TEST(DiscreteBcqLoss, ByHand) {
  const auto loss = Example(0.3).loss();
  EXPECT_NEAR(number_of(loss.critic.target_q_mean), 1.4, 1e-6);
  EXPECT_NEAR(number_of(loss.critic.loss), 7.9, 1e-5);
  EXPECT_NEAR(number_of(loss.imitation.likelihood), 1.349012, 1e-5);
  EXPECT_NEAR(number_of(loss.loss), 7.9 + 1.349012 + 0.02, 1e-5);
}

TEST(DiscreteBcqLoss, WithEveryChoiceItIsDoubleDqn) {
  const Example f(1e-6);
  EXPECT_EQ(number_of(f.loss().critic.loss),
            number_of(dqn_loss(f.networks, rows_of({1}, 3, 0.5f, 0.9f), true).loss));
  EXPECT_NEAR(number_of(f.loss().critic.target_q_mean), 0.5 + 0.9 * 2, 1e-6);
}

TEST(DiscreteBcqLoss, EachPartHasItsOwnNetwork) {
  const Example f(0.3);
  const auto loss = f.loss();
  loss.critic.loss.backward();
  EXPECT_FALSE(f.imitation.parameters().grad().defined());
  loss.imitation.loss.backward();
  EXPECT_TRUE(f.imitation.parameters().grad().defined());
}

// The critic and the behaviour model have different initial parameters.
TEST(DiscreteBcq, NetworksAreDrawnApart) {
  DiscreteBcq bcq(linear_options(0.3), choice_context(3));
  class Weights final : public StateVisitor {
   public:
    std::vector<std::vector<float>> weights;

   private:
    void on_array(const std::string& name, DType, std::span<const int64_t> shape,
                  void* data) override {
      if (!name.ends_with("layer0.weight")) return;
      const auto* values = static_cast<const float*>(data);
      weights.emplace_back(values, values + shape[0] * shape[1]);
    }
    void on_text(const std::string&, std::string&) override {}
  } visitor;
  bcq.visit_state(visitor);
  ASSERT_EQ(visitor.weights.size(), 3u);  // critic, target critic, imitation network
  EXPECT_EQ(visitor.weights[0], visitor.weights[1]);
  EXPECT_NE(visitor.weights[0], visitor.weights[2]);
}

}  // namespace
}  // namespace rl_training::test_discrete_bcq
