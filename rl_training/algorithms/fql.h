#pragma once
#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/models/losses.h"

namespace rl_training {

// The defaults are the authors' settings for D4RL's antmaze datasets. `actor_bc_weight` depends on
// the task; see docs/algorithms/fql.md.
struct FqlOptions : AlgorithmOptions {
  static constexpr const char* kName = "fql";
  double actor_bc_weight = 10.0;
  bool normalize_q = false;
  Reduce target_q = Reduce::mean;
  int64_t flow_steps = 10;

  FqlOptions() { hidden_sizes = {512, 512, 512, 512}; }
  void visit_options(OptionVisitor& options) override;
};

// The one-step policy: maps an observation and standard normal noise to an unbounded action.
class OneStepActor {
 public:
  OneStepActor(const MlpSpec& spec, Rng& rng, const Compute& compute)
      : network_(spec, rng, compute) {}

  // [rows, action_dim]
  torch::Tensor actions(const torch::Tensor& obs, const torch::Tensor& noise) const {
    const std::array<int64_t, 2> shape = {obs.size(0), network_.outputs()};
    return network_.forward(obs, noise, {.shape = shape});
  }
  int64_t action_dim() const { return network_.outputs(); }
  const Mlp& network() const { return network_; }
  std::vector<torch::Tensor> parameters() const { return {network_.parameters()}; }
  void visit_state(StateVisitor& state) { network_.visit_state(state); }

 private:
  Mlp network_;
};

struct FqlNetworks {
  FqlNetworks(const FqlOptions& options, const AlgorithmContext& context, Rng rng);
  // The velocity v(s, x, t) of the flow: [rows, action_dim]. `place` is the concatenation of x and
  // t: [rows, action_dim + 1].
  torch::Tensor velocity(const torch::Tensor& obs, const torch::Tensor& place) const;
  void visit_state(StateVisitor& state);

  OneStepActor actor;
  Mlp flow;
  CriticEnsemble critics, critics_target;
};

// Integrates the flow in `steps` Euler steps, starting at the noise. Returns samples of the learnt
// behaviour policy in [-1, 1], without gradient.
torch::Tensor fql_flow_actions(const FqlNetworks& networks, const torch::Tensor& obs,
                               const torch::Tensor& noise, int64_t steps);

// The critics' target: [rows], without gradient. `noise` is standard normal, [rows, action_dim].
torch::Tensor fql_target(const FqlNetworks& networks, const Batch& batch,
                         const torch::Tensor& noise, const FqlOptions& options);
// `target` is the result of fql_target.
CriticLoss fql_critic_loss(const FqlNetworks& networks, const Batch& batch,
                           const torch::Tensor& target);

struct FqlFlowLoss {
  torch::Tensor loss;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("flow_loss", loss);
  }
};
// `noise` is standard normal, [rows, action_dim]; `time` is uniform in [0, 1], [rows, 1].
FqlFlowLoss fql_flow_loss(const FqlNetworks& networks, const Batch& batch,
                          const torch::Tensor& noise, const torch::Tensor& time);

struct FqlActorLoss {
  torch::Tensor loss, bc_loss, q_mean;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
    visit("actor_bc_loss", bc_loss);
    visit("actor_q_mean", q_mean);
  }
};
// `noise` is standard normal, [rows, action_dim].
FqlActorLoss fql_actor_loss(const FqlNetworks& networks, const Batch& batch,
                            const torch::Tensor& noise, const FqlOptions& options);

// FQL (arXiv:2502.02538): a flow models the behaviour policy. A one-step policy is distilled from
// the flow and maximises Q.
class Fql final : public ActorCritic<FqlOptions, FqlNetworks> {
 public:
  Fql(const FqlOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  // The greedy action uses zero noise.
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override;
  void visit_state(StateVisitor& state) override;

 private:
  Adam flow_optimizer_;
  NoiseBuffer target_noise_, actor_noise_, flow_noise_, time_, explore_noise_;
};

AlgorithmInfoOf<Fql, FqlOptions> fql_info();

}  // namespace rl_training
