#pragma once
#include "rl_training/algorithms/algorithm.h"
#include "rl_training/models/gaussian.h"
#include "rl_training/models/mlp.h"

namespace rl_training {

// Parts that PPO and TRPO share: a policy network, a value network, and acting in rollouts.
// Continuous actions have a normal distribution; its standard deviations, one per dimension, do not
// depend on the observation. Discrete actions have a softmax distribution.

struct OnPolicyOptions : AlgorithmOptions {
  OnPolicyOptions() {
    hidden_sizes = {64, 64};
    batch_size = 64;
  }
  RolloutOptions rollout;
  double initial_log_std = 0.0;

  BatchRequest request() const override;
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override {
    return rollout_phases(rollout, total_timesteps);
  }

 protected:
  // Visits the keys of rollouts and networks.
  void visit_on_policy_options(OptionVisitor& options);
};

// The policy's output at each observation.
struct ActionDistribution {
  GaussianHead head;        // for continuous actions
  torch::Tensor log_probs;  // for discrete actions, [rows, choices]; otherwise undefined

  bool discrete() const { return log_probs.defined(); }
  torch::Tensor log_std() const;                               // continuous actions: [action_dim]
  torch::Tensor log_prob(const torch::Tensor& actions) const;  // [rows]
  torch::Tensor entropy() const;                               // mean over rows
  // Mean over rows of KL(this || other). Twice differentiable if this distribution is.
  torch::Tensor kl_from(const ActionDistribution& other) const;
  ActionDistribution detached() const;
};

struct OnPolicyNetworks {
  OnPolicyNetworks(const OnPolicyOptions& options, const AlgorithmContext& context, Rng rng);

  ActionDistribution distribution(const torch::Tensor& obs,
                                  bool twice_differentiable = false) const;
  torch::Tensor values(const torch::Tensor& obs) const;  // V(s), [rows]
  std::vector<torch::Tensor> policy_parameters() const;
  // The input of the networks: `obs`, clipped to +-10 if the observations are normalised.
  torch::Tensor seen(const torch::Tensor& obs) const;
  void visit_state(StateVisitor& state);

  bool clips_observations;
  Mlp actor;
  torch::Tensor log_std;  // [action_dim]; undefined for discrete actions
  Mlp critic;
};

// (A - mean) / (std + 1e-8), with the unbiased standard deviation.
torch::Tensor standardized(const torch::Tensor& advantages);

// Values that a rollout stores for one step of all environments.
struct RolloutActions {
  torch::Tensor actions;    // as sampled; continuous actions are not clipped to [-1, 1]
  torch::Tensor log_probs;  // [rows]
  torch::Tensor values;     // V(s), [rows]
};

class OnPolicyAlgorithm : public Algorithm {
 public:
  OnPolicyAlgorithm(const OnPolicyOptions& options, const AlgorithmContext& context);

  // Samples actions and computes the values that updates need.
  RolloutActions roll(const torch::Tensor& obs);
  torch::Tensor state_values(const torch::Tensor& obs) const;
  // Whether the latest update requires that the remaining minibatches of the rollout are skipped.
  virtual bool rollout_used_up() const { return false; }

  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override;
  torch::Tensor log_density(const torch::Tensor& obs, const torch::Tensor& actions) const override;
  void visit_state(StateVisitor& state) override;

 protected:
  OnPolicyNetworks networks_;

 private:
  torch::Tensor draw(const ActionDistribution& distribution);

  Rng explore_rng_;
  NoiseBuffer noise_;
};

}  // namespace rl_training
