#include "rl_training/algorithms/rebrac.h"

#include "rl_training/models/losses.h"

namespace rl_training {
namespace {

// Hidden layers: weights by fan-in, biases 0.1. Heads: everything in a narrow interval.
LayerInit hidden_init() {
  return {LayerInit::Weight::fan_in_uniform, 1.0, LayerInit::Bias::constant, 0.1};
}

LayerInit head_init(double bound) {
  return {LayerInit::Weight::uniform, bound, LayerInit::Bias::uniform, bound};
}

// sum_j (x_j - y_j)^2 of each row.
torch::Tensor squared_distance(const torch::Tensor& x, const torch::Tensor& y) {
  return (x - y).square().sum(1);
}

}  // namespace

RebracOptions::RebracOptions() {
  hidden_sizes = {256, 256, 256};
  batch_size = 1024;
  learning_rate = 1e-3;
}

void RebracOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("actor_learning_rate", actor_learning_rate, above(0),
                 "Adam step size of the actor; learning_rate where it is left out");
  options.number("critic_learning_rate", critic_learning_rate, above(0),
                 "Adam step size of the critics; learning_rate where it is left out");
  options.number("actor_bc_weight", actor_bc_weight, above(0),
                 "weight of the cloning term in the actor's loss");
  options.number("critic_bc_weight", critic_bc_weight, at_least(0),
                 "weight of the cloning penalty in the critics' target");
  options.number("exploration_noise", exploration_noise, at_least(0),
                 "standard deviation of the noise on actions collected online");
  options.number("online_bc_floor", online_bc_floor, between(0, 1),
                 "share of actor_bc_weight that is left at the end of learning online");
  options.number("actor_q_weight", actor_q_weight, above(0), "weight of Q in the actor's loss");
  options.flag("normalize_q", normalize_q, "divide Q in the actor's loss by its mean size");
  options.number("policy_noise", policy_noise, at_least(0),
                 "standard deviation of the target policy's noise, in action units of [-1, 1]");
  options.number("noise_clip", noise_clip, at_least(0), "bound of that noise");
  options.integer("policy_delay", policy_delay, at_least(1),
                  "critic updates for each actor and target update");
  options.choice("next_action_fallback", next_action_fallback,
                 {"none", "zero_penalty", "current_action"},
                 "rows without a next action: left out, used without penalty, or the row's own "
                 "action in its place");
}

BatchRequest RebracOptions::request() const {
  auto request = AlgorithmOptions::request();
  for (const auto column :
       {BatchColumn::terminated, BatchColumn::next_action, BatchColumn::next_action_valid}) {
    request.columns.push_back(column);
  }
  return request;
}

bool RebracOptions::needs_next_actions() const {
  return critic_bc_weight > 0 && next_action_fallback == "none";
}

RebracNetworks::RebracNetworks(const RebracOptions& options, const AlgorithmContext& context,
                               Rng rng)
    : actor(context.obs_dim(), context.action_dim(),
            {.hidden_sizes = options.hidden_sizes,
             .hidden_init = hidden_init(),
             .output_init = head_init(1e-3)},
            rng, context.compute),
      actor_target(actor),
      critics(context.obs_dim(), context.action_dim(),
              {.hidden_sizes = options.hidden_sizes,
               .layer_norm = LayerNorm::after_activation,
               .layer_norm_eps = 1e-6,
               .hidden_init = hidden_init(),
               .output_init = head_init(3e-3)},
              rng, context.compute),
      critics_target(critics) {}

// y = r + gamma (1 - d) (min_i Q'_i(s', b) - beta_2 |b - a'|^2), b = clip(pi'(s') + clip(sigma e,
// +-c), +-1);  L = sum_i mean (Q_i(s, a) - y)^2
Loss rebrac_critic_loss(const RebracNetworks& networks, const Batch& batch,
                        const torch::Tensor& noise, const RebracOptions& options) {
  torch::Tensor target, penalty, known;
  {
    const torch::NoGradGuard no_grad;
    const auto clipped =
        (noise * options.policy_noise).clamp_(-options.noise_clip, options.noise_clip);
    const auto next_policy =
        networks.actor_target.actions(batch.next_obs()).add_(clipped).clamp_(-1.0, 1.0);
    const auto next_q = networks.critics_target.values(batch.next_obs(), next_policy);
    known = torch::maximum(batch.next_action_valid(), batch.terminated());
    if (options.next_action_fallback == "current_action") {
      const auto valid = batch.next_action_valid().unsqueeze(1);
      const auto reference = torch::lerp(batch.actions(), batch.next_actions(), valid);
      penalty = squared_distance(next_policy, reference);
    } else {
      penalty = squared_distance(next_policy, batch.next_actions()).mul_(batch.next_action_valid());
    }
    const auto next_value = minimum(next_q).sub_(penalty, options.critic_bc_weight);
    target = td_target(batch.rewards(), batch.discount(), next_value);
  }
  const auto q = networks.critics.values(batch.obs(), batch.actions());
  Loss result;
  result.loss = squared_error(q, target);
  result.metrics.set("critic_loss", result.loss);
  result.metrics.set("target_q_mean", target.mean());
  result.metrics.set("critic_bc_penalty", penalty.mean());
  result.metrics.set("next_action_coverage", known.mean());
  return result;
}

// q = min_i Q_i(s, pi(s)), lambda = 1 / mean |q| (no gradient);
// L = mean (beta_1 |pi(s) - a|^2 - w lambda q)
Loss rebrac_actor_loss(const RebracNetworks& networks, const Batch& batch,
                       const RebracOptions& options) {
  const auto actions = networks.actor.actions(batch.obs());
  const auto q = minimum(networks.critics.values(batch.obs(), actions, Use::frozen));
  const auto q_mean = q.mean();
  const auto lambda = options.normalize_q ? 1.0 / q.detach().abs().mean().clamp_min(1e-6)
                                          : torch::ones({}, q.options().requires_grad(false));
  const auto bc_loss = squared_distance(actions, batch.actions()).mean();
  Loss result;
  result.loss = options.actor_bc_weight * bc_loss - options.actor_q_weight * lambda * q_mean;
  result.metrics.set("actor_loss", result.loss);
  result.metrics.set("actor_bc_loss", bc_loss);
  result.metrics.set("bc_lambda", lambda);
  result.metrics.set("actor_q_mean", q_mean);
  return result;
}

Loss rebrac_loss(const RebracNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                 const RebracOptions& options) {
  auto result = rebrac_critic_loss(networks, batch, noise, options);
  const auto actor = rebrac_actor_loss(networks, batch, options);
  result.loss = result.loss + actor.loss;
  result.metrics.append(actor.metrics);
  return result;
}

Rebrac::Rebrac(const RebracOptions& options, const AlgorithmContext& context)
    : options_(options),
      rng_(context.seed, "policy"),
      explore_rng_(context.seed, "explore/policy"),
      networks_(options, context, Rng(context.seed, "init")),
      actor_optimizer_(
          networks_.actor.network(),
          {.learning_rate = options.actor_learning_rate.value_or(options.learning_rate)},
          context.compute),
      critic_optimizer_(
          networks_.critics.network(),
          {.learning_rate = options.critic_learning_rate.value_or(options.learning_rate)},
          context.compute),
      actor_metrics_({"actor_loss", "actor_bc_loss", "bc_lambda", "actor_q_mean"}) {}

Metrics Rebrac::update(const Batch& batch, double lr_scale) {
  auto critic =
      rebrac_critic_loss(networks_, batch, noise_.normal(rng_, batch.actions().sizes()), options_);
  minimize(critic.loss, critic_optimizer_, lr_scale);

  if (updates_ % options_.policy_delay == 0) {  // the first update is one with the actor
    auto options = options_;
    options.actor_bc_weight *= online_decay();
    const auto actor = rebrac_actor_loss(networks_, batch, options);
    minimize(actor.loss, actor_optimizer_, lr_scale);
    networks_.critics_target.network().polyak_from(networks_.critics.network(), options_.tau);
    networks_.actor_target.network().polyak_from(networks_.actor.network(), options_.tau);
    actor_metrics_.hold(actor.metrics);
  }
  ++updates_;
  actor_metrics_.report(critic.metrics);
  return critic.metrics;
}

torch::Tensor Rebrac::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  const auto actions = networks_.actor.actions(obs);
  if (mode == ActMode::greedy) return actions;
  return explore_around(actions, options_.exploration_noise, explore_rng_, explore_noise_);
}

// The authors' fine-tuning drops the critics' penalty, as collected rows need no anchor, and lets
// the actor's go linearly.
void Rebrac::begin_phase(const PhaseSpec& phase, int64_t planned_updates) {
  if (!phase.collects()) return;
  online_ = true;
  online_start_ = updates_;
  online_length_ = planned_updates;
  options_.critic_bc_weight = 0;
}

double Rebrac::online_decay() const {
  if (!online_) return 1.0;
  const auto left = static_cast<double>(online_start_ + online_length_ - updates_);
  return std::max(options_.online_bc_floor, left / static_cast<double>(online_length_));
}

void Rebrac::visit_state(StateVisitor& state) {
  state.part("actor", networks_.actor);
  state.part("actor_target", networks_.actor_target);
  state.part("critics", networks_.critics);
  state.part("critics_target", networks_.critics_target);
  state.part("actor_optimizer", actor_optimizer_);
  state.part("critic_optimizer", critic_optimizer_);
  state.part("actor_metrics", actor_metrics_);
  state.part("policy_rng", rng_);
  state.part("explore_rng", explore_rng_);
  state.scalar("online", online_);
  state.scalar("online_start", online_start_);
  state.scalar("online_length", online_length_);
  if (online_) options_.critic_bc_weight = 0;
  state.scalar("updates", updates_);
}

AlgorithmInfo rebrac_info() {
  return algorithm_info<Rebrac, RebracOptions>(
      {.name = RebracOptions::kName,
       .title = "ReBRAC: TD3+BC with cloning penalties in actor and critics",
       .paper = "arXiv:2305.09836",
       .metrics = {"critic_loss", "target_q_mean", "critic_bc_penalty", "next_action_coverage",
                   "actor_loss", "actor_bc_loss", "bc_lambda", "actor_q_mean"}});
}

}  // namespace rl_training
