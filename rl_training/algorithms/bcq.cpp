#include "rl_training/algorithms/bcq.h"

#include "rl_training/models/losses.h"

namespace rl_training {

BcqOptions::BcqOptions() {
  batch_size = 100;
  hidden_sizes = {400, 300};
  learning_rate = 1e-3;
}

void BcqOptions::visit_options(OptionVisitor& options) {
  BatchConstrainedOptions::visit_options(options);
  options.renamed("num_action_samples", "n_action_samples");
  options.number("perturbation_scale", perturbation_scale, above(0),
                 "largest change of a proposed action, in action units of [-1, 1]");
}

BcqNetworks::BcqNetworks(const BcqOptions& options, const AlgorithmContext& context, Rng rng)
    : vae(make_behavior_vae(options, context, rng)),
      actor(context.obs_dim(), context.action_dim(),
            {.hidden_sizes = options.hidden_sizes, .scale = options.perturbation_scale}, rng,
            context.compute),
      actor_target(actor),
      critics(context.obs_dim(), context.action_dim(), {.hidden_sizes = options.hidden_sizes}, rng,
              context.compute),
      critics_target(critics) {}

void BcqNetworks::move_targets(double tau) {
  critics_target.network().polyak_from(critics.network(), tau);
  actor_target.network().polyak_from(actor.network(), tau);
}

void BcqNetworks::visit_state(StateVisitor& state) {
  state.part("vae", vae);
  state.part("actor", actor);
  state.part("actor_target", actor_target);
  state.part("critics", critics);
  state.part("critics_target", critics_target);
}

// a_j = xi'(s', dec(s', clip(e_j, +-c))) with target actor xi', decoder dec, noise e_j ~ N(0, 1)
// and c = latent_clip; y and L are computed from a_j as in candidate_critic_loss
CandidateCriticLoss bcq_critic_loss(const BcqNetworks& networks, const Batch& batch,
                                    const BcqNoise& noise, const BcqOptions& options) {
  torch::Tensor next_actions;
  {
    const torch::NoGradGuard no_grad;
    const auto obs = repeat_rows(batch.next_obs(), options.n_action_samples);
    const auto latents = networks.vae.prior_latents(noise.next_latents);
    next_actions = networks.actor_target.actions(obs, networks.vae.decode(obs, latents));
  }
  return candidate_critic_loss({networks.critics, networks.critics_target, options.lambda_min},
                               batch, next_actions);
}

// L = -mean Q_1(s, xi(s, b)), b = dec(s, clip(e, +-c))
// with actor xi, decoder dec, noise e ~ N(0, 1) and c = latent_clip; no gradient through b
BcqActorLoss bcq_actor_loss(const BcqNetworks& networks, const Batch& batch,
                            const BcqNoise& noise) {
  torch::Tensor proposed;
  {
    const torch::NoGradGuard no_grad;
    proposed = networks.vae.decode(batch.obs(), networks.vae.prior_latents(noise.latents));
  }
  const auto actions = networks.actor.actions(batch.obs(), proposed);
  return {-networks.critics.first_value(batch.obs(), actions, Use::frozen).mean()};
}

JointLoss<VaeLoss, CandidateCriticLoss, BcqActorLoss> bcq_loss(const BcqNetworks& networks,
                                                               const Batch& batch,
                                                               const BcqNoise& noise,
                                                               const BcqOptions& options) {
  return joint_loss(behavior_vae_loss(networks.vae, batch, noise.encoder, options.vae_kl_weight),
                    bcq_critic_loss(networks, batch, noise, options),
                    bcq_actor_loss(networks, batch, noise));
}

Bcq::Bcq(const BcqOptions& options, const AlgorithmContext& context)
    : ActorCritic(options, context),
      vae_optimizer_(networks_.vae.parameters(), {.learning_rate = options.vae_learning_rate},
                     context.compute) {}

Metrics Bcq::update(const Batch& batch, double lr_scale) {
  const int64_t rows = batch.rows(), latent_dim = networks_.vae.latent_dim();
  BcqNoise noise;
  noise.encoder = encoder_noise_.normal(rng_, {rows, latent_dim});
  noise.next_latents =
      next_latent_noise_.normal(rng_, {rows * options_.n_action_samples, latent_dim});
  noise.latents = latent_noise_.normal(rng_, {rows, latent_dim});

  const auto vae = behavior_vae_loss(networks_.vae, batch, noise.encoder, options_.vae_kl_weight);
  minimize(vae.loss, vae_optimizer_, lr_scale);
  const auto critic = bcq_critic_loss(networks_, batch, noise, options_);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  const auto actor = bcq_actor_loss(networks_, batch, noise);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  networks_.move_targets(options_.tau);
  return metrics_of(vae, critic, actor);
}

torch::Tensor Bcq::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  CandidatePolicy policy;
  policy.count = options_.eval_action_samples;
  policy.noise_dim = networks_.vae.latent_dim();
  policy.propose = [this](const torch::Tensor& rows, const torch::Tensor& noise) {
    const auto repeated = repeat_rows(rows, options_.eval_action_samples);
    const auto latents = networks_.vae.prior_latents(noise);
    return networks_.actor.actions(repeated, networks_.vae.decode(repeated, latents));
  };
  return best_candidates(policy, networks_.critics, obs,
                         mode == ActMode::explore ? &explorer_.rng() : nullptr);
}

PolicyGraph::Value Bcq::describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const {
  const auto noise =
      describe_noise(graph, options_.eval_action_samples, networks_.vae.latent_dim());
  const auto rows = graph.repeat(obs, options_.eval_action_samples);
  const auto actions =
      networks_.actor.describe(graph, rows, networks_.vae.describe(graph, rows, noise));
  return describe_best(graph, networks_.critics, rows, actions);
}

void Bcq::visit_state(StateVisitor& state) {
  ActorCritic::visit_state(state);
  state.part("vae_optimizer", vae_optimizer_);
}

AlgorithmInfoOf<Bcq, BcqOptions> bcq_info() {
  return algorithm_info<Bcq, BcqOptions>(
      {.name = BcqOptions::kName,
       .title = "BCQ: batch-constrained Q-learning over proposed actions",
       .paper = "arXiv:1812.02900",
       .metrics = metric_names_of<VaeLoss, CandidateCriticLoss, BcqActorLoss>()});
}

}  // namespace rl_training
