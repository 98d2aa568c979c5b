#pragma once
#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/algorithms/temperature.h"

namespace rl_training {

// The defaults are CORL's settings for D4RL locomotion.
struct CqlOptions : AlgorithmOptions, TemperatureOptions {
  static constexpr const char* kName = "cql";
  CqlOptions();

  std::optional<double> actor_learning_rate = 3e-5, critic_learning_rate;
  double cql_alpha = 10.0;
  int64_t n_action_samples = 10;
  double cql_temperature = 1.0;
  std::optional<double> clip_diff_min, clip_diff_max;
  std::optional<double> lagrange_gap;
  bool max_target_backup = false;
  bool orthogonal_init = true;

  // Settings that only Cal-QL offers as config keys.
  std::vector<int64_t> critic_hidden_sizes;  // hidden_sizes if empty
  int64_t num_critics = 2;
  std::optional<int64_t> num_min_critics;  // critics drawn for each target; all if unset
  bool layer_norm = false;
  bool orthogonal_actor = false;
  std::optional<double> online_cql_alpha;  // weight in the online phase; cql_alpha if unset
  // In the online phase, update the actor only in the last update of each block of
  // gradient_updates_per_step updates.
  bool actor_once_per_block = false;

  void visit_options(OptionVisitor& options) override;
  AdamOptions actor_adam() const override {
    return {.learning_rate = actor_learning_rate.value_or(learning_rate)};
  }
  AdamOptions critic_adam() const override {
    return {.learning_rate = critic_learning_rate.value_or(learning_rate)};
  }
  void check() const override;
};

struct CqlNetworks : GaussianNetworks {
  CqlNetworks(const CqlOptions& options, const AlgorithmContext& context, Rng rng);
};

// Random values for one critic loss; n = n_action_samples.
struct CqlNoise {
  torch::Tensor target;   // standard normal, [rows, action_dim]; [rows * n, ...] with
                          // max_target_backup
  torch::Tensor now;      // standard normal, [rows * n, action_dim]
  torch::Tensor next;     // standard normal, [rows * n, action_dim]
  torch::Tensor uniform;  // in [-1, 1], [rows * n, action_dim]
};

// Actions for one critic loss, without gradient. The conservative term evaluates the critics at
// k = 1 + 3 n actions for each row: the dataset action, n uniform actions, n policy actions sampled
// at s', and n policy actions sampled at s. All are evaluated at the row's observation s.
struct CqlCandidates {
  torch::Tensor target_actions;  // policy actions at s', one per row of CqlNoise::target
  torch::Tensor actions;         // of the conservative term, [rows * k, action_dim]
  torch::Tensor log_density;     // of these actions except the dataset action, [rows, 3 n]
};
CqlCandidates cql_candidates(const CqlNetworks& networks, const Batch& batch,
                             const CqlNoise& noise);

// `noise` is standard normal, [rows, action_dim]; `alpha` is a scalar.
SoftPolicyLoss cql_actor_loss(const CqlNetworks& networks, const Batch& batch,
                              const torch::Tensor& noise, const torch::Tensor& alpha);

struct CqlCriticLoss {
  torch::Tensor loss, td_loss, diff, target_q_mean, data_q_mean;
  torch::Tensor bound_rate;  // fraction of policy actions with a value below CqlVariant::reference

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("critic_loss", loss);
    visit("td_loss", td_loss);
    visit("cql_diff", diff);
    visit("target_q_mean", target_q_mean);
    visit("data_q_mean", data_q_mean);
  }
};
// Changes that Cal-QL makes to the critic loss.
struct CqlVariant {
  // Lower bound of the values of the policy's actions in the conservative term: [rows]. No bound if
  // undefined.
  torch::Tensor reference = {};
  std::vector<int64_t> members = {};  // target critics to use; all if empty
  std::optional<double> weight = {};  // replaces cql_alpha
};
// `multiplier` is the Lagrange multiplier, or 1 if there is none. If the candidates have no
// `log_density`, the loss has no conservative term.
CqlCriticLoss cql_critic_loss(const CqlNetworks& networks, const Batch& batch,
                              const CqlCandidates& candidates, const torch::Tensor& multiplier,
                              const CqlOptions& options, const CqlVariant& variant = {});

// The learnt scalars: the temperature after the update, and the multiplier used in the critic loss.
struct CqlScalars {
  torch::Tensor alpha, multiplier;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("alpha", alpha);
    visit("lagrange_multiplier", multiplier);
  }
};

// CQL (arXiv:2006.04779): SAC whose critic values are pushed down at policy actions and up at
// dataset actions. This is the variant CQL(H) with importance sampling.
class Cql : public ActorCritic<CqlOptions, CqlNetworks> {
 public:
  Cql(const CqlOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override {
    return networks_.actor.describe_mode(graph, obs);
  }
  torch::Tensor log_density(const torch::Tensor& obs, const torch::Tensor& actions) const override {
    return gaussian_log_prob(networks_.actor.head(obs), actions);
  }
  void begin_phase(const PhaseSpec& phase, int64_t planned_updates) override;
  void visit_state(StateVisitor& state) override;

 protected:
  // One update. `reference` is CqlVariant::reference.
  CqlCriticLoss step(const Batch& batch, double lr_scale, const torch::Tensor& reference);
  const Held<SoftPolicyLoss, CqlScalars>& policy_loss() const { return policy_loss_; }

 private:
  CqlNoise draw_noise(int64_t rows, bool with_candidates);
  bool phases_differ() const { return options_.online_cql_alpha || options_.actor_once_per_block; }

  Temperature temperature_;
  LogScalar multiplier_;  // always 1 without lagrange_gap
  NoiseBuffer actor_noise_, target_noise_, now_noise_, next_noise_, uniform_noise_;
  Held<SoftPolicyLoss, CqlScalars> policy_loss_;
  // State of the current phase.
  bool online_ = false;
  int64_t actor_interval_ = 1, updates_ = 0;
};

AlgorithmInfoOf<Cql, CqlOptions> cql_info();

}  // namespace rl_training
