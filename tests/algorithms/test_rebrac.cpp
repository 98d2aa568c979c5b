#include <gtest/gtest.h>

#include "rl_training/algorithms/rebrac.h"
#include "rl_training/algorithms/td3_bc.h"
#include "tests/algorithms/linear_example.h"

namespace rl_training::test_rebrac {
namespace {

// Linear networks with one-dimensional observations, so that every value can be computed by hand.
struct Fixture {
  RebracOptions options;
  AlgorithmContext context;
  std::unique_ptr<RebracNetworks> networks;
  Batch batch;
  torch::Tensor noise;

  explicit Fixture(int64_t action_dim, int64_t rows = 2,
                   const std::vector<int64_t>& hidden_sizes = {})
      : context(context_of(1, action_dim)),
        batch(zero_batch(rows, 1, action_dim, true)),
        noise(torch::zeros({rows, action_dim})) {
    options.hidden_sizes = hidden_sizes;
    networks = std::make_unique<RebracNetworks>(options, context, Rng(0));
    batch.next_action_valid().fill_(1);
  }
  RebracCriticLoss critic_loss() const {
    return rebrac_critic_loss(*networks, batch, noise, options.critic_bc_weight, options);
  }
  RebracActorLoss actor_loss() const {
    return rebrac_actor_loss(*networks, batch, options.actor_bc_weight, options);
  }
  void fill_at_random() {
    Rng rng(7);
    for (const auto& part : {batch.obs(), batch.next_obs(), batch.rewards(), noise}) {
      rng.fill_normal(floats(part));
    }
    for (const auto& part : {batch.actions(), batch.next_actions()}) {
      rng.fill_uniform(floats(part), -1, 1);
    }
  }
};

// b is the action of the target policy, and a' is the next action of the data. In the first row,
// r = 1, min Q' = 5 and b - a' = (0.3, -0.4). With beta_2 = 0.1, the target is y = 1 + 0.99
// (5 - 0.1 * 0.25) = 5.92525. The second row is terminal, so y = r = 1. The online critics are
// Q_1 = s + 2 a_0 + 1 and Q_2 = -s + a_1.
Fixture golden() {
  Fixture f(2);
  f.options.critic_bc_weight = 0.1;
  set_parameters(f.networks->actor_target.network(), {0, 0, 0, 0});
  set_parameters(f.networks->critics_target.network(), {0, 0, 0, 5, 0, 0, 0, 7});
  set_parameters(f.networks->critics.network(), {1, 2, 0, 1, -1, 0, 1, 0});
  f.batch.obs().copy_(torch::tensor({{1.0f}, {2.0f}}));
  f.batch.actions().copy_(torch::tensor({{0.5f, 1.0f}, {0.0f, -1.0f}}));
  f.batch.rewards().fill_(1);
  f.batch.next_actions().copy_(torch::tensor({{-0.3f, 0.4f}, {-0.3f, 0.4f}}));
  set_terminated(f.batch, {0, 1});
  return f;
}

TEST(RebracLoss, CriticLossByHand) {
  const auto f = golden();
  const auto result = f.critic_loss();
  EXPECT_NEAR(metric(result, "target_q_mean"), (5.92525 + 1.0) / 2, 1e-6);
  EXPECT_NEAR(metric(result, "critic_bc_penalty"), 0.25, 1e-6);
  EXPECT_NEAR(metric(result, "next_action_coverage"), 1.0, 1e-7);
  // Q_1 = (3, 3), Q_2 = (0, -3) and y = (5.92525, 1).
  const double q1 = (2.92525 * 2.92525 + 4.0) / 2, q2 = (5.92525 * 5.92525 + 16.0) / 2;
  EXPECT_NEAR(result.loss.item<double>(), q1 + q2, 1e-4);
  EXPECT_NEAR(metric(result, "critic_loss"), 31.832838, 1e-4);

  // The gradient with respect to a bias is the sum of dL/dQ_i = 2 (Q_i - y) / 2 over the two rows.
  result.loss.backward();
  const auto gradient = f.networks->critics.network().parameters().grad();
  EXPECT_NEAR(gradient[3].item<double>(), -2.92525 + 2.0, 1e-5);
  EXPECT_NEAR(gradient[7].item<double>(), -5.92525 - 4.0, 1e-5);
  EXPECT_FALSE(f.networks->critics_target.network().parameters().grad().defined());
  EXPECT_FALSE(f.networks->actor_target.network().parameters().grad().defined());
}

// The noise is scaled and clipped, and then the sum of the action and the noise is clipped.
TEST(RebracLoss, TargetActionsAreNoisyAndClipped) {
  auto f = golden();
  f.noise.copy_(torch::tensor({{9.0f, -0.5f}, {0.0f, 0.0f}}));  // the clipped noise is 0.5 and -0.1
  set_parameters(f.networks->actor_target.network(), {0, 0, 20, 0});  // tanh(20) = 1, tanh(0) = 0
  const double penalty = 1.3 * 1.3 + 0.5 * 0.5;                       // 1 - (-0.3) and -0.1 - 0.4
  const double y = 1 + 0.99 * (5 - 0.1 * penalty);
  EXPECT_NEAR(metric(f.critic_loss(), "target_q_mean"), (y + 1.0) / 2, 1e-5);
}

TEST(RebracLoss, NextActionsDoNotMatterWhereTheTaskEnded) {
  auto f = golden();
  const double before = f.critic_loss().loss.item<double>();
  f.batch.next_actions()[1].fill_(0.9);
  EXPECT_EQ(f.critic_loss().loss.item<double>(), before);
  f.batch.next_actions()[0].fill_(0.9);
  EXPECT_NE(f.critic_loss().loss.item<double>(), before);
}

TEST(RebracLoss, NextActionsMatterOnlyWithAPenalty) {
  Fixture f(2, 32, {16});
  f.fill_at_random();
  for (const double weight : {0.0, 0.5}) {
    f.options.critic_bc_weight = weight;
    const double before = f.critic_loss().loss.item<double>();
    const auto kept = f.batch.next_actions().clone();
    f.batch.next_actions().copy_(kept.flip(0));
    EXPECT_EQ(f.critic_loss().loss.item<double>() == before, weight == 0.0) << weight;
    f.batch.next_actions().copy_(kept);
  }
}

struct Fallback {
  RebracOptions::NextActionFallback kind;
  double penalty;  // expected without a next action, for b = 0 and a = (0.5, 1)
};

TEST(RebracLoss, RowsWithoutANextAction) {
  auto f = golden();
  f.batch.next_action_valid()[0] = 0;
  f.batch.next_actions()[0].zero_();  // as a sampler does
  set_terminated(f.batch, {0, 0});
  using Kind = RebracOptions::NextActionFallback;
  for (const auto& fallback :
       {Fallback{Kind::zero_penalty, 0.0}, Fallback{Kind::current_action, 1.25}}) {
    f.options.next_action_fallback = fallback.kind;
    const auto result = f.critic_loss();
    const double first = 1 + 0.99 * (5 - 0.1 * fallback.penalty), second = 5.92525;
    EXPECT_NEAR(metric(result, "target_q_mean"), (first + second) / 2, 1e-5) << fallback.penalty;
    EXPECT_NEAR(metric(result, "next_action_coverage"), 0.5, 1e-7);
  }
  set_terminated(f.batch, {1, 0});  // terminal rows need no next action
  EXPECT_NEAR(metric(f.critic_loss(), "next_action_coverage"), 1.0, 1e-7);
}

TEST(RebracOptions, RowsAreLeftOutOnlyWhereThePenaltyNeedsThem) {
  RebracOptions options;
  EXPECT_TRUE(options.needs_next_actions());
  options.next_action_fallback = RebracOptions::NextActionFallback::zero_penalty;
  EXPECT_FALSE(options.needs_next_actions());
  options.next_action_fallback = RebracOptions::NextActionFallback::none;
  options.critic_bc_weight = 0;
  EXPECT_FALSE(options.needs_next_actions());
}

// ReBRAC and TD3+BC with the same linear networks and the same noise.
struct Pair {
  Fixture rebrac;
  Td3BcOptions td3_options;
  std::unique_ptr<Td3Networks> td3;

  Pair() : rebrac(1, 32) {
    rebrac.fill_at_random();
    td3_options.hidden_sizes.clear();
    td3 = std::make_unique<Td3Networks>(td3_options, rebrac.context, Rng(0));
    const torch::NoGradGuard no_grad;
    const auto copy = [](const Network& to, const Network& from) {
      to.parameters().copy_(from.parameters());
    };
    auto& ours = *rebrac.networks;
    set_parameters(ours.actor.network(), {0.7f, 0.1f});
    set_parameters(ours.critics.network(), {1, 2, -0.5f, 1, 2, -0.5f});  // Q_1 = Q_2
    set_parameters(ours.critics_target.network(), {1, 2, -0.5f, -1, 1, 0.5f});
    copy(td3->actor.network(), ours.actor.network());
    copy(td3->actor_target.network(), ours.actor_target.network());
    copy(td3->critics.network(), ours.critics.network());
    copy(td3->critics_target.network(), ours.critics_target.network());
  }
};

TEST(RebracLoss, WithoutPenaltyTheTargetIsTd3s) {
  Pair p;
  p.rebrac.options.critic_bc_weight = 0;
  const auto ours = p.rebrac.critic_loss();
  const auto theirs = td3_critic_loss(*p.td3, p.rebrac.batch, p.rebrac.noise, p.td3_options);
  EXPECT_NEAR(metric(ours, "target_q_mean"), metric(theirs, "target_q_mean"), 1e-6);
  EXPECT_NEAR(ours.loss.item<double>(), theirs.loss.item<double>(), 1e-5);
}

TEST(RebracLoss, ActorLossIsTd3BcsDividedByAlpha) {
  Pair p;
  p.rebrac.options.actor_bc_weight = 1 / p.td3_options.bc_alpha;
  const double ours = p.rebrac.actor_loss().loss.item<double>();
  const auto theirs = td3_bc_actor_loss(*p.td3, p.rebrac.batch, p.td3_options);
  EXPECT_NEAR(ours, theirs.loss.item<double>() / p.td3_options.bc_alpha, 1e-5);
}

// In row 0, pi = (0.5, 0) and a = (0, 1), so the squared distance is 1.25, the sum over the
// dimensions. In row 1, pi = a = (0, 0). Q_1 = 2 pi_0 + 1 = (2, 1) and Q_2 = 3 - 4 pi_0 = (1, 3),
// so min Q = (1, 1) and lambda = 1. The loss is L = 0.1 * 1.25 / 2 - 2 * 1.
TEST(RebracLoss, ActorLossByHand) {
  Fixture f(2);
  f.options.actor_bc_weight = 0.1;
  f.options.actor_q_weight = 2;
  set_parameters(f.networks->actor.network(), {std::atanh(0.5f), 0, 0, 0});
  set_parameters(f.networks->critics.network(), {0, 2, 0, 1, 0, -4, 0, 3});
  f.batch.obs().copy_(torch::tensor({{1.0f}, {0.0f}}));
  f.batch.actions().copy_(torch::tensor({{0.0f, 1.0f}, {0.0f, 0.0f}}));
  const auto result = f.actor_loss();
  EXPECT_NEAR(metric(result, "actor_bc_loss"), 0.625, 1e-6);
  EXPECT_NEAR(metric(result, "actor_q_mean"), 1.0, 1e-6);
  EXPECT_NEAR(metric(result, "bc_lambda"), 1.0, 1e-6);
  EXPECT_NEAR(result.loss.item<double>(), 0.0625 - 2.0, 1e-6);

  // In row 0, Q_2 is the minimum, and its slope is -4. The gradient of this row is
  // dL/dpi_0 = 0.1 * 2 * 0.5 / 2 + 2 * 4 / 2, multiplied by the slope of tanh, 1 - 0.25. In row 1,
  // Q_1 is the minimum, and its slope is 2. Since s = 0 in row 1, this row affects only the bias.
  result.loss.backward();
  const auto gradient = f.networks->actor.network().parameters().grad();
  const double first = (0.05 + 4.0) * 0.75, second = -2.0;
  EXPECT_NEAR(gradient[0].item<double>(), first, 1e-5);
  EXPECT_NEAR(gradient[2].item<double>(), first + second, 1e-5);
  EXPECT_NEAR(gradient[1].item<double>(), -0.1, 1e-6);  // 0.1 * 2 * (0 - 1) / 2
  EXPECT_FALSE(f.networks->critics.network().parameters().grad().defined());
}

TEST(RebracLoss, NormalisedQHasNoScale) {
  Fixture f(2);
  f.fill_at_random();
  const auto loss_at = [&](float scale, bool normalize) {
    f.options.normalize_q = normalize;
    set_parameters(f.networks->critics.network(),
                   {scale, scale, -scale, scale, -scale, scale, scale, 2 * scale});
    return f.actor_loss();
  };
  EXPECT_NEAR(loss_at(1, true).loss.item<double>(), loss_at(10, true).loss.item<double>(), 1e-5);
  EXPECT_EQ(metric(loss_at(10, false), "bc_lambda"), 1.0);
  EXPECT_NE(loss_at(1, false).loss.item<double>(), loss_at(10, false).loss.item<double>());
}

TEST(RebracLoss, BothTogetherReportAllMetrics) {
  auto f = golden();
  const auto result = rebrac_loss(*f.networks, f.batch, f.noise, f.options);
  EXPECT_EQ(names_of(result), rebrac_info().metrics);
  EXPECT_NEAR(result.loss.item<double>(),
              metric(result, "critic_loss") + metric(result, "actor_loss"), 1e-3);
}

double relative_error(const torch::Tensor& got, const torch::Tensor& expected) {
  return ((got - expected).norm() / expected.norm()).item<double>();
}

// Networks with hidden layers and LayerNorm. The gradients of both losses must equal those of the
// same losses in plain torch operators.
TEST(RebracLoss, GradientsEqualPlainTorch) {
  Fixture f(3, 24, {16, 16, 16});
  f.fill_at_random();
  f.options.critic_bc_weight = 0.3;
  const auto& n = *f.networks;
  const auto& b = f.batch;
  const auto take_gradient = [](const Network& network) {
    const auto gradient = network.parameters().grad().clone();
    network.parameters().mutable_grad() = torch::Tensor();
    return gradient;
  };

  f.critic_loss().loss.backward();
  const auto critic_gradient = take_gradient(n.critics.network());
  torch::Tensor y;
  {
    const torch::NoGradGuard no_grad;
    const auto next = (plain(n.actor_target.network(), b.next_obs()).squeeze(0) +
                       (0.2 * f.noise).clamp(-0.5, 0.5))
                          .clamp(-1, 1);
    const auto q = plain(n.critics_target.network(), b.next_obs(), next).squeeze(2);
    const auto penalty = (next - b.next_actions()).pow(2).sum(1);
    y = b.rewards() + 0.99 * (1 - b.terminated()) * (torch::min(q[0], q[1]) - 0.3 * penalty);
  }
  const auto q = plain(n.critics.network(), b.obs(), b.actions()).squeeze(2);
  (torch::mse_loss(q[0], y) + torch::mse_loss(q[1], y)).backward();
  EXPECT_LT(relative_error(critic_gradient, take_gradient(n.critics.network())), 1e-5);

  f.actor_loss().loss.backward();
  const auto actor_gradient = take_gradient(n.actor.network());
  const auto actions = plain(n.actor.network(), b.obs()).squeeze(0);
  const auto q_pi = plain(n.critics.network(), b.obs(), actions, Use::frozen).squeeze(2);
  const auto q_min = torch::min(q_pi[0], q_pi[1]);
  const auto lambda = 1 / q_min.abs().mean().detach();
  ((0.01 * (actions - b.actions()).pow(2).sum(1)) - lambda * q_min).mean().backward();
  EXPECT_LT(relative_error(actor_gradient, take_gradient(n.actor.network())), 1e-4);
}

TEST(RebracNetworks, NormalisedCriticsAndNarrowHeads) {
  const Fixture f(2, 2, {32, 32, 32});
  const auto& critics = dynamic_cast<const Mlp&>(f.networks->critics.network());
  EXPECT_EQ(critics.spec().layer_norm, LayerNorm::after_activation);
  EXPECT_EQ(critics.spec().layer_norm_eps, 1e-6);
  EXPECT_EQ(critics.spec().members, 2);
  EXPECT_EQ(f.networks->actor.network().spec().layer_norm, LayerNorm::none);
  const auto check = [](const Mlp& network, double bound) {
    const auto& layers = network.layout().layers;
    const auto numbers = network.parameters().detach();
    const auto& hidden = layers.front();
    const auto& head = layers.back();
    EXPECT_TRUE((numbers.narrow(0, hidden.bias, hidden.outputs) == 0.1f).all().item<bool>());
    const auto last = numbers.narrow(0, head.weight, head.inputs * head.outputs + head.outputs);
    EXPECT_LE(last.abs().max().item<double>(), bound * (1 + 1e-6));
    EXPECT_GT(last.abs().max().item<double>(), bound * 0.7);
  };
  check(critics, 3e-3);
  check(f.networks->actor.network(), 1e-3);
}

TEST(Rebrac, ActorMovesAtTheFirstUpdateAndThenWaits) {
  RebracOptions options;
  options.hidden_sizes = {8};
  options.policy_delay = 3;
  const auto context = context_of(1, 2);
  Rebrac algorithm(options, context);
  Fixture f(2, 16);
  f.fill_at_random();
  for (int i = 0; i < 7; ++i) {
    const auto before = act_once(algorithm, f.batch.obs()).clone();
    const auto metrics = algorithm.update(f.batch, 1.0);
    EXPECT_EQ(torch::equal(before, act_once(algorithm, f.batch.obs())), i % 3 != 0) << i;
    EXPECT_TRUE(find_metric(metrics, "actor_loss").defined()) << i;
  }
}

// Returns the weight w of the cloning term, computed from the metrics of an update. The actor loss
// is L = w bc - lambda q.
double weight_of(const Metrics& metrics) {
  const auto at = [&](const char* name) { return metric(metrics, name); };
  return (at("actor_loss") + at("bc_lambda") * at("actor_q_mean")) / at("actor_bc_loss");
}

TEST(Rebrac, OnlineTheCloningWeightGoesDownLinearly) {
  Fixture f(2, 8, {8});
  f.fill_at_random();
  f.options.actor_bc_weight = 0.4;
  f.options.online_bc_floor = 0.3;
  f.options.policy_delay = 1;
  Rebrac algorithm(f.options, f.context);
  EXPECT_NEAR(weight_of(algorithm.update(f.batch, 1)), 0.4, 1e-5);
  algorithm.begin_phase({.name = "online", .source = PhaseSpec::Source::mixture}, 4);
  for (const double share : {1.0, 0.75, 0.5, 0.3, 0.3, 0.3}) {
    const auto metrics = algorithm.update(f.batch, 1);
    EXPECT_NEAR(weight_of(metrics), 0.4 * share, 1e-5);
  }
}

TEST(Rebrac, OnlineTheCriticsHaveNoPenalty) {
  Fixture f(2, 8, {8});
  f.fill_at_random();
  const auto target_with = [&](double weight, bool online) {
    f.options.critic_bc_weight = weight;
    Rebrac algorithm(f.options, f.context);
    if (online) {
      algorithm.begin_phase({.name = "online", .source = PhaseSpec::Source::mixture}, 4);
    }
    return metric(algorithm.update(f.batch, 1), "target_q_mean");
  };
  EXPECT_EQ(target_with(5, true), target_with(0, false));
  EXPECT_NE(target_with(5, false), target_with(0, false));
}

// The actor and the critics have separate learning rates. With a very small rate for the actor,
// only the critics change noticeably, and vice versa.
TEST(Rebrac, LearningRatesAreSeparate) {
  RebracOptions options;
  options.hidden_sizes = {8};
  const auto context = context_of(1, 2);
  Fixture f(2, 16);
  f.fill_at_random();
  const auto change_with = [&](double actor_rate, double critic_rate) {
    options.actor_learning_rate = actor_rate;
    options.critic_learning_rate = critic_rate;
    Rebrac algorithm(options, context);
    const auto before = act_once(algorithm, f.batch.obs()).clone();
    const double first = metric(algorithm.update(f.batch, 1.0), "critic_loss");
    const double actor = (act_once(algorithm, f.batch.obs()) - before).abs().max().item<double>();
    const double second = metric(algorithm.update(f.batch, 1.0), "critic_loss");
    return std::pair(actor, std::abs(second - first));
  };
  EXPECT_LT(change_with(1e-12, 1e-2).first, 1e-7);
  EXPECT_GT(change_with(1e-2, 1e-12).first, 1e-4);
  EXPECT_GT(change_with(1e-12, 1e-2).second, 1e-3);
}

}  // namespace
}  // namespace rl_training::test_rebrac
