#include "rl_training/algorithms/crr.h"

#include "rl_training/models/losses.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

LayerNorm layer_norm(const CrrOptions& options) {
  return options.layer_norm ? LayerNorm::before_activation : LayerNorm::none;
}

GaussianActor::Options actor_options(const CrrOptions& options) {
  GaussianActor::Options result;
  result.hidden_sizes = options.hidden_sizes;
  result.log_std_min = options.log_std.min;
  result.log_std_max = options.log_std.max;
  result.layer_norm = layer_norm(options);
  return result;
}

}  // namespace

void CrrOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.choice(
      "advantage_type", advantage_type,
      {{"mean", AdvantageType::mean}, {"max", AdvantageType::max}},
      "Q of the dataset action minus the mean or the largest Q of the policy's own actions");
  options.choice("weight_type", weight_type,
                 {{"exp", WeightType::exp}, {"binary", WeightType::binary}},
                 "exp(advantage / beta) up to max_weight, or 1 where the advantage is positive and "
                 "0 elsewhere");
  options.number("beta", beta, above(0),
                 "temperature of exp weights and of the critic-weighted policy");
  options.integer("n_action_samples", n_action_samples, between(1, 1024),
                  "policy actions with which each dataset action is compared");
  options.number("max_weight", max_weight, above(0), "largest exp weight of a row");
  options.flag("layer_norm", layer_norm, "LayerNorm in the hidden layers of actor and critics");
  options.flag(
      "critic_weighted_policy", critic_weighted_policy,
      "act with one of n_action_samples actions, chosen with probability softmax(Q / beta)");
  log_std.visit_options(options);
}

void CrrOptions::check() const {
  log_std.check();
  if (critic_weighted_policy && n_action_samples < 2) {
    throw Error(ErrorKind::config, {"", 0, "critic_weighted_policy"},
                "a choice needs several samples (expected n_action_samples >= 2, got 1)");
  }
}

CrrNetworks::CrrNetworks(const CrrOptions& options, const AlgorithmContext& context, Rng rng)
    : GaussianNetworks(actor_options(options),
                       {.hidden_sizes = options.hidden_sizes, .layer_norm = layer_norm(options)},
                       context, rng),
      actor_target(actor) {}

void CrrNetworks::visit_state(StateVisitor& state) {
  GaussianNetworks::visit_state(state);
  state.part("actor_target", actor_target);
}

torch::Tensor crr_advantage(const torch::Tensor& q, const torch::Tensor& candidate_q,
                            const CrrOptions& options) {
  const torch::NoGradGuard no_grad;
  const bool mean = options.advantage_type == CrrOptions::AdvantageType::mean;
  return q - (mean ? candidate_q.mean(1) : candidate_q.amax(1));
}

torch::Tensor crr_weights(const torch::Tensor& advantage, const CrrOptions& options) {
  const torch::NoGradGuard no_grad;
  if (options.weight_type == CrrOptions::WeightType::binary) {
    return advantage.gt(0).to(advantage.scalar_type());
  }
  return exp_weights(advantage, 1.0 / options.beta, options.max_weight);
}

torch::Tensor crr_choose(const torch::Tensor& candidate_q, const torch::Tensor& uniform,
                         const CrrOptions& options) {
  const auto share = torch::softmax(candidate_q / options.beta, 1).cumsum(1);
  return share.le(uniform).sum(1).clamp_max_(candidate_q.size(1) - 1);
}

// y = r + gamma (1 - d) min_i Q'_i(s', a'), a' ~ pi'(s');  L = sum_i mean (Q_i(s, a) - y)^2
CriticLoss crr_critic_loss(const CrrNetworks& networks, const Batch& batch,
                           const torch::Tensor& noise) {
  torch::Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const auto next_actions = gaussian_actions(networks.actor_target.head(batch.next_obs()), noise);
    const auto next_q = networks.critics_target.values(batch.next_obs(), next_actions);
    target = td_target(batch.rewards(), batch.discount(), minimum(next_q));
  }
  return critic_loss(networks.critics, batch, target);
}

// A = min_i Q_i(s, a) - mean_j min_i Q_i(s, a_j) with samples a_1 .. a_n ~ pi(s). For
// `advantage_type: max`, max_j replaces mean_j.
// w = min(exp(A / beta), max_weight) for `weight_type: exp`, or 1[A > 0] for `weight_type: binary`.
// L = -mean w log pi(a | s), without gradient through w
CrrActorLoss crr_actor_loss(const CrrNetworks& networks, const Batch& batch,
                            const torch::Tensor& noise, const CrrOptions& options) {
  const auto head = networks.actor.head(batch.obs());
  const int64_t n = options.n_action_samples;
  torch::Tensor advantage;
  {
    const torch::NoGradGuard no_grad;
    const auto candidates =
        networks.critics.values(repeat_rows(batch.obs(), n), gaussian_actions(head, noise));
    advantage = crr_advantage(minimum(networks.critics.values(batch.obs(), batch.actions())),
                              minimum(candidates).view({-1, n}), options);
  }
  const auto weights = crr_weights(advantage, options);
  return {weighted_cloning(weights, gaussian_log_prob(head, batch.actions())), advantage.mean(),
          weights.mean(), advantage.gt(0).to(torch::kFloat).mean()};
}

JointLoss<CriticLoss, CrrActorLoss> crr_loss(const CrrNetworks& networks, const Batch& batch,
                                             const torch::Tensor& critic_noise,
                                             const torch::Tensor& actor_noise,
                                             const CrrOptions& options) {
  return joint_loss(crr_critic_loss(networks, batch, critic_noise),
                    crr_actor_loss(networks, batch, actor_noise, options));
}

Metrics Crr::update(const Batch& batch, double lr_scale) {
  const int64_t rows = batch.actions().size(0), action_dim = batch.actions().size(1);
  const auto critic = crr_critic_loss(networks_, batch, noise_.normal(rng_, {rows, action_dim}));
  minimize(critic.loss, critic_optimizer_, lr_scale);
  const auto actor = crr_actor_loss(
      networks_, batch,
      candidate_noise_.normal(rng_, {rows * options_.n_action_samples, action_dim}), options_);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  networks_.move_target(options_.tau);
  networks_.actor_target.polyak_from(networks_.actor, options_.tau);
  return metrics_of(critic, actor);
}

torch::Tensor Crr::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  if (options_.critic_weighted_policy) return act_critic_weighted(obs, mode);
  return explorer_.act(networks_.actor, obs, mode);
}

PolicyGraph::Value Crr::describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const {
  if (options_.critic_weighted_policy) {
    throw Error(ErrorKind::config, {"", 0, "algo_kwargs.critic_weighted_policy"},
                "cannot be exported: the policy draws among samples by their values (expected "
                "critic_weighted_policy: false, whose policy is a function of the observation)");
  }
  return networks_.actor.describe_mode(graph, obs);
}

// In greedy mode, every row of every call uses the same draws, so the policy is a deterministic
// function of the observation. In explore mode, each row has its own draws.
torch::Tensor Crr::act_critic_weighted(const torch::Tensor& obs, ActMode mode) {
  const torch::NoGradGuard no_grad;
  const int64_t rows = obs.size(0), n = options_.n_action_samples;
  const int64_t action_dim = networks_.actor.action_dim();
  Rng fixed(0, "act");
  Rng& rng = mode == ActMode::greedy ? fixed : explorer_.rng();
  const int64_t draws = mode == ActMode::greedy ? 1 : rows;
  const auto noise =
      candidate_noise_.normal(rng, {draws, n * action_dim}).expand({rows, n * action_dim});
  const auto& uniform = uniform_.uniform(rng, {draws, 1}, 0.0, 1.0);

  const auto candidates =
      gaussian_actions(networks_.actor.head(obs), noise.reshape({rows * n, action_dim}));
  const auto q = minimum(networks_.critics.values(repeat_rows(obs, n), candidates));
  const auto chosen = crr_choose(q.view({rows, n}), uniform, options_);
  return candidates.index_select(0, torch::arange(0, rows * n, n) + chosen);
}

AlgorithmInfoOf<Crr, CrrOptions> crr_info() {
  return algorithm_info<Crr, CrrOptions>({.name = CrrOptions::kName,
                                          .title = "CRR: critic-regularized regression",
                                          .paper = "arXiv:2006.15134",
                                          .metrics = metric_names_of<CriticLoss, CrrActorLoss>()});
}

}  // namespace rl_training
