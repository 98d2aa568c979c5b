#include "rl_training/algorithms/td3.h"

#include "rl_training/models/losses.h"

namespace rl_training {

void Td3Options::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("policy_noise", policy_noise, at_least(0),
                 "standard deviation of the target policy's noise, in action units of [-1, 1]");
  options.number("noise_clip", noise_clip, at_least(0), "bound of that noise");
  options.integer("policy_delay", policy_delay, at_least(1),
                  "critic updates for each actor and target update");
  options.number("exploration_noise", exploration_noise, at_least(0),
                 "standard deviation of the noise on collected actions");
  environment.visit_options(options);
}

std::vector<PhaseSpec> Td3Options::phases(int64_t total_timesteps) const {
  return {{.name = "online",
           .source = PhaseSpec::Source::replay,
           .length = total_timesteps,
           .collect = environment}};
}

Td3Networks::Td3Networks(const std::vector<int64_t>& hidden_sizes, int64_t critic_count,
                         const AlgorithmContext& context, Rng rng)
    : actor(context.obs_dim(), context.action_dim(), {.hidden_sizes = hidden_sizes}, rng,
            context.compute),
      actor_target(actor),
      critics(context.obs_dim(), context.action_dim(),
              {.count = critic_count, .hidden_sizes = hidden_sizes}, rng, context.compute),
      critics_target(critics) {}

void Td3Networks::move_targets(double tau) {
  critics_target.network().polyak_from(critics.network(), tau);
  actor_target.network().polyak_from(actor.network(), tau);
}

void Td3Networks::visit_state(StateVisitor& state) {
  state.part("actor", actor);
  state.part("actor_target", actor_target);
  state.part("critics", critics);
  state.part("critics_target", critics_target);
}

// y = r + gamma (1 - d) min_i Q'_i(s', clip(pi'(s') + clip(sigma e, +-c), +-1));
// L = sum_i mean (Q_i(s, a) - y)^2
Loss td3_critic_loss(const Td3Networks& networks, const Batch& batch, const torch::Tensor& noise,
                     double policy_noise, double noise_clip) {
  torch::Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const auto clipped = (noise * policy_noise).clamp_(-noise_clip, noise_clip);
    const auto next_actions =
        networks.actor_target.actions(batch.next_obs()).add_(clipped).clamp_(-1.0, 1.0);
    const auto next_q = networks.critics_target.values(batch.next_obs(), next_actions);
    target = td_target(batch.rewards(), batch.discount(), minimum(next_q));
  }
  Loss result;
  result.loss = squared_error(networks.critics.values(batch.obs(), batch.actions()), target);
  result.metrics.set("critic_loss", result.loss);
  result.metrics.set("target_q_mean", target.mean());
  return result;
}

// L = -mean Q_1(s, pi(s))
Loss td3_actor_loss(const Td3Networks& networks, const Batch& batch) {
  const auto q =
      networks.critics.first_value(batch.obs(), networks.actor.actions(batch.obs()), Use::frozen);
  const auto q_mean = q.mean();
  Loss result;
  result.loss = -q_mean;
  result.metrics.set("actor_loss", result.loss);
  result.metrics.set("actor_q_mean", q_mean);
  return result;
}

Loss td3_loss(const Td3Networks& networks, const Batch& batch, const torch::Tensor& noise,
              const Td3Options& options) {
  auto result = td3_critic_loss(networks, batch, noise, options.policy_noise, options.noise_clip);
  const auto actor = td3_actor_loss(networks, batch);
  result.loss = result.loss + actor.loss;
  result.metrics.append(actor.metrics);
  return result;
}

torch::Tensor explore_around(const torch::Tensor& actions, double exploration_noise, Rng& rng,
                             NoiseBuffer& buffer) {
  return torch::add(actions, buffer.normal(rng, actions.sizes()), exploration_noise)
      .clamp_(-1.0, 1.0);
}

Td3::Td3(const Td3Options& options, const AlgorithmContext& context)
    : options_(options),
      rng_(context.seed, "policy"),
      explore_rng_(context.seed, "explore/policy"),
      networks_(options.hidden_sizes, options.critics, context, Rng(context.seed, "init")),
      actor_optimizer_(networks_.actor.network(), {.learning_rate = options.learning_rate},
                       context.compute),
      critic_optimizer_(networks_.critics.network(), {.learning_rate = options.learning_rate},
                        context.compute),
      actor_metrics_({"actor_loss", "actor_q_mean"}) {}

Metrics Td3::update(const Batch& batch, double lr_scale) {
  ++updates_;
  auto critic = td3_critic_loss(networks_, batch, noise_.normal(rng_, batch.actions().sizes()),
                                options_.policy_noise, options_.noise_clip);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  if (updates_ % options_.policy_delay == 0) {
    const auto actor = td3_actor_loss(networks_, batch);
    minimize(actor.loss, actor_optimizer_, lr_scale);
    networks_.move_targets(options_.tau);
    actor_metrics_.hold(actor.metrics);
  }
  actor_metrics_.report(critic.metrics);
  return critic.metrics;
}

torch::Tensor Td3::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  const auto actions = networks_.actor.actions(obs);
  if (mode == ActMode::greedy) return actions;
  return explore_around(actions, options_.exploration_noise, explore_rng_, explore_noise_);
}

void Td3::visit_state(StateVisitor& state) {
  networks_.visit_state(state);
  state.part("actor_optimizer", actor_optimizer_);
  state.part("critic_optimizer", critic_optimizer_);
  state.part("actor_metrics", actor_metrics_);
  state.part("policy_rng", rng_);
  state.part("explore_rng", explore_rng_);
  state.scalar("updates", updates_);
}

AlgorithmInfo td3_info() {
  return algorithm_info<Td3, Td3Options>(
      {.name = Td3Options::kName,
       .title = "TD3: twin delayed deterministic policy gradient",
       .paper = "arXiv:1802.09477",
       .metrics = {"critic_loss", "target_q_mean", "actor_loss", "actor_q_mean"}});
}

}  // namespace rl_training
