#include "rl_training/algorithms/crossq.h"

#include "rl_training/models/renorm_mlp.h"

namespace rl_training {

CrossqOptions::CrossqOptions() { learning_rate = 1e-3; }

void CrossqOptions::visit_options(OptionVisitor& options) {
  visit_supervised_options(options);
  options.integer("n_step", n_step, between(1, 1000),
                  "rewards summed before a target bootstraps, fewer at the end of an episode");
  visit_temperature_options(options);
  environment.visit_options(options);
  options.integers("critic_hidden_sizes", critic_hidden_sizes, between(1, 1 << 14),
                   "widths of the critics' hidden layers");
  options.integer("policy_delay", policy_delay, at_least(1),
                  "critic updates per update of actor and temperature");
  options.number("adam_beta1", adam_beta1, {.low = 0.0, .high = 1.0, .high_open = true},
                 "first-moment decay of Adam for actor and critics");
  options.number("renorm_momentum", renorm.momentum, strictly_between(0, 1),
                 "weight of the old running statistics in an update");
  options.number("renorm_r_max", renorm.r_max, at_least(1),
                 "bound on the ratio of the batch standard deviation to the running one");
  options.number("renorm_d_max", renorm.d_max, at_least(0),
                 "bound on the shift of the mean, in running standard deviations");
  options.integer("renorm_warmup_steps", renorm.warmup_steps, at_least(0),
                  "initial updates of a network that normalise by the batch alone");
}

void CrossqOptions::check() const {
  SoftOptions::check();
  if (batch_size >= 2) return;
  throw Error(ErrorKind::config, {"", 0, "batch_size"},
              "a batch of one row has no statistics (expected at least 2, got 1)");
}

namespace {

// Default initialisation of flax, as in the authors' code.
constexpr LayerInit kFlaxInit = {.weight = LayerInit::Weight::lecun_normal,
                                 .bias = LayerInit::Bias::constant};

std::unique_ptr<FeedForward> actor_network(const CrossqOptions& options,
                                           const AlgorithmContext& context, Rng& rng) {
  RenormMlpSpec spec;
  spec.inputs = context.obs_dim();
  spec.outputs = 2 * context.action_dim();
  spec.hidden_sizes = options.hidden_sizes;
  spec.init = kFlaxInit;
  spec.renorm = options.renorm;
  return std::make_unique<RenormMlp>(spec, rng, context.compute);
}

std::unique_ptr<FeedForward> critic_network(const CrossqOptions& options,
                                            const AlgorithmContext& context, Rng& rng) {
  RenormMlpSpec spec;
  spec.inputs = context.obs_dim() + context.action_dim();
  spec.outputs = 1;
  spec.hidden_sizes = options.critic_hidden_sizes;
  spec.init = kFlaxInit;
  spec.members = 2;
  spec.renorm = options.renorm;
  return std::make_unique<RenormMlp>(spec, rng, context.compute);
}

}  // namespace

CrossqNetworks::CrossqNetworks(const CrossqOptions& options, const AlgorithmContext& context,
                               Rng rng)
    : actor(actor_network(options, context, rng), context.action_dim(), {}),
      critics(critic_network(options, context, rng)) {}

void CrossqNetworks::visit_state(StateVisitor& state) {
  state.part("actor", actor);
  state.part("critics", critics);
}

// y = r + gamma (1 - d) (min_k sg(Q_k(s', a')) - alpha log pi(a'|s'))
// L = 1/2 sum_k mean (Q_k(s, a) - y)^2
// with a' ~ pi(s'), where sg stops the gradient. The actor uses its running statistics. One pass
// evaluates the critics at (s, a) and (s', a') and normalises with the statistics of all these
// rows.
CriticLoss crossq_critic_loss(const CrossqNetworks& networks, const Batch& batch,
                              const torch::Tensor& noise, const torch::Tensor& alpha) {
  const int64_t rows = batch.rows();
  GaussianSample next;
  {
    const torch::NoGradGuard no_grad;
    next = networks.actor.sample(batch.next_obs(), noise);
  }
  const auto both = [](const torch::Tensor& now, const torch::Tensor& later) {
    return torch::cat(std::vector<torch::Tensor>{now, later});
  };
  const auto values =
      networks.critics.values(both(batch.obs(), batch.next_obs()),
                              both(batch.actions(), next.actions), Use::train, Mode::train);
  const auto target = soft_td_target(batch.rewards(), batch.discount(),
                                     values.detach().narrow(1, rows, rows), next.log_prob, alpha);
  return {squared_error(values.narrow(1, 0, rows), target.values, 0.5), target.mean};
}

// L = mean (alpha log pi(b|s) - min_k Q_k(s, b))
// where b ~ pi(s) is reparameterised. The actor uses the statistics of the batch, and the critics
// use their running statistics.
SoftPolicyLoss crossq_actor_loss(const CrossqNetworks& networks, const Batch& batch,
                                 const torch::Tensor& noise, const torch::Tensor& alpha) {
  const auto sample = networks.actor.sample(batch.obs(), noise, Mode::train);
  const auto q = networks.critics.values(batch.obs(), sample.actions, Use::frozen);
  const auto [loss, entropy] = soft_actor_loss(sample.log_prob, q, alpha, Reduce::minimum);
  return {loss, entropy};
}

namespace {

// Selects the temperature loss alpha * (H - H_target); see TemperatureGoal.
TemperatureGoal crossq_goal(const CrossqOptions& options, const AlgorithmContext& context) {
  auto goal = options.goal(-static_cast<double>(context.action_dim()));
  goal.scaled_loss = true;
  return goal;
}

}  // namespace

Crossq::Crossq(const CrossqOptions& options, const AlgorithmContext& context)
    : ActorCritic(options, context),
      temperature_(options, crossq_goal(options, context), options.learning_rate, context.compute) {
}

Metrics Crossq::update(const Batch& batch, double lr_scale) {
  ++updates_;
  const auto& alpha = temperature_.value();
  const auto shape = batch.actions().sizes();
  const auto critic = crossq_critic_loss(networks_, batch, next_noise_.normal(rng_, shape), alpha);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  if (updates_ % options_.policy_delay == 0) {
    const auto actor = crossq_actor_loss(networks_, batch, noise_.normal(rng_, shape), alpha);
    minimize(actor.loss, actor_optimizer_, lr_scale);
    actor_loss_.hold(actor, temperature_.update(actor.entropy));
  }
  return metrics_of(critic, actor_loss_);
}

torch::Tensor Crossq::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  return explorer_.act(networks_.actor, obs, mode);
}

void Crossq::visit_state(StateVisitor& state) {
  ActorCritic::visit_state(state);
  state.part("alpha", temperature_);
  state.part("actor_metrics", actor_loss_);
  state.scalar("updates", updates_);
}

AlgorithmInfoOf<Crossq, CrossqOptions> crossq_info() {
  return algorithm_info<Crossq, CrossqOptions>(
      {.name = CrossqOptions::kName,
       .title = "CrossQ: batch renormalisation instead of target networks",
       .paper = "arXiv:1902.05605",
       .metrics = soft_metrics()});
}

}  // namespace rl_training
