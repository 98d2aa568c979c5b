#include "rl_training/algorithms/cql.h"

#include <cmath>
#include <limits>

#include "rl_training/models/losses.h"

namespace rl_training {
namespace {

constexpr double kHeadGain = 0.01;

GaussianActor::Options actor_options(const CqlOptions& options) {
  GaussianActor::Options result;
  result.hidden_sizes = options.hidden_sizes;
  result.learn_std_scale = true;
  result.layer_norm = options.layer_norm ? LayerNorm::before_activation : LayerNorm::none;
  result.layer_norm_eps = 1e-6;
  if (options.orthogonal_actor) result.hidden_init = orthogonal_layer(std::sqrt(2.0));
  result.output_init =
      options.orthogonal_actor ? orthogonal_layer(kHeadGain) : xavier_layer(kHeadGain);
  return result;
}

CriticEnsemble::Options critic_options(const CqlOptions& options) {
  CriticEnsemble::Options result;
  result.count = options.num_critics;
  result.hidden_sizes =
      options.critic_hidden_sizes.empty() ? options.hidden_sizes : options.critic_hidden_sizes;
  result.layer_norm = options.layer_norm ? LayerNorm::before_activation : LayerNorm::none;
  result.layer_norm_eps = 1e-6;
  if (options.orthogonal_init) result.hidden_init = orthogonal_layer(std::sqrt(2.0));
  result.output_init =
      options.orthogonal_init ? orthogonal_layer(kHeadGain) : xavier_layer(kHeadGain);
  return result;
}

}  // namespace

CqlOptions::CqlOptions() { hidden_sizes = {256, 256, 256}; }

void CqlOptions::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.number("actor_learning_rate", actor_learning_rate, above(0),
                 "Adam step size of actor and temperature; null: learning_rate");
  options.number("critic_learning_rate", critic_learning_rate, above(0),
                 "Adam step size of the critics; null: learning_rate");
  options.number("cql_alpha", cql_alpha, at_least(0),
                 "weight of the conservative term in the critics' loss");
  options.renamed("n_actions", "n_action_samples");
  options.integer("n_action_samples", n_action_samples, between(1, 1 << 10),
                  "sampled actions of each kind: uniform, policy at s, policy at s'");
  options.number("cql_temperature", cql_temperature, above(0),
                 "temperature of the log-sum-exp over sampled actions");
  options.number("clip_diff_min", clip_diff_min, any_number(),
                 "lower bound of each row's conservative term; null: none");
  options.number("clip_diff_max", clip_diff_max, any_number(),
                 "upper bound of each row's conservative term; null: none");
  options.number(
      "lagrange_gap", lagrange_gap, any_number(),
      "target size of the conservative term, enforced by a learnt multiplier; null: none");
  options.flag("max_target_backup", max_target_backup,
               "target from the best of n_action_samples next actions instead of one");
  visit_temperature_options(options);
  options.flag("orthogonal_init", orthogonal_init, "orthogonal initial weights of the critics");
}

void CqlOptions::check() const {
  if (clip_diff_min && clip_diff_max && *clip_diff_min >= *clip_diff_max) {
    throw Error(ErrorKind::config, {"", 0, "clip_diff_min"},
                "not below clip_diff_max (expected < " + std::to_string(*clip_diff_max) + ", got " +
                    std::to_string(*clip_diff_min) + ")");
  }
  check_temperature();
}

CqlNetworks::CqlNetworks(const CqlOptions& options, const AlgorithmContext& context, Rng rng)
    : GaussianNetworks(actor_options(options), critic_options(options), context, rng) {}

CqlCandidates cql_candidates(const CqlNetworks& networks, const Batch& batch,
                             const CqlNoise& noise) {
  const torch::NoGradGuard no_grad;
  const int64_t rows = batch.obs().size(0), actions = batch.actions().size(1);
  const auto next_head = networks.actor.head(batch.next_obs());
  if (!noise.now.defined()) {
    return {gaussian_sample(next_head, noise.target).actions, batch.actions(), {}};
  }
  const int64_t n = noise.now.size(0) / rows;
  const auto next = gaussian_sample(next_head, noise.next);
  const auto now = networks.actor.sample(batch.obs(), noise.now);
  const auto in_rows = [&](const torch::Tensor& x) { return x.view({rows, -1, actions}); };
  CqlCandidates result;
  result.target_actions = gaussian_sample(next_head, noise.target).actions;
  result.actions = torch::cat({in_rows(batch.actions()), in_rows(noise.uniform),
                               in_rows(next.actions), in_rows(now.actions)},
                              1)
                       .view({-1, actions});
  const double uniform_density = -static_cast<double>(actions) * std::log(2.0);
  result.log_density = torch::cat({torch::full({rows, n}, uniform_density, batch.obs().options()),
                                   next.log_prob.view({rows, n}), now.log_prob.view({rows, n})},
                                  1);
  return result;
}

// L = mean (alpha log pi(b|s) - min_i Q_i(s, b)), b ~ pi(s)
SoftPolicyLoss cql_actor_loss(const CqlNetworks& networks, const Batch& batch,
                              const torch::Tensor& noise, const torch::Tensor& alpha) {
  const auto sample = networks.actor.sample(batch.obs(), noise);
  const auto q = minimum(networks.critics.values(batch.obs(), sample.actions, Use::frozen));
  const auto log_prob = sample.log_prob.mean();
  return {alpha * log_prob - q.mean(), -log_prob};
}

namespace {

// The critics' target: [rows]. It bootstraps from the largest value over the given actions at s'.
// The value of an action is the minimum over the target critics in `members`, or over all target
// critics if `members` is empty.
torch::Tensor cql_target(const CqlNetworks& networks, const Batch& batch,
                         const torch::Tensor& actions, const std::vector<int64_t>& members) {
  const torch::NoGradGuard no_grad;
  const int64_t rows = batch.obs().size(0), each = actions.size(0) / rows;
  const auto next_obs = each == 1 ? batch.next_obs() : repeat_rows(batch.next_obs(), each);
  const auto& critics = networks.critics_target;
  const auto next_q = minimum(members.empty() ? critics.values(next_obs, actions)
                                              : member_values(critics, next_obs, actions, members));
  return td_target(batch.rewards(), batch.discount(), next_q.view({rows, each}).amax(1));
}

// `values` is [members, rows, 3 n]; the last 2 n columns belong to the policy's actions. Raises the
// values in those columns to at least the reference, and also returns the fraction that was below
// the reference.
std::pair<torch::Tensor, torch::Tensor> bounded_values(const torch::Tensor& values,
                                                       const torch::Tensor& reference) {
  if (!reference.defined()) return {values, scalar(0)};
  const int64_t n = values.size(2) / 3;
  const auto policy = values.narrow(2, n, 2 * n);
  const auto bound = reference.view({1, -1, 1});
  const auto rate = (without_graph(policy) < bound).to(torch::kFloat).mean();
  return {torch::cat({values.narrow(2, 0, n), torch::maximum(policy, bound)}, 2), rate};
}

torch::Tensor log_sum_exp(const torch::Tensor& values, const CqlOptions& options) {
  const double t = options.cql_temperature;
  return t * torch::logsumexp(t == 1.0 ? values : values / t, 2);
}

torch::Tensor clipped_diff(const torch::Tensor& diff, const CqlOptions& options) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!options.clip_diff_min && !options.clip_diff_max) return diff;
  return diff.clamp(options.clip_diff_min.value_or(-kInfinity),
                    options.clip_diff_max.value_or(kInfinity));
}

}  // namespace

// y = r + gamma (1 - d) min_i Q'_i(s', b'), b' ~ pi(s')
// D_i = T log sum_c exp((Q_i(s, c) - log p(c)) / T) - Q_i(s, a)
// L = sum_i (mean (Q_i(s, a) - y)^2 + w cql_alpha (mean clip(D_i) - gap))
// with the sampled actions c, their density p(c), the multiplier w, T = cql_temperature and
// gap = lagrange_gap. Without lagrange_gap, w = 1 and gap = 0. With max_target_backup, y uses the
// best of several b'. Cal-QL has a reference value R and uses max(Q_i(s, c), R) for the policy's
// actions c.
CqlCriticLoss cql_critic_loss(const CqlNetworks& networks, const Batch& batch,
                              const CqlCandidates& candidates, const torch::Tensor& multiplier,
                              const CqlOptions& options, const CqlVariant& variant) {
  const int64_t rows = batch.obs().size(0);
  const auto target = cql_target(networks, batch, candidates.target_actions, variant.members);
  if (!candidates.log_density.defined()) {
    const auto data_q = networks.critics.values(batch.obs(), batch.actions());
    const auto loss = squared_error(data_q, target);
    return {loss, loss, scalar(0), target.mean(), data_q.detach().mean(), scalar(0)};
  }
  const int64_t sampled = candidates.log_density.size(1);
  // One pass through the critics evaluates dataset actions and all sampled actions.
  const auto q = networks.critics.values(repeat_rows(batch.obs(), 1 + sampled), candidates.actions)
                     .view({-1, rows, 1 + sampled});
  const auto data_q = q.select(2, 0);
  const auto [values, bound_rate] = bounded_values(q.narrow(2, 1, sampled), variant.reference);
  const auto diff =
      clipped_diff(log_sum_exp(values - candidates.log_density, options) - data_q, options);
  const auto td_loss = squared_error(data_q, target);
  const auto diff_mean = diff.mean();
  const auto members = static_cast<double>(q.size(0));
  const auto loss = td_loss + multiplier * (variant.weight.value_or(options.cql_alpha) * members) *
                                  (diff_mean - options.lagrange_gap.value_or(0.0));
  return {loss, td_loss, diff_mean, target.mean(), data_q.detach().mean(), bound_rate};
}

Cql::Cql(const CqlOptions& options, const AlgorithmContext& context)
    : ActorCritic(options, context),
      temperature_(options, options.goal(-static_cast<double>(context.action_dim())),
                   options.actor_adam().learning_rate, context.compute),
      multiplier_({.initial_log = options.lagrange_gap ? 1.0 : 0.0,
                   .learning_rate = options.critic_adam().learning_rate,
                   .log_max = std::log(1e6)},
                  context.compute) {}

CqlNoise Cql::draw_noise(int64_t rows, bool with_candidates) {
  const int64_t actions = networks_.actor.action_dim(), n = options_.n_action_samples;
  CqlNoise noise;
  noise.target =
      target_noise_.normal(rng_, {options_.max_target_backup ? rows * n : rows, actions});
  if (!with_candidates) return noise;
  noise.now = now_noise_.normal(rng_, {rows * n, actions});
  noise.next = next_noise_.normal(rng_, {rows * n, actions});
  noise.uniform = uniform_noise_.uniform(rng_, {rows * n, actions}, -1.0, 1.0);
  return noise;
}

// All losses use the networks as they were before the update: first the candidates are computed,
// then the actor is updated with the old critics, and the critics are updated last.
CqlCriticLoss Cql::step(const Batch& batch, double lr_scale, const torch::Tensor& reference) {
  const bool changed = online_ && options_.online_cql_alpha;
  const double weight = changed ? *options_.online_cql_alpha : options_.cql_alpha;
  const bool conservative = !changed || weight > 0;
  const auto multiplier = multiplier_.value();
  CqlVariant variant{.reference = reference, .weight = weight};
  if (options_.num_min_critics) {
    draw_members(rng_, options_.num_critics, *options_.num_min_critics, variant.members);
  }
  const auto candidates = cql_candidates(networks_, batch, draw_noise(batch.rows(), conservative));
  if (++updates_ % actor_interval_ == 0) {
    const auto actor = cql_actor_loss(
        networks_, batch, actor_noise_.normal(rng_, batch.actions().sizes()), temperature_.value());
    minimize(actor.loss, actor_optimizer_, lr_scale);
    policy_loss_.hold(actor, CqlScalars{temperature_.update(actor.entropy).alpha, multiplier});
  }
  auto critic = cql_critic_loss(networks_, batch, candidates, multiplier, options_, variant);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  if (options_.lagrange_gap &&
      conservative) {  // the multiplier grows while the conservative term is above lagrange_gap
    multiplier_.descend(multiplier * weight *
                        (*options_.lagrange_gap - without_graph(critic.diff)));
  }
  networks_.move_target(options_.tau);
  return critic;
}

Metrics Cql::update(const Batch& batch, double lr_scale) {
  const auto critic = step(batch, lr_scale, {});
  return metrics_of(critic, policy_loss_);
}

void Cql::begin_phase(const PhaseSpec& phase, int64_t /*planned_updates*/) {
  online_ = phase.collects();
  if (!options_.actor_once_per_block) return;
  actor_interval_ = online_ ? phase.collect.gradient_updates_per_step : 1;
  updates_ = 0;
}

torch::Tensor Cql::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  return explorer_.act(networks_.actor, obs, mode);
}

void Cql::visit_state(StateVisitor& state) {
  ActorCritic::visit_state(state);
  state.part("alpha", temperature_);
  state.part("lagrange_multiplier", multiplier_);
  if (!phases_differ()) return;
  state.scalar("online", online_);
  state.scalar("actor_interval", actor_interval_);
  state.scalar("updates", updates_);
  state.part("actor_metrics", policy_loss_);
}

AlgorithmInfoOf<Cql, CqlOptions> cql_info() {
  return algorithm_info<Cql, CqlOptions>(
      {.name = CqlOptions::kName,
       .title = "CQL: SAC with conservative critics",
       .paper = "arXiv:2006.04779",
       .online_data_share = std::nullopt,
       .metrics = metric_names_of<CqlCriticLoss, SoftPolicyLoss, CqlScalars>()});
}

}  // namespace rl_training
