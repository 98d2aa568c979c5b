#pragma once
#include <functional>

#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/models/conditional_vae.h"

namespace rl_training {

// Parts that BCQ and BEAR share: a behaviour model, and a policy that selects the best of several
// sampled actions.

struct BatchConstrainedOptions : AlgorithmOptions {
  int64_t n_action_samples = 10;
  int64_t eval_action_samples = 100;
  double lambda_min = 0.75;
  std::optional<int64_t> latent_dim;  // if unset, twice the action dimension
  double latent_clip = 0.5;
  double vae_kl_weight = 0.5;
  std::vector<int64_t> vae_hidden_sizes = {750, 750};
  double vae_learning_rate = 1e-3;

  void visit_options(OptionVisitor& options) override;
};

ConditionalVae make_behavior_vae(const BatchConstrainedOptions& options,
                                 const AlgorithmContext& context, Rng& rng);

struct VaeLoss : ConditionalVae::Terms {
  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("vae_loss", loss);
    visit("reconstruction_loss", reconstruction);
    visit("kl_loss", kl);
  }
};
// `noise` is standard normal, [rows, latent_dim].
VaeLoss behavior_vae_loss(const ConditionalVae& vae, const Batch& batch, const torch::Tensor& noise,
                          double kl_weight);

// The twin critics and their target networks. In the TD target, the smaller of the two target
// values has the weight `lambda_min`, and the larger one has the weight 1 - lambda_min.
struct CandidateCritics {
  const CriticEnsemble& online;
  const CriticEnsemble& target;
  double lambda_min;
};

struct CandidateCriticLoss {
  torch::Tensor loss, target_q_mean, candidate_q_mean;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("critic_loss", loss);
    visit("target_q_mean", target_q_mean);
    visit("candidate_q_mean", candidate_q_mean);
  }
};
// `next_actions` contains n candidates for each row of the batch, in consecutive rows: [rows * n,
// action_dim].
CandidateCriticLoss candidate_critic_loss(const CandidateCritics& critics, const Batch& batch,
                                          const torch::Tensor& next_actions);

// The number of candidates per observation, and how they are generated: `propose(obs, noise)` maps
// standard normal noise [rows * count, noise_dim] to actions [rows * count, action_dim].
struct CandidatePolicy {
  int64_t count, noise_dim;
  std::function<torch::Tensor(const torch::Tensor& obs, const torch::Tensor& noise)> propose;
};

// Returns the candidate with the largest Q_1 at each observation. The noise is drawn from
// `explore`. If `explore` is null, the noise is the same in every call and for every row, so the
// policy is a deterministic function of the observation.
torch::Tensor best_candidates(const CandidatePolicy& policy, const CriticEnsemble& critics,
                              const torch::Tensor& obs, Rng* explore);

// The greedy policy of `best_candidates` for export, in two parts. `describe_noise` returns the
// policy's fixed noise [count, noise_dim]. `describe_best` selects the candidate action with the
// largest Q_1. Its argument `obs` contains the observation once for each candidate.
PolicyGraph::Value describe_noise(PolicyGraph& graph, int64_t count, int64_t noise_dim);
PolicyGraph::Value describe_best(PolicyGraph& graph, const CriticEnsemble& critics,
                                 PolicyGraph::Value obs, PolicyGraph::Value actions);

}  // namespace rl_training
