#include "rl_training/algorithms/soft_actor_critic.h"

#include <charconv>
#include <cmath>
#include <numeric>

namespace rl_training {

void SoftOptions::visit_temperature_options(OptionVisitor& options) {
  options.text("alpha", alpha, "entropy temperature: auto, auto:<first value> or a fixed number");
  options.number("target_entropy", target_entropy, any_number(),
                 "entropy that an automatic temperature aims at; default from the action size");
}

void SoftOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  visit_temperature_options(options);
  environment.visit_options(options);
}

double SoftOptions::first_alpha() const {
  if (alpha == "auto") return 1.0;
  const std::string_view text =
      alpha.starts_with("auto:") ? std::string_view(alpha).substr(5) : std::string_view(alpha);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc() && end == text.data() + text.size();
  if (number && std::isfinite(value) && (automatic_alpha() ? value > 0 : value >= 0)) return value;
  throw Error(ErrorKind::config, {"", 0, "alpha"},
              "not a temperature (expected auto, auto:<number above 0> or a number >= 0, got " +
                  alpha + ")");
}

void SoftOptions::check() const {
  first_alpha();
  if (automatic_alpha() || !target_entropy) return;
  throw Error(ErrorKind::config, {"", 0, "target_entropy"},
              "has no effect on a fixed temperature (expected alpha: auto, got " + alpha + ")");
}

std::vector<PhaseSpec> SoftOptions::phases(int64_t total_timesteps) const {
  return {{.name = "online",
           .source = PhaseSpec::Source::replay,
           .length = total_timesteps,
           .collect = environment}};
}

SoftNetworks::SoftNetworks(const SoftOptions& options, const SoftDesign& design,
                           const AlgorithmContext& context, Rng rng)
    : actor(context.obs_dim(), context.action_dim(),
            {.hidden_sizes = options.hidden_sizes,
             .hidden_init = design.init,
             .output_init = design.init},
            rng, context.compute),
      critics(context.obs_dim(), context.action_dim(),
              {.count = design.critics,
               .hidden_sizes = options.hidden_sizes,
               .layer_norm = design.layer_norm,
               .layer_norm_eps = 1e-6,
               .hidden_init = design.init,
               .output_init = design.init},
              rng, context.compute),
      critics_target(critics) {}

std::vector<std::string> soft_metrics() {
  return {"critic_loss", "target_q_mean", "actor_loss", "entropy", "temperature_loss", "alpha"};
}

namespace {

// Values of the chosen members, [chosen, rows]; in one pass where all are chosen.
torch::Tensor target_values(const CriticEnsemble& critics, const torch::Tensor& obs,
                            const torch::Tensor& actions, const std::vector<int64_t>& members) {
  if (static_cast<int64_t>(members.size()) == critics.network().members()) {
    return critics.values(obs, actions);
  }
  std::vector<torch::Tensor> values;
  for (const int64_t member : members) {
    values.push_back(critics.network().forward_member(member, obs, actions).squeeze(1));
  }
  return torch::stack(values);
}

}  // namespace

// a' ~ pi(s');  y = r + gamma (1 - d) (min_{i in M} Q'_i(s', a') - alpha log pi(a'|s'));
// L = c sum_i mean (Q_i(s, a) - y)^2
Loss soft_critic_loss(const SoftNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                      const std::vector<int64_t>& members, const torch::Tensor& alpha,
                      const SoftOptions& options, const SoftDesign& design) {
  SoftTarget target;
  {
    const torch::NoGradGuard no_grad;
    const auto next = networks.actor.sample(batch.next_obs(), noise);
    target = soft_td_target(
        batch.rewards(), batch.discount(),
        target_values(networks.critics_target, batch.next_obs(), next.actions, members),
        design.backup_entropy ? next.log_prob : torch::Tensor(), alpha);
  }
  Loss result;
  result.loss = squared_error(networks.critics.values(batch.obs(), batch.actions()), target.values,
                              design.critic_loss_scale);
  result.metrics.set("critic_loss", result.loss);
  result.metrics.set("target_q_mean", target.mean);
  return result;
}

// a ~ pi(s), reparameterised;  L = mean (alpha log pi(a|s) - min or mean_i Q_i(s, a))
Loss soft_policy_loss(const SoftNetworks& networks, const Batch& batch, const torch::Tensor& noise,
                      const torch::Tensor& alpha, const SoftDesign& design) {
  const auto sample = networks.actor.sample(batch.obs(), noise);
  const auto q = networks.critics.values(batch.obs(), sample.actions, Use::frozen);
  const auto [loss, entropy] = soft_actor_loss(sample.log_prob, q, alpha, design.actor_reduce);
  Loss result;
  result.loss = loss;
  result.metrics.set("actor_loss", loss);
  result.metrics.set("entropy", entropy);
  return result;
}

// L = log alpha (H - H_target), or alpha (H - H_target); `loss` is its derivative by log alpha
Loss soft_temperature_loss(const torch::Tensor& alpha, const torch::Tensor& entropy,
                           const SoftDesign& design) {
  const double excess = static_cast<double>(number(entropy)) - design.target_entropy;
  const auto multiplier = static_cast<double>(number(alpha));
  Loss result;
  result.loss = scalar(design.scaled_temperature_loss ? multiplier * excess : excess);
  result.metrics.set("temperature_loss", design.scaled_temperature_loss
                                             ? result.loss
                                             : scalar(std::log(multiplier) * excess));
  return result;
}

Loss soft_temperature_loss(const torch::Tensor& alpha, const torch::Tensor& entropy,
                           const SoftOptions& options, const SoftDesign& design) {
  if (options.automatic_alpha()) return soft_temperature_loss(alpha, entropy, design);
  Loss none;
  none.metrics.set("temperature_loss", scalar(0));
  return none;
}

Loss soft_loss(const SoftNetworks& networks, const Batch& batch, const torch::Tensor& noise,
               const std::vector<int64_t>& members, const torch::Tensor& alpha,
               const SoftOptions& options, const SoftDesign& design) {
  const int64_t rows = batch.obs().size(0);
  auto result =
      soft_critic_loss(networks, batch, noise.narrow(0, 0, rows), members, alpha, options, design);
  const auto actor = soft_policy_loss(networks, batch, noise.narrow(0, rows, rows), alpha, design);
  result.loss = result.loss + actor.loss;
  result.metrics.append(actor.metrics);
  const auto& entropy = actor.metrics.get("entropy");
  result.metrics.append(soft_temperature_loss(alpha, entropy, options, design).metrics);
  result.metrics.set("alpha", alpha);
  return result;
}

SoftActorCritic::SoftActorCritic(const SoftOptions& options, const SoftDesign& design,
                                 const AlgorithmContext& context)
    : options_(options),
      design_(design),
      rng_(context.seed, "policy"),
      explore_rng_(context.seed, "explore/policy"),
      networks_(options, design, context, Rng(context.seed, "init")),
      actor_optimizer_(networks_.actor.parameters(), {.learning_rate = options.learning_rate},
                       context.compute),
      critic_optimizer_(networks_.critics.network(), {.learning_rate = options.learning_rate},
                        context.compute),
      alpha_(
          {.initial_log = std::log(options.first_alpha()), .learning_rate = options.learning_rate},
          context.compute),
      members_(static_cast<size_t>(design.critics)),
      actor_metrics_({"actor_loss", "entropy", "temperature_loss", "alpha"}) {
  std::iota(members_.begin(), members_.end(), 0);
}

// The first `target_critics` places of a shuffle; nothing is drawn where all are wanted.
const std::vector<int64_t>& SoftActorCritic::draw_members() {
  const auto count = static_cast<size_t>(design_.critics);
  const auto wanted = static_cast<size_t>(design_.target_critics);
  if (wanted == count) return members_;
  members_.resize(count);
  std::iota(members_.begin(), members_.end(), 0);
  for (size_t i = 0; i < wanted; ++i) std::swap(members_[i], members_[i + rng_.below(count - i)]);
  members_.resize(wanted);
  return members_;
}

Metrics SoftActorCritic::update(const Batch& batch, double lr_scale) {
  ++updates_;
  const auto& alpha = alpha_.value();
  auto critic =
      soft_critic_loss(networks_, batch, next_noise_.normal(rng_, batch.actions().sizes()),
                       draw_members(), alpha, options_, design_);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  networks_.critics_target.network().polyak_from(networks_.critics.network(), options_.tau);

  if (updates_ % design_.actor_interval == 0) {
    auto actor = soft_policy_loss(networks_, batch, noise_.normal(rng_, batch.actions().sizes()),
                                  alpha, design_);
    minimize(actor.loss, actor_optimizer_, lr_scale);
    const auto temperature =
        soft_temperature_loss(alpha, actor.metrics.get("entropy"), options_, design_);
    actor.metrics.append(temperature.metrics);
    if (temperature.loss.defined()) alpha_.descend(temperature.loss);
    actor.metrics.set("alpha", alpha_.value());
    actor_metrics_.hold(actor.metrics);
  }
  actor_metrics_.report(critic.metrics);
  return critic.metrics;
}

torch::Tensor SoftActorCritic::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  if (mode == ActMode::greedy) return networks_.actor.mode(obs);
  const auto& noise =
      explore_noise_.normal(explore_rng_, {obs.size(0), networks_.actor.action_dim()});
  return networks_.actor.sample(obs, noise).actions;
}

void SoftActorCritic::visit_state(StateVisitor& state) {
  state.part("actor", networks_.actor);
  state.part("critics", networks_.critics);
  state.part("critics_target", networks_.critics_target);
  state.part("actor_optimizer", actor_optimizer_);
  state.part("critic_optimizer", critic_optimizer_);
  state.part("alpha", alpha_);
  state.part("actor_metrics", actor_metrics_);
  state.part("policy_rng", rng_);
  state.part("explore_rng", explore_rng_);
  state.scalar("updates", updates_);
}

}  // namespace rl_training
