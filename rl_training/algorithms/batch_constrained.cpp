#include "rl_training/algorithms/batch_constrained.h"

#include "rl_training/models/losses.h"

namespace rl_training {

void BatchConstrainedOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.integer("n_action_samples", n_action_samples, between(1, 1 << 14),
                  "candidate actions for each next state in the critics' target");
  options.integer("eval_action_samples", eval_action_samples, between(1, 1 << 14),
                  "candidate actions for each observation when acting");
  options.number("lambda_min", lambda_min, between(0, 1),
                 "weight of the smaller critic in the target; the larger one has the rest");
  options.integer("latent_dim", latent_dim, between(1, 1 << 14),
                  "width of the behaviour model's latent; null: twice the action dimension");
  options.number("latent_clip", latent_clip, above(0),
                 "bound of the latents from which the behaviour model generates actions");
  options.number("vae_kl_weight", vae_kl_weight, at_least(0),
                 "weight of the KL term in the behaviour model's loss");
  options.integers("vae_hidden_sizes", vae_hidden_sizes, between(1, 1 << 14),
                   "widths of the hidden layers of the behaviour model");
  options.number("vae_learning_rate", vae_learning_rate, above(0),
                 "Adam step size of the behaviour model");
}

ConditionalVae make_behavior_vae(const BatchConstrainedOptions& options,
                                 const AlgorithmContext& context, Rng& rng) {
  return {context.obs_dim(),
          context.action_dim(),
          {.latent_dim = options.latent_dim.value_or(0),
           .hidden_sizes = options.vae_hidden_sizes,
           .latent_clip = options.latent_clip},
          rng,
          context.compute};
}
namespace {

// Limits memory: observations are processed in chunks with at most this many candidate actions, but
// at least one observation.
constexpr int64_t kCandidatesAtOnce = 8192;

torch::Tensor draw_noise(Rng& rng, int64_t rows, int64_t columns) {
  auto noise = torch::empty({rows, columns});
  rng.fill_normal({noise.data_ptr<float>(), static_cast<size_t>(noise.numel())});
  return noise;
}

// The noise is the same in every call, so the greedy policy is a deterministic function of the
// observation.
torch::Tensor greedy_noise(int64_t count, int64_t noise_dim) {
  Rng fixed(0, "act");
  return draw_noise(fixed, count, noise_dim);
}

torch::Tensor best_of(const CandidatePolicy& policy, const CriticEnsemble& critics,
                      const torch::Tensor& obs, const torch::Tensor& noise) {
  const auto actions = policy.propose(obs, noise);
  const auto q = critics.first_value(repeat_rows(obs, policy.count), actions);
  const auto best = q.view({-1, policy.count}).argmax(1);
  const auto first = torch::arange(obs.size(0), best.options()) * policy.count;
  return actions.index_select(0, first + best);
}

}  // namespace

// L = mse(dec(s, mu + sigma e), a) + kl_weight KL(N(mu, sigma) | N(0, 1))
// with the encoder (mu, sigma) = enc(s, a), the decoder dec and noise e ~ N(0, 1). KL is the mean
// over rows and latent dimensions.
VaeLoss behavior_vae_loss(const ConditionalVae& vae, const Batch& batch, const torch::Tensor& noise,
                          double kl_weight) {
  return {vae.loss(batch.obs(), batch.actions(), noise, kl_weight)};
}

// y = r + gamma (1 - d) max_j [l min_k Q'_k(s', a_j) + (1 - l) max_k Q'_k(s', a_j)], l = lambda_min
// L = sum_k mean (Q_k(s, a) - y)^2
CandidateCriticLoss candidate_critic_loss(const CandidateCritics& critics, const Batch& batch,
                                          const torch::Tensor& next_actions) {
  torch::Tensor target, candidates;
  {
    const torch::NoGradGuard no_grad;
    const int64_t rows = batch.next_obs().size(0), count = next_actions.size(0) / rows;
    const auto q = critics.target.values(repeat_rows(batch.next_obs(), count), next_actions);
    candidates = min_max_mix(q, critics.lambda_min).view({rows, count});
    target = td_target(batch.rewards(), batch.discount(), candidates.amax(1));
  }
  const auto critic = critic_loss(critics.online, batch, target);
  return {critic.loss, critic.target_q_mean, candidates.mean()};
}

torch::Tensor best_candidates(const CandidatePolicy& policy, const CriticEnsemble& critics,
                              const torch::Tensor& obs, Rng* explore) {
  const torch::NoGradGuard no_grad;
  const auto shared =
      explore == nullptr ? greedy_noise(policy.count, policy.noise_dim) : torch::Tensor();
  const int64_t rows_at_once = std::max<int64_t>(1, kCandidatesAtOnce / policy.count);
  std::vector<torch::Tensor> actions;
  for (const auto& part : obs.split(rows_at_once)) {
    const int64_t rows = part.size(0);
    const auto noise = explore == nullptr
                           ? shared.repeat({rows, 1})
                           : draw_noise(*explore, rows * policy.count, policy.noise_dim);
    actions.push_back(best_of(policy, critics, part, noise));
  }
  return actions.size() == 1 ? actions.front() : torch::cat(actions);
}

PolicyGraph::Value describe_noise(PolicyGraph& graph, int64_t count, int64_t noise_dim) {
  return graph.constant(count, noise_dim,
                        copy_values(greedy_noise(count, noise_dim), 0, count * noise_dim));
}

PolicyGraph::Value describe_best(PolicyGraph& graph, const CriticEnsemble& critics,
                                 PolicyGraph::Value obs, PolicyGraph::Value actions) {
  if (graph.node(actions).rows == 1) return actions;
  const auto scores = critics.network().describe(graph, graph.concat(obs, actions));
  return graph.best(actions, scores);
}

}  // namespace rl_training
