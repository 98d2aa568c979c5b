#include "rl_training/algorithms/discrete_bc.h"
#include "tests/algorithms/discrete_example.h"

namespace rl_training::test_discrete_bc {
namespace {

// The logits (2, 1, -1) have the log-probabilities -0.349012, -1.349012 and -3.349012. The mean
// square of the logits is 2.
TEST(ImitationLoss, ByHand) {
  const auto logits = torch::tensor({{2.0f, 1.0f, -1.0f}});
  const auto loss = imitation_loss(logits, torch::tensor({int64_t{1}}), 0.01);
  EXPECT_NEAR(number_of(loss.likelihood), 1.349012, 1e-5);
  EXPECT_NEAR(number_of(loss.loss) - number_of(loss.likelihood), 0.02, 1e-6);
}

TEST(ImitationLoss, GradientByHand) {
  const auto logits = torch::tensor({{1.0f, 0.0f, -1.0f}}).set_requires_grad(true);
  imitation_loss(logits, torch::tensor({int64_t{0}}), 0.3).loss.backward();
  const auto expected = torch::tensor({{0.665241f - 1 + 0.2f, 0.244728f, 0.090031f - 0.2f}});
  EXPECT_TRUE(torch::allclose(logits.grad(), expected, 1e-5, 1e-6));
}

TEST(DiscreteBc, LearnsWhatTheDataDid) {
  DiscreteBcOptions options;
  options.hidden_sizes = {};
  options.learning_rate = 0.1;
  options.logit_penalty = 0;
  DiscreteBc bc(options, choice_context(3));
  BatchRequest request = options.request();
  request.rows = 2;
  const Batch batch(request, Space::unbounded(1), Space::discrete(3));
  batch.obs().copy_(torch::tensor({{-1.0f}, {1.0f}}));
  batch.actions().copy_(torch::tensor({int64_t{2}, int64_t{0}}));
  for (int i = 0; i < 200; ++i) bc.update(batch, 1.0);
  EXPECT_TRUE(torch::equal(act_once(bc, batch.obs()), batch.actions()));
  EXPECT_GT(bc.log_density(batch.obs(), batch.actions()).exp().min().item<double>(), 0.9);
  // Exploration samples from the probabilities. After training, it nearly always selects the action
  // of the data.
  const auto many = batch.obs().repeat({100, 1});
  const auto drawn = act_once(bc, many, ActMode::explore);
  EXPECT_GT(drawn.eq(batch.actions().repeat({100})).to(torch::kFloat).mean().item<double>(), 0.9);
}

}  // namespace
}  // namespace rl_training::test_discrete_bc
