#pragma once
#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/algorithms/log_std_bounds.h"

namespace rl_training {

struct CrrOptions : AlgorithmOptions {
  static constexpr const char* kName = "crr";
  enum class AdvantageType { mean, max };
  enum class WeightType { exp, binary };
  AdvantageType advantage_type = AdvantageType::mean;
  WeightType weight_type = WeightType::exp;
  double beta = 1.0;
  int64_t n_action_samples = 4;
  double max_weight = 20.0;
  bool layer_norm = false;
  bool critic_weighted_policy = false;
  LogStdBounds log_std;

  void visit_options(OptionVisitor& options) override;
  void check() const override;
};

struct CrrNetworks : GaussianNetworks {
  CrrNetworks(const CrrOptions& options, const AlgorithmContext& context, Rng rng);
  GaussianActor actor_target;

  void visit_state(StateVisitor& state);
};

// Advantage of the dataset action: Q(s, a) [rows] minus the mean or the maximum of the candidates'
// Q [rows, n], as selected by the option advantage_type. Without gradient.
torch::Tensor crr_advantage(const torch::Tensor& q, const torch::Tensor& candidate_q,
                            const CrrOptions& options);
// Weight of each row, computed from its advantage: [rows] -> [rows], without gradient.
torch::Tensor crr_weights(const torch::Tensor& advantage, const CrrOptions& options);
// Samples a candidate in each row with probability softmax(Q / beta) and returns its index.
// `uniform` contains one draw in [0, 1) per row. Shapes: [rows, n], [rows, 1] -> [rows].
torch::Tensor crr_choose(const torch::Tensor& candidate_q, const torch::Tensor& uniform,
                         const CrrOptions& options);

// `noise` is standard normal, [rows, action_dim].
CriticLoss crr_critic_loss(const CrrNetworks& networks, const Batch& batch,
                           const torch::Tensor& noise);

struct CrrActorLoss {
  torch::Tensor loss, advantage_mean, weight_mean, positive_fraction;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
    visit("advantage_mean", advantage_mean);
    visit("advantage_weight_mean", weight_mean);
    visit("positive_fraction", positive_fraction);
  }
};
// `noise` is standard normal, [rows * n_action_samples, action_dim].
CrrActorLoss crr_actor_loss(const CrrNetworks& networks, const Batch& batch,
                            const torch::Tensor& noise, const CrrOptions& options);

// Critic and actor loss, each with its own noise.
JointLoss<CriticLoss, CrrActorLoss> crr_loss(const CrrNetworks& networks, const Batch& batch,
                                             const torch::Tensor& critic_noise,
                                             const torch::Tensor& actor_noise,
                                             const CrrOptions& options);

// CRR (arXiv:2006.15134): critic-regularized regression. The actor clones dataset actions. An
// action's weight grows with its advantage, the difference between its value and the value of the
// policy's own actions.
class Crr final : public ActorCritic<CrrOptions, CrrNetworks> {
 public:
  using ActorCritic::ActorCritic;

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override;
  torch::Tensor log_density(const torch::Tensor& obs, const torch::Tensor& actions) const override {
    if (options_.critic_weighted_policy) return {};
    return gaussian_log_prob(networks_.actor.head(obs), actions);
  }

 private:
  torch::Tensor act_critic_weighted(const torch::Tensor& obs, ActMode mode);

  NoiseBuffer noise_, candidate_noise_, uniform_;
};

AlgorithmInfoOf<Crr, CrrOptions> crr_info();

}  // namespace rl_training
