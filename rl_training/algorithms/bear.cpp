#include "rl_training/algorithms/bear.h"

#include <cmath>

#include "rl_training/models/losses.h"

namespace rl_training {
namespace {

// With `mmd_alpha`, the multiplier is fixed at that value. A learnt multiplier starts at 1, clamped
// to its bounds.
double initial_log_alpha(const BearOptions& options) {
  if (options.mmd_alpha) return std::log(*options.mmd_alpha);
  return std::clamp(0.0, options.log_alpha_min, options.log_alpha_max);
}

}  // namespace

void BearOptions::visit_options(OptionVisitor& options) {
  BatchConstrainedOptions::visit_options(options);
  options.number("actor_learning_rate", actor_learning_rate, above(0),
                 "Adam step size of the actor");
  options.choice("mmd_kernel", mmd_kernel,
                 {{"gaussian", MmdKernel::gaussian}, {"laplacian", MmdKernel::laplacian}},
                 "kernel of the distance between policy and behaviour");
  options.number("mmd_sigma", mmd_sigma, above(0), "width of the kernel, exp(-distance / 2 sigma)");
  options.number("mmd_threshold", mmd_threshold, at_least(0),
                 "largest allowed distance between policy and behaviour");
  options.renamed("num_mmd_action_samples", "n_mmd_samples");
  options.integer("n_mmd_samples", n_mmd_samples, between(1, 1 << 10),
                  "samples of policy and behaviour for each distance");
  options.number("mmd_alpha", mmd_alpha, above(0),
                 "fixed weight of the distance; null: learnt as a Lagrange multiplier");
  options.number("lagrange_learning_rate", lagrange_learning_rate, above(0),
                 "Adam step size of the multiplier's logarithm, constant");
  options.number("log_alpha_min", log_alpha_min, between(-50, 50),
                 "lower bound of the multiplier's logarithm");
  options.number("log_alpha_max", log_alpha_max, between(-50, 50),
                 "upper bound of the multiplier's logarithm");
  options.integer("warmup_updates", warmup_updates, at_least(0),
                  "number of initial updates in which the actor only follows the behaviour");
  options.renamed("num_target_samples", "n_action_samples");
  options.renamed("behavior_kl_weight", "vae_kl_weight");
}

void BearOptions::check() const {
  if (log_alpha_min < log_alpha_max) return;
  throw Error(ErrorKind::config, {"", 0, "log_alpha_min"},
              "not below log_alpha_max (expected < " + Json(log_alpha_max).dump() + ", got " +
                  Json(log_alpha_min).dump() + ")");
}

BearNetworks::BearNetworks(const BearOptions& options, const AlgorithmContext& context, Rng rng)
    : vae(make_behavior_vae(options, context, rng)),
      actor(context.obs_dim(), context.action_dim(),
            {.hidden_sizes = options.hidden_sizes, .log_std_min = -5.0, .log_std_max = 2.0}, rng,
            context.compute),
      critics(context.obs_dim(), context.action_dim(), {.hidden_sizes = options.hidden_sizes}, rng,
              context.compute),
      critics_target(critics) {}

void BearNetworks::visit_state(StateVisitor& state) {
  state.part("vae", vae);
  state.part("actor", actor);
  state.part("critics", critics);
  state.part("critics_target", critics_target);
}

// a_j ~ pi(s'); y and L are computed from a_j as in candidate_critic_loss
CandidateCriticLoss bear_critic_loss(const BearNetworks& networks, const Batch& batch,
                                     const BearNoise& noise, const BearOptions& options) {
  torch::Tensor next_actions;
  {
    const torch::NoGradGuard no_grad;
    next_actions = networks.actor.sample(batch.next_obs(), noise.next_actions).actions;
  }
  return candidate_critic_loss({networks.critics, networks.critics_target, options.lambda_min},
                               batch, next_actions);
}

// L = mean(-min_k Q_k(s, a_1) + alpha (MMD(s) - eps))
// with a_1 = tanh(u_1) and eps = mmd_threshold. MMD compares u_1 .. u_n ~ pi(s) with n outputs of
// the decoder, both before tanh. During warm-up there is no Q term.
BearActorLoss bear_actor_loss(const BearNetworks& networks, const Batch& batch,
                              const BearNoise& noise, const torch::Tensor& alpha, bool warming_up,
                              const BearOptions& options) {
  const int64_t rows = batch.rows(), n = options.n_mmd_samples;
  torch::Tensor behavior;
  {
    const torch::NoGradGuard no_grad;
    const auto latents = networks.vae.prior_latents(noise.latents);
    behavior = networks.vae.decode_unbounded(repeat_rows(batch.obs(), n), latents);
  }
  const auto policy = networks.actor.sample(batch.obs(), noise.actions);
  const auto mmd =
      maximum_mean_discrepancy(behavior.view({rows, n, -1}), policy.unbounded.view({rows, n, -1}),
                               options.mmd_kernel, options.mmd_sigma)
          .mean();
  auto loss = alpha * (mmd - options.mmd_threshold);
  if (!warming_up) {
    const auto actions = policy.actions.view({rows, n, -1}).select(1, 0);
    const auto q = networks.critics.values(batch.obs(), actions, Use::frozen);
    loss = loss - minimum(q).mean();
  }
  return {loss, mmd, alpha};
}

// d/d log alpha of -alpha (mean MMD - eps)
torch::Tensor bear_multiplier_gradient(const torch::Tensor& alpha, const torch::Tensor& mmd_mean,
                                       const BearOptions& options) {
  return alpha * (options.mmd_threshold - mmd_mean);
}

JointLoss<VaeLoss, CandidateCriticLoss, BearActorLoss> bear_loss(
    const BearNetworks& networks, const Batch& batch, const BearNoise& noise,
    const torch::Tensor& alpha, bool warming_up, const BearOptions& options) {
  return joint_loss(behavior_vae_loss(networks.vae, batch, noise.encoder, options.vae_kl_weight),
                    bear_critic_loss(networks, batch, noise, options),
                    bear_actor_loss(networks, batch, noise, alpha, warming_up, options));
}

Bear::Bear(const BearOptions& options, const AlgorithmContext& context)
    : ActorCritic(options, context),
      vae_optimizer_(networks_.vae.parameters(), {.learning_rate = options.vae_learning_rate},
                     context.compute),
      multiplier_({.initial_log = initial_log_alpha(options),
                   .learning_rate = options.lagrange_learning_rate,
                   .log_min = options.log_alpha_min,
                   .log_max = options.log_alpha_max},
                  context.compute) {}

BearNoise Bear::draw_noise(int64_t rows) {
  const int64_t latent_dim = networks_.vae.latent_dim(), action_dim = networks_.actor.action_dim();
  const int64_t n = options_.n_mmd_samples;
  BearNoise noise;
  noise.encoder = encoder_noise_.normal(rng_, {rows, latent_dim});
  noise.next_actions =
      next_action_noise_.normal(rng_, {rows * options_.n_action_samples, action_dim});
  noise.actions = action_noise_.normal(rng_, {rows * n, action_dim});
  noise.latents = latent_noise_.normal(rng_, {rows * n, latent_dim});
  return noise;
}

// As in the paper, the losses of critics and actor are both computed before either network is
// updated. The actor is updated first, because its backward pass needs the unchanged critics.
Metrics Bear::update(const Batch& batch, double lr_scale) {
  const bool warming_up = updates_++ < options_.warmup_updates;
  const auto noise = draw_noise(batch.rows());
  const auto vae = behavior_vae_loss(networks_.vae, batch, noise.encoder, options_.vae_kl_weight);
  minimize(vae.loss, vae_optimizer_, lr_scale);

  const auto alpha = multiplier_.value();
  const auto critic = bear_critic_loss(networks_, batch, noise, options_);
  const auto actor = bear_actor_loss(networks_, batch, noise, alpha, warming_up, options_);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  if (!options_.mmd_alpha) {
    multiplier_.descend(bear_multiplier_gradient(alpha, without_graph(actor.mmd), options_));
  }
  networks_.critics_target.network().polyak_from(networks_.critics.network(), options_.tau);
  return metrics_of(vae, critic, actor);
}

torch::Tensor Bear::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  CandidatePolicy policy;
  policy.count = options_.eval_action_samples;
  policy.noise_dim = networks_.actor.action_dim();
  policy.propose = [this](const torch::Tensor& rows, const torch::Tensor& noise) {
    return networks_.actor.sample(rows, noise).actions;
  };
  return best_candidates(policy, networks_.critics, obs,
                         mode == ActMode::explore ? &explorer_.rng() : nullptr);
}

PolicyGraph::Value Bear::describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const {
  const auto noise =
      describe_noise(graph, options_.eval_action_samples, networks_.actor.action_dim());
  const auto actions = networks_.actor.describe_samples(graph, obs, noise);
  return describe_best(graph, networks_.critics, graph.repeat(obs, options_.eval_action_samples),
                       actions);
}

void Bear::visit_state(StateVisitor& state) {
  ActorCritic::visit_state(state);
  state.part("vae_optimizer", vae_optimizer_);
  state.part("multiplier", multiplier_);
  state.scalar("updates", updates_);
}

AlgorithmInfoOf<Bear, BearOptions> bear_info() {
  return algorithm_info<Bear, BearOptions>(
      {.name = BearOptions::kName,
       .title = "BEAR: an actor constrained to a distance from the behaviour policy",
       .paper = "arXiv:1906.00949",
       .metrics = metric_names_of<VaeLoss, CandidateCriticLoss, BearActorLoss>()});
}

}  // namespace rl_training
