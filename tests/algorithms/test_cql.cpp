#include <gtest/gtest.h>

#include "rl_training/algorithms/cql.h"
#include "tests/algorithms/linear_example.h"

namespace rl_training::test_cql {
namespace {

struct Fixture {
  CqlOptions options;
  AlgorithmContext context;
  std::unique_ptr<CqlNetworks> networks;
  Batch batch;
  torch::Tensor one = torch::ones({});

  explicit Fixture(int64_t action_dim, int64_t rows = 2,
                   const std::vector<int64_t>& hidden_sizes = {})
      : context(context_of(1, action_dim)), batch(zero_batch(rows, 1, action_dim)) {
    options.hidden_sizes = hidden_sizes;
    options.cql_alpha = 2;
    networks = std::make_unique<CqlNetworks>(options, context, Rng(0));
  }
  CqlCriticLoss critic_loss(const CqlCandidates& candidates) const {
    return cql_critic_loss(*networks, batch, candidates, one, options);
  }
  void fill_at_random() {
    Rng rng(7);
    for (const auto* part : {&batch.obs(), &batch.next_obs(), &batch.rewards()}) {
      rng.fill_normal(floats(*part));
    }
    rng.fill_uniform(floats(batch.actions()), -1, 1);
  }
  CqlNoise noise(int64_t n, int64_t target_each = 1) const {
    Rng rng(9);
    const int64_t rows = batch.obs().size(0), a = context.action_dim();
    CqlNoise noise = {draw_normal(rng, {rows * target_each, a}), draw_normal(rng, {rows * n, a}),
                      draw_normal(rng, {rows * n, a}), torch::empty({rows * n, a})};
    rng.fill_uniform(floats(noise.uniform), -1, 1);
    return noise;
  }
};

// Q is constant, and the only candidates are n = 10 uniform actions with A = 6 dimensions. cql_diff
// is therefore log n + A log 2.
TEST(CqlLoss, GoldenDifferenceOfAConstantCritic) {
  Fixture f(6);
  set_parameters(f.networks->critics.network(), {0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, -8});
  const CqlCandidates candidates = {torch::zeros({2, 6}), torch::rand({2 * 11, 6}),
                                    torch::full({2, 10}, -6 * std::log(2.0))};
  EXPECT_NEAR(metric(f.critic_loss(candidates), "cql_diff"), 6.461468, 1e-5);
  f.options.cql_temperature = 0.5;  // T log (n exp(x / T)) = T log n + x
  EXPECT_NEAR(metric(f.critic_loss(candidates), "cql_diff"),
              0.5 * std::log(10.0) + 6 * std::log(2.0), 1e-5);
}

// Q_1 = s + a, Q_2 = 2 a, Q'_1 = a' + 1 and Q'_2 = 3 - a'. There are two rows with three sampled
// actions each.
struct Hand : Fixture {
  CqlCandidates candidates;
  // y = 1 + 0.99 min(0.5 + 1, 3 - 0.5) = 2.485 in the first row, and y = 2 in the second, which is
  // terminal.
  double y[2] = {2.485, 2.0};
  double diff[2][2];  // indices: critic, row

  Hand() : Fixture(1) {
    set_parameters(networks->critics.network(), {1, 1, 0, 0, 2, 0});
    set_parameters(networks->critics_target.network(), {0, 1, 1, 0, -1, 3});
    batch.obs().copy_(torch::tensor({{1.0f}, {-1.0f}}));
    batch.actions().copy_(torch::tensor({{0.5f}, {-0.5f}}));
    batch.rewards().copy_(torch::tensor({1.0f, 2.0f}));
    set_terminated(batch, {0, 1});
    candidates = {
        torch::tensor({{0.5f}, {-0.5f}}),
        torch::tensor({{0.5f}, {0.1f}, {0.2f}, {-0.3f}, {-0.5f}, {0.9f}, {-0.8f}, {0.4f}}),
        torch::tensor({{-0.7f, 0.3f, -1.0f}, {-0.7f, 0.5f, 1.5f}})};
    const double s[2] = {1, -1}, a[2] = {0.5, -0.5};
    const double c[2][3] = {{0.1, 0.2, -0.3}, {0.9, -0.8, 0.4}};
    const double density[2][3] = {{-0.7, 0.3, -1.0}, {-0.7, 0.5, 1.5}};
    for (int row = 0; row < 2; ++row) {
      double sum[2] = {0, 0};
      for (int i = 0; i < 3; ++i) {
        sum[0] += std::exp(s[row] + c[row][i] - density[row][i]);
        sum[1] += std::exp(2 * c[row][i] - density[row][i]);
      }
      diff[0][row] = std::log(sum[0]) - (s[row] + a[row]);
      diff[1][row] = std::log(sum[1]) - 2 * a[row];
    }
  }
  // Q_1 = (1.5, -1.5) and Q_2 = (1, -1).
  double td_loss() const {
    return (0.985 * 0.985 + 3.5 * 3.5) / 2 + (1.485 * 1.485 + 3.0 * 3.0) / 2;
  }
};

TEST(CqlLoss, CriticLossByHand) {
  const Hand f;
  const auto result = f.critic_loss(f.candidates);
  EXPECT_NEAR(metric(result, "target_q_mean"), (2.485 + 2) / 2, 1e-6);
  EXPECT_NEAR(metric(result, "td_loss"), f.td_loss(), 1e-5);
  const double first = (f.diff[0][0] + f.diff[0][1]) / 2,
               second = (f.diff[1][0] + f.diff[1][1]) / 2;
  EXPECT_NEAR(metric(result, "cql_diff"), (first + second) / 2, 1e-5);
  EXPECT_NEAR(metric(result, "data_q_mean"), 0.0, 1e-6);
  EXPECT_NEAR(result.loss.item<double>(), f.td_loss() + 2 * (first + second), 1e-4);
  // A bias shifts both parts of the conservative term by the same amount, so this term has no
  // gradient with respect to the biases.
  result.loss.backward();
  const auto gradient = f.networks->critics.network().parameters().grad();
  EXPECT_NEAR(gradient[2].item<double>(), -0.985 - 3.5, 1e-5);
  EXPECT_NEAR(gradient[5].item<double>(), -1.485 - 3.0, 1e-5);
  EXPECT_FALSE(f.networks->critics_target.network().parameters().grad().defined());
}

TEST(CqlLoss, WithoutWeightItIsSacWithoutEntropyBackup) {
  Hand f;
  f.options.cql_alpha = 0;
  EXPECT_NEAR(f.critic_loss(f.candidates).loss.item<double>(), f.td_loss(), 1e-5);
}

TEST(CqlLoss, RowsAreClippedBeforeTheMean) {
  Hand f;
  f.options.clip_diff_max = 1.0;
  f.options.clip_diff_min = 0.5;
  double expected = 0;
  for (const auto& critic : f.diff) {
    for (const double d : critic) expected += std::min(std::max(d, 0.5), 1.0) / 4;
  }
  EXPECT_GT(f.diff[0][1], 1.0);  // at least one value is clipped
  EXPECT_NEAR(metric(f.critic_loss(f.candidates), "cql_diff"), expected, 1e-5);
}

TEST(CqlLoss, LagrangeScalesTheExcessOverTheGap) {
  Hand f;
  f.options.lagrange_gap = 0.3;
  const auto result =
      cql_critic_loss(*f.networks, f.batch, f.candidates, torch::full({}, 3.0), f.options);
  const double excess = metric(result, "cql_diff") - 0.3;
  EXPECT_NEAR(result.loss.item<double>(), f.td_loss() + 3.0 * 2.0 * 2 * excess, 1e-4);
}

// The minima of the target critics at the three next actions -0.5, 0 and 2 are min(0.5, 3.5),
// min(1, 3) and min(3, 1). The largest of these minima is 1.
TEST(CqlLoss, MaxTargetBackupTakesTheBestOfTheSmallest) {
  Hand f;
  f.candidates.target_actions = torch::tensor({{-0.5f}, {0.0f}, {2.0f}, {0.0f}, {0.0f}, {0.0f}});
  EXPECT_NEAR(metric(f.critic_loss(f.candidates), "target_q_mean"), (1 + 0.99 * 1.0 + 2) / 2, 1e-6);
}

// Q depends only on the state. All candidates of a row, including those sampled at s', must
// therefore have the value Q(s) of the row.
TEST(CqlLoss, EveryCandidateIsJudgedAtItsOwnState) {
  Fixture f(2, 5);
  f.fill_at_random();
  f.batch.next_obs().fill_(1000);
  set_parameters(f.networks->critics.network(), {10, 0, 0, 1, 10, 0, 0, 1});
  const auto candidates = cql_candidates(*f.networks, f.batch, f.noise(4));
  const auto expected = torch::logsumexp(-candidates.log_density, 1).mean().item<double>();
  EXPECT_NEAR(metric(f.critic_loss(candidates), "cql_diff"), expected, 1e-3);
}

TEST(CqlCandidates, AreTheDatasUniformOnesAndThePolicysWithTheirDensities) {
  Fixture f(2, 5, {8});
  f.fill_at_random();
  const int64_t n = 3;
  const auto noise = f.noise(n);
  const auto candidates = cql_candidates(*f.networks, f.batch, noise);
  ASSERT_EQ(candidates.actions.sizes(), (torch::IntArrayRef{5 * (1 + 3 * n), 2}));
  ASSERT_EQ(candidates.log_density.sizes(), (torch::IntArrayRef{5, 3 * n}));
  EXPECT_FALSE(candidates.actions.requires_grad());
  EXPECT_FALSE(candidates.log_density.requires_grad());
  const auto actions = candidates.actions.view({5, -1, 2});
  EXPECT_TRUE(torch::equal(actions.select(1, 0), f.batch.actions()));
  EXPECT_TRUE(torch::equal(actions.narrow(1, 1, n).reshape({-1, 2}), noise.uniform));
  const torch::NoGradGuard no_grad;
  const auto next = gaussian_sample_plain(f.networks->actor.head(f.batch.next_obs()), noise.next);
  const auto now = gaussian_sample_plain(f.networks->actor.head(f.batch.obs()), noise.now);
  EXPECT_TRUE(torch::allclose(actions.narrow(1, 1 + n, n).reshape({-1, 2}), next.actions));
  EXPECT_TRUE(torch::allclose(actions.narrow(1, 1 + 2 * n, n).reshape({-1, 2}), now.actions));
  const auto& density = candidates.log_density;
  EXPECT_NEAR(density[0][0].item<double>(), -2 * std::log(2.0), 1e-6);
  EXPECT_TRUE(torch::allclose(density.narrow(1, n, n).reshape({-1}), next.log_prob, 1e-4, 1e-4));
  EXPECT_TRUE(torch::allclose(density.narrow(1, 2 * n, n).reshape({-1}), now.log_prob, 1e-4, 1e-4));
}

// In the two rows, the mean of the policy before tanh is (0.5, 0). The noise is 0, so the action is
// b = tanh(mean). The log std is -1: the raw value 0, scaled by 1 and shifted by -1. Therefore
// log p = 1 - log sqrt(2 pi) - log(1 - b^2). The critics are Q_1 = 2 b and Q_2 = 3 b - 0.2.
TEST(CqlLoss, ActorLossByHand) {
  Fixture f(1);
  f.options.hidden_sizes = {};
  {
    // The values are the weights, of shape [1, 2], and the two biases, so mean = 0.5 s and the raw
    // log std is 0.
    const torch::NoGradGuard no_grad;
    f.networks->actor.parameters()[0].copy_(torch::tensor({0.5f, 0.0f, 0.0f, 0.0f}));
  }
  set_parameters(f.networks->critics.network(), {0, 2, 0, 0, 3, -0.2f});
  f.batch.obs().copy_(torch::tensor({{1.0f}, {0.0f}}));
  const auto result =
      cql_actor_loss(*f.networks, f.batch, torch::zeros({2, 1}), torch::full({}, 0.3));
  const double b = std::tanh(0.5);
  const double log_prob = 1 - 0.918938533 - std::log(1 - b * b) / 2;
  EXPECT_NEAR(metric(result, "entropy"), -log_prob, 1e-6);
  EXPECT_NEAR(result.loss.item<double>(), 0.3 * log_prob - (2 * b - 0.2) / 2, 1e-6);

  // The derivative with respect to the mean of row 0 is (0.3 * 2 b - 2 (1 - b^2)) / 2. Since s = 1
  // in this row and s = 0 in the other, it is also the gradient with respect to the weight.
  result.loss.backward();
  const auto gradient = f.networks->actor.parameters()[0].grad();
  EXPECT_NEAR(gradient[0].item<double>(), (0.6 * b - 2 * (1 - b * b)) / 2, 1e-5);
  // The derivative of log p with respect to log std is -1 in each row. The loss contains the mean
  // of alpha log p with alpha = 0.3, so the gradient with respect to the offset of log std is -0.3.
  EXPECT_NEAR(f.networks->actor.parameters()[1].grad()[1].item<double>(), -0.3, 1e-6);
  EXPECT_FALSE(f.networks->critics.network().parameters().grad().defined());
}

TEST(CqlLoss, CriticLossDoesNotReachTheActor) {
  Fixture f(2, 5, {8});
  f.fill_at_random();
  f.critic_loss(cql_candidates(*f.networks, f.batch, f.noise(3))).loss.backward();
  for (const auto& leaf : f.networks->actor.parameters()) EXPECT_FALSE(leaf.grad().defined());
}

// Critics with hidden layers. The gradients must equal those of the same loss in plain torch
// operators, which evaluates every sampled action in a separate pass.
TEST(CqlLoss, GradientsEqualPlainTorch) {
  Fixture f(3, 6, {16, 16});
  f.fill_at_random();
  f.options.cql_temperature = 0.7;
  f.options.clip_diff_max = 6.0;
  const int64_t n = 4;
  const auto candidates = cql_candidates(*f.networks, f.batch, f.noise(n));
  const auto& critics = f.networks->critics.network();
  f.critic_loss(candidates).loss.backward();
  const auto gradient = critics.parameters().grad().clone();
  critics.parameters().mutable_grad() = torch::Tensor();

  torch::Tensor y;
  {
    const torch::NoGradGuard no_grad;
    const auto q =
        plain(f.networks->critics_target.network(), f.batch.next_obs(), candidates.target_actions)
            .squeeze(2);
    y = f.batch.rewards() + 0.99 * (1 - f.batch.terminated()) * torch::min(q[0], q[1]);
  }
  const auto data = plain(critics, f.batch.obs(), f.batch.actions()).squeeze(2);
  const auto actions = candidates.actions.view({6, 1 + 3 * n, 3});
  std::vector<torch::Tensor> parts;
  for (int64_t i = 0; i < 3 * n; ++i) {
    const auto q = plain(critics, f.batch.obs(), actions.select(1, 1 + i)).squeeze(2);
    parts.push_back((q - candidates.log_density.select(1, i)) / 0.7);
  }
  const auto diff = 0.7 * torch::logsumexp(torch::stack(parts), 0) - data;
  auto loss = 2.0 * diff.clamp_max(6.0).mean(1).sum();
  for (int i = 0; i < 2; ++i) loss = loss + torch::mse_loss(data[i], y);
  loss.backward();
  EXPECT_TRUE(torch::allclose(gradient, critics.parameters().grad(), 1e-4, 1e-5));
}

TEST(CqlNetworks, StartAsTheOptionsSay) {
  Fixture f(2, 2, {32});
  const auto& layout = dynamic_cast<const Mlp&>(f.networks->critics.network()).layout();
  const auto numbers = f.networks->critics.network().parameters().detach();
  const auto& hidden = layout.layers[0];
  const auto w = numbers.narrow(0, hidden.weight, hidden.inputs * hidden.outputs)
                     .view({hidden.inputs, hidden.outputs});
  EXPECT_TRUE(torch::allclose(w.mm(w.t()), 2 * torch::eye(hidden.inputs), 1e-4, 1e-4));
  EXPECT_EQ(numbers.narrow(0, hidden.bias, hidden.outputs).abs().max().item<float>(), 0.0f);
  const auto& head = layout.layers[1];
  EXPECT_NEAR(numbers.narrow(0, head.weight, head.inputs).norm().item<double>(), 0.01, 1e-6);
}

// Creates an algorithm with one-dimensional observations and small networks.
std::unique_ptr<Cql> make_cql(CqlOptions options) {
  options.hidden_sizes = {8};
  options.n_action_samples = 2;
  const auto context = context_of(1, 2);
  return std::make_unique<Cql>(options, context);
}

// The actor loss uses the critics before their step. The learning rate of the critics therefore
// has no effect on the first actor step.
TEST(Cql, ActorStepSeesTheOldCritics) {
  Fixture f(2, 16);
  f.fill_at_random();
  CqlOptions options;
  options.actor_learning_rate = 1e-2;
  const auto slow = make_cql(options);
  options.critic_learning_rate = 1.0;
  const auto fast = make_cql(options);
  const auto actions = [&](Cql& algorithm) {
    algorithm.update(f.batch, 1.0);
    return act_once(algorithm, f.batch.obs()).clone();
  };
  EXPECT_TRUE(torch::equal(actions(*slow), actions(*fast)));
  EXPECT_FALSE(torch::equal(actions(*slow), actions(*fast)));  // the second updates differ
}

// An untrained policy, whose log std is near -1 in two dimensions, has an entropy of about 0.6.
// This is above the default target of -2 and below the target of 5.
TEST(Cql, TemperatureFollowsTheEntropy) {
  Fixture f(2, 16);
  f.fill_at_random();
  const auto change_with = [&](const CqlOptions& options) {
    const auto algorithm = make_cql(options);
    const double first = metric(algorithm->update(f.batch, 1.0), "alpha");
    return metric(algorithm->update(f.batch, 1.0), "alpha") - first;
  };
  CqlOptions options;
  EXPECT_LT(change_with(options), 0);  // the entropy is above its target of -2
  options.target_entropy = 5;
  EXPECT_GT(change_with(options), 0);
  options.target_entropy.reset();
  options.alpha = "0";
  EXPECT_EQ(change_with(options), 0);
}

TEST(Cql, LagrangeMultiplierRisesWhileTheTermIsAboveTheGap) {
  Fixture f(2, 16);
  f.fill_at_random();
  CqlOptions options;
  for (const double gap : {-100.0, 100.0}) {
    options.lagrange_gap = gap;
    const auto algorithm = make_cql(options);
    const double first = metric(algorithm->update(f.batch, 1.0), "lagrange_multiplier");
    EXPECT_NEAR(first, std::exp(1.0), 1e-5);
    const double second = metric(algorithm->update(f.batch, 1.0), "lagrange_multiplier");
    EXPECT_EQ(second > first, gap < 0) << gap;
  }
  options.lagrange_gap.reset();
  const auto without = make_cql(options);
  without->update(f.batch, 1.0);
  EXPECT_EQ(metric(without->update(f.batch, 1.0), "lagrange_multiplier"), 1.0);
}

TEST(Cql, ExploresFromItsOwnStream) {
  Fixture f(2, 4);
  f.fill_at_random();
  const auto algorithm = make_cql({}), other = make_cql({});
  const auto first = act_once(*algorithm, f.batch.obs(), ActMode::explore).clone();
  EXPECT_FALSE(torch::equal(first, act_once(*algorithm, f.batch.obs(), ActMode::explore)));
  const auto metrics = algorithm->update(f.batch, 1.0), same = other->update(f.batch, 1.0);
  for (const auto& [name, value] : metrics.values()) {
    EXPECT_EQ(value.item<float>(), find_metric(same, name).item<float>()) << name;
  }
}

}  // namespace
}  // namespace rl_training::test_cql
