#pragma once
#include "rl_training/algorithms/discrete_q.h"
#include "rl_training/algorithms/soft_actor_critic.h"

namespace rl_training {

struct DiscreteSacOptions : SoftOptions {
  static constexpr const char* kName = "discrete_sac";
  enum class Source { environment, data };
  Source learn_from = Source::environment;
  double cql_alpha = 0.0;

  CollectOptions* collect() override;
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override;
  void visit_options(OptionVisitor& options) override;
};

// Actor and critics map an observation to one value per action: a logit (actor) or Q (critics).
struct DiscreteSacNetworks {
  DiscreteSacNetworks(const DiscreteSacOptions& options, const AlgorithmContext& context, Rng rng);
  // log pi(a|s) of every action: [rows, choices].
  torch::Tensor log_probs(const torch::Tensor& obs) const;

  Mlp actor;
  Mlp critics, critics_target;  // each has two members
};

struct DiscreteSacCriticLoss {
  torch::Tensor loss, target_q_mean, cql_diff;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("critic_loss", loss);
    visit("target_q_mean", target_q_mean);
    visit("cql_diff", cql_diff);
  }
};

// The soft value of each state, as an exact expectation over all actions.
// Shapes: log_probs [rows, choices], values [members, rows, choices] -> [rows].
torch::Tensor discrete_soft_value(const torch::Tensor& log_probs, const torch::Tensor& values,
                                  const torch::Tensor& alpha);

DiscreteSacCriticLoss discrete_sac_critic_loss(const DiscreteSacNetworks& networks,
                                               const Batch& batch, const torch::Tensor& alpha,
                                               double cql_alpha);
SoftPolicyLoss discrete_sac_actor_loss(const DiscreteSacNetworks& networks, const Batch& batch,
                                       const torch::Tensor& alpha);
// Selects the temperature loss alpha * (H - H_target); see TemperatureGoal. The default H_target is
// a fraction of the entropy of the uniform distribution.
TemperatureGoal discrete_sac_goal(const DiscreteSacOptions& options, int64_t choices);

// SAC for discrete actions (arXiv:1910.07207).
class DiscreteSac final : public Algorithm {
 public:
  DiscreteSac(const DiscreteSacOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override;
  torch::Tensor log_density(const torch::Tensor& obs, const torch::Tensor& actions) const override {
    return values_of(networks_.log_probs(obs), actions);
  }
  torch::Tensor values(const torch::Tensor& obs, const torch::Tensor& actions) const override;
  void visit_state(StateVisitor& state) override;

 private:
  DiscreteSacOptions options_;
  Rng explore_rng_;
  DiscreteSacNetworks networks_;
  Adam actor_optimizer_, critic_optimizer_;
  Temperature temperature_;
  NoiseBuffer explore_noise_;
};

AlgorithmInfoOf<DiscreteSac, DiscreteSacOptions> discrete_sac_info();

}  // namespace rl_training
