#include "rl_training/algorithms/fql.h"
#include "tests/algorithms/linear_example.h"

namespace rl_training::test_fql {
namespace {

// Linear networks with one-dimensional observations and two-dimensional actions. The flow has the
// velocity v = 0.5 x + t, the one-step policy returns mu = (1.2, 0.4), and the critics are
// Q = (3 a_1 - a_2, 2 a_1 + a_2).
struct Fixture {
  FqlOptions options;
  std::unique_ptr<FqlNetworks> networks;
  Batch batch = zero_batch(1, 1, 2);
  torch::Tensor noise = torch::tensor({{0.2f, -0.5f}});

  Fixture() {
    options.hidden_sizes.clear();
    networks = std::make_unique<FqlNetworks>(options, context_of(1, 2), Rng(0));
    set_parameters(networks->flow, {0, 0, 0.5f, 0, 0, 0.5f, 1, 1, 0, 0});
    set_values(networks->actor.parameters()[0], {0, 0, 0, 0, 0, 0, 1.2f, 0.4f});
    set_parameters(networks->critics.network(), {0, 3, -1, 0, 0, 2, 1, 0});
    set_parameters(networks->critics_target.network(), {0, 3, -1, 0, 0, 2, 1, 0});
    batch.actions().copy_(torch::tensor({{0.8f, 0.1f}}));
    batch.rewards().fill_(1);
  }
  FqlActorLoss actor_loss() const { return fql_actor_loss(*networks, batch, noise, options); }
};

TEST(FqlLoss, FlowLossByHand) {
  const Fixture f;
  const auto result = fql_flow_loss(*f.networks, f.batch, f.noise, torch::full({1, 1}, 0.3f));
  EXPECT_NEAR(metric(result, "flow_loss"), 0.111850, 1e-6);
  // The loss is the mean of two squared errors, so the gradient with respect to each bias is the
  // error v - (a - z), where z is the noise: (0.49, 0.14) - (0.6, 0.6).
  const auto gradient = gradient_at(f.networks->flow.parameters(), result.loss);
  EXPECT_NEAR(gradient[8].item<double>(), 0.49 - 0.6, 1e-6);
  EXPECT_NEAR(gradient[9].item<double>(), 0.14 - 0.6, 1e-6);
  EXPECT_NEAR(gradient[2].item<double>(), (0.49 - 0.6) * 0.38, 1e-6);  // multiplied by x_t
}

TEST(FqlFlow, EulerByHand) {
  Fixture f;
  const auto ten = fql_flow_actions(*f.networks, f.batch.obs(), f.noise, 10);
  EXPECT_NEAR(ten[0][0].item<double>(), 0.841357, 1e-6);
  EXPECT_NEAR(ten[0][1].item<double>(), -0.298869, 1e-6);
  const auto one = fql_flow_actions(*f.networks, f.batch.obs(), f.noise, 1);
  EXPECT_NEAR(one[0][0].item<double>(), 0.3, 1e-6);
  EXPECT_NEAR(one[0][1].item<double>(), -0.75, 1e-6);
  EXPECT_FALSE(ten.requires_grad());
  const auto far = fql_flow_actions(*f.networks, f.batch.obs(), 100 * f.noise, 10);
  EXPECT_EQ(far[0][0].item<double>(), 1);
  EXPECT_EQ(far[0][1].item<double>(), -1);
}

// The published loss is the sum of the actor loss and the flow loss. Here, the flow loss is
// 0.111850. The sum is 0.697060 without normalisation of Q, and 2.197060 with it.
TEST(FqlLoss, ActorLossByHand) {
  Fixture f;
  const auto result = f.actor_loss();
  EXPECT_NEAR(metric(result, "actor_bc_loss"), 0.308521, 1e-6);
  EXPECT_NEAR(metric(result, "actor_q_mean"), 2.5, 1e-6);
  EXPECT_NEAR(result.loss.item<double>() + 0.111850, 0.697060, 1e-5);
  // mu_1 is clipped before it enters Q, so Q has no gradient with respect to mu_1. For mu_2, the
  // mean slope of Q is (-1 + 1) / 2 = 0. Only the gradient of the cloning term remains.
  const auto gradient = gradient_at(f.networks->actor.parameters()[0], result.loss);
  EXPECT_NEAR(gradient[6].item<double>(), 10 * (1.2 - 0.841357), 1e-4);
  EXPECT_NEAR(gradient[7].item<double>(), 10 * (0.4 + 0.298869), 1e-4);
  EXPECT_FALSE(f.networks->flow.parameters().grad().defined());
  EXPECT_FALSE(f.networks->critics.network().parameters().grad().defined());

  f.options.normalize_q = true;
  EXPECT_NEAR(f.actor_loss().loss.item<double>() + 0.111850, 2.197060, 1e-5);
  set_parameters(f.networks->critics.network(), {0, 30, -10, 0, 0, 20, 10, 0});
  EXPECT_NEAR(f.actor_loss().loss.item<double>() + 0.111850, 2.197060, 1e-5);
}

// At clip(mu), Q' = (2.6, 2.4). The target is 1 + 0.99 * 2.5 with the mean of the critics and
// 1 + 0.99 * 2.4 with their minimum. At the dataset action, Q = (2.3, 1.7).
TEST(FqlLoss, CriticLossByHand) {
  Fixture f;
  const auto target = fql_target(*f.networks, f.batch, f.noise, f.options);
  EXPECT_NEAR(target.item<double>(), 1 + 0.99 * 2.5, 1e-6);
  const auto result = fql_critic_loss(*f.networks, f.batch, target);
  const double y = 1 + 0.99 * 2.5;
  EXPECT_NEAR(result.loss.item<double>(), ((2.3 - y) * (2.3 - y) + (1.7 - y) * (1.7 - y)) / 2,
              1e-5);
  f.options.target_q = Reduce::minimum;
  EXPECT_NEAR(fql_target(*f.networks, f.batch, f.noise, f.options).item<double>(), 1 + 0.99 * 2.4,
              1e-6);
}

FqlOptions small_options() {
  FqlOptions options;
  options.hidden_sizes = {16, 16};
  return options;
}

// With a negligible weight of Q, the policy imitates the flow, including its dependence on the
// noise.
TEST(Fql, ALargeWeightDistilsTheFlow) {
  auto options = small_options();
  options.actor_bc_weight = 1e6;
  options.learning_rate = 3e-3;
  Fql algorithm(options, context_of(1, 1));
  auto batch = zero_batch(64, 1, 1);
  Metrics metrics;
  double first = 0;
  for (int i = 0; i < 400; ++i) {
    Rng rng(static_cast<uint64_t>(i));
    for (float& action : floats(batch.actions())) action = rng.uniform() < 0.5 ? -0.6f : 0.6f;
    metrics = algorithm.update(batch, 1.0);
    if (i == 0) first = metric(metrics, "actor_bc_loss");
  }
  EXPECT_LT(metric(metrics, "actor_bc_loss"), 0.1 * first);
  // The actions cover both modes of the data.
  const auto actions = act_once(algorithm, torch::zeros({1000, 1}), ActMode::explore);
  EXPECT_NEAR(actions.abs().mean().item<double>(), 0.6, 0.2);
  EXPECT_NEAR((actions > 0).to(torch::kFloat).mean().item<double>(), 0.5, 0.15);
}

TEST(Fql, GreedyActionsAreThoseOfNoNoise) {
  Fql algorithm(small_options(), context_of(3, 2));
  const auto obs = random_rows(8, 3, 2).obs();
  const FqlNetworks networks(small_options(), context_of(3, 2), Rng(0, "init"));
  EXPECT_TRUE(torch::equal(act_once(algorithm, obs),
                           networks.actor.actions(obs, torch::zeros({8, 2})).clamp(-1, 1)));
  EXPECT_FALSE(torch::equal(act_once(algorithm, obs, ActMode::explore), act_once(algorithm, obs)));
}

// All losses of an update use the networks before the update. A very large step of one network
// therefore does not change the losses of the others.
TEST(Fql, LossesSeeTheOldNetworks) {
  const auto batch = random_rows(16, 3, 2);
  const auto first_losses = [&](double rate) {
    auto options = small_options();
    options.learning_rate = rate;
    Fql algorithm(options, context_of(3, 2));
    return algorithm.update(batch, 1.0);
  };
  const auto slow = first_losses(1e-9), fast = first_losses(10.0);
  for (const auto& [name, value] : slow.values()) {
    EXPECT_EQ(find_metric(fast, name).item<float>(), value.item<float>()) << name;
  }
}

}  // namespace
}  // namespace rl_training::test_fql
