#include "rl_training/algorithms/sac.h"
#include "rl_training/algorithms/sac_n.h"
#include "tests/algorithms/soft_example.h"

namespace rl_training::test_sac_n {
namespace {

SacNOptions two_critics() {
  SacNOptions options;
  options.num_critics = 2;
  return options;
}

// The losses are those of SAC, except that the critic loss has no factor 1/2.
TEST(SacNLoss, ByHand) {
  const auto options = two_critics();
  const auto design = options.design(1);
  SoftExample f(options, design);
  const auto critic = soft_critic_loss(f.networks, f.batch, f.noise, {0, 1}, f.alpha, design);
  const double y0 = SoftExample::target(0, kLeastTarget[0], 0.5);
  const double y1 = SoftExample::target(1, kLeastTarget[1], 0.5);
  EXPECT_NEAR(metric(critic, "target_q_mean"), (y0 + y1) / 2, 1e-5);
  EXPECT_NEAR(critic.loss.item<double>(), SoftExample::squared_errors(y0, y1), 1e-4);
  const auto actor = soft_policy_loss(f.networks, f.batch, f.noise, f.alpha, design);
  EXPECT_NEAR(actor.loss.item<double>(),
              SoftExample::policy_loss(0.5, 1, -1.9 - SoftExample::kTanh1), 1e-5);
}

// With two critics and with the update order and initialisation of SAC, whole updates equal those
// of SAC.
TEST(SacN, TwoCriticsAreSac) {
  auto options = two_critics();
  options.hidden_sizes = {16};
  auto design = options.design(2);
  design.policy_first = false;
  design.critic_loss_scale = 0.5;
  design.log_std_min = -20.0;
  design.init = {};
  design.actor_head.reset();
  design.critic_head.reset();
  SoftActorCritic sac_n(options, design, small_context());
  SacOptions sac_options;
  sac_options.hidden_sizes = {16};
  Sac sac(sac_options, small_context());
  for (int i = 0; i < 10; ++i) {
    const auto batch = random_batch(i);
    expect_equal_metrics(sac_n.update(batch, 1.0), sac.update(batch, 1.0));
  }
}

// Sets the value of every critic to 0 for every input.
class NoValues final : public StateVisitor {
 protected:
  void on_array(const std::string& name, DType dtype, std::span<const int64_t> shape,
                void* data) override {
    if (dtype != DType::f32 || !name.starts_with("critics")) return;
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    std::fill_n(static_cast<float*>(data), count, 0.0f);
  }
  void on_text(const std::string&, std::string&) override {}
};

template <class Class, class Options>
Metrics first_update(Options options, double rate) {
  options.hidden_sizes = {8};
  options.learning_rate = rate;
  Class algorithm(options, small_context());
  NoValues no_values;
  algorithm.visit_state(no_values);
  return algorithm.update(random_batch(0), 1.0);
}

// All values are 0, so the actor loss is -alpha H. The loss uses alpha = exp(0.01), the temperature
// after its first step with the learning rate 0.01.
TEST(SacN, TheActorSeesTheNewTemperature) {
  SacNOptions options;
  options.target_entropy = 100;
  const auto ours = first_update<SacN>(options, 0.01);
  EXPECT_NEAR(metric(ours, "alpha"), std::exp(0.01), 1e-5);
  EXPECT_NEAR(metric(ours, "actor_loss"), -std::exp(0.01) * metric(ours, "entropy"), 1e-5);
}

TEST(SacN, TheTargetSeesTheNewPolicy) {
  SacNOptions options;
  options.alpha = "0.2";
  EXPECT_NE(metric(first_update<SacN>(options, 0.5), "target_q_mean"),
            metric(first_update<SacN>(options, 1e-12), "target_q_mean"));
  SacOptions sac;
  sac.alpha = "0.2";
  EXPECT_EQ(metric(first_update<Sac>(sac, 0.5), "target_q_mean"),
            metric(first_update<Sac>(sac, 1e-12), "target_q_mean"));
}

TEST(SacNNetworks, StartAsTheAuthorsDo) {
  SacNOptions options;
  options.hidden_sizes = {64};
  const SoftNetworks networks(options, small_context(), Rng(0), options.design(2));
  const auto& critics = dynamic_cast<const Mlp&>(networks.critics.network());
  EXPECT_EQ(critics.members(), 10);
  const auto values = critics.parameters().detach();
  const auto& hidden = critics.layout().layers[0];
  const auto bias = values.narrow(0, hidden.bias, hidden.outputs);
  EXPECT_TRUE(torch::allclose(bias, torch::full_like(bias, 0.1)));
  const auto weight = values.narrow(0, hidden.weight, hidden.inputs * hidden.outputs);
  EXPECT_LE(weight.abs().max().item<double>(), 1 / std::sqrt(5.0));
  EXPECT_GT(weight.abs().max().item<double>(), 0.9 / std::sqrt(5.0));
  const auto& head = critics.layout().layers[1];
  const auto ends = values.narrow(0, head.weight, head.inputs + 1).abs().max().item<double>();
  EXPECT_LE(ends, 3e-3);
  EXPECT_GT(ends, 1e-3);
  const auto output = networks.actor.head(torch::ones({4, 3})).output;
  EXPECT_LT(output.abs().max().item<double>(), 0.1);
  EXPECT_EQ(networks.actor.head(torch::ones({4, 3})).log_std_min, -5.0);
}

}  // namespace
}  // namespace rl_training::test_sac_n
