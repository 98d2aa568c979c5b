#include "rl_training/algorithms/td7.h"

#include <algorithm>
#include <utility>

#include "rl_training/models/losses.h"

namespace rl_training {
namespace {

constexpr double kFarReturn = 1e8;  // larger than any return

MlpSpec td7_spec(int64_t inputs, int64_t outputs, const std::vector<int64_t>& hidden_sizes,
                 Activation activation = Activation::elu) {
  MlpSpec spec;
  spec.inputs = inputs;
  spec.outputs = outputs;
  spec.hidden_sizes = hidden_sizes;
  spec.activation = activation;
  return spec;
}

MlpSpec td7_actor_head(const Td7Options& options, const AlgorithmContext& context) {
  auto spec = td7_spec(2 * options.embedding_dim, context.action_dim(), options.hidden_sizes,
                       Activation::relu);
  spec.output_activation = Activation::tanh;
  return spec;
}

torch::Tensor pass(const Mlp& network, const torch::Tensor& x, const torch::Tensor& side = {},
                   Use use = Use::train) {
  const std::array<int64_t, 2> shape = {x.size(0), network.outputs()};
  return network.forward(x, side, {.use = use, .shape = shape});
}

}  // namespace

void Td7Options::visit_options(OptionVisitor& options) {
  visit_supervised_options(options);
  visit_delayed_options(options);
  options.integer("embedding_dim", embedding_dim, between(1, 1 << 14),
                  "width of the embeddings and of the layers beside them");
  options.number("actor_bc_weight", actor_bc_weight, at_least(0),
                 "weight of the cloning term, in units of mean |Q|; offline only");
  options.integer("target_update_interval", target_update_interval, at_least(1),
                  "updates between two copies of the networks to their targets");
  options.number("min_priority", min_priority, above(0),
                 "smallest TD error that makes a row more likely; errors below are squared");
  options.number("priority_exponent", priority_exponent, at_least(0),
                 "power of the TD error; 0 draws rows uniformly");
  options.flag("policy_checkpoints", policy_checkpoints,
               "online, rate each policy over whole episodes before it is trained on, and evaluate "
               "the best one");
  options.integer("checkpoint_episodes", checkpoint_episodes, at_least(1),
                  "episodes of a rating after checkpoint_after_updates; 1 before");
  options.integer("checkpoint_after_updates", checkpoint_after_updates, at_least(0),
                  "online updates during which a rating takes one episode");
  options.number("checkpoint_reset_weight", checkpoint_reset_weight, at_least(0),
                 "factor of the best rating at that moment");
}

BatchRequest Td7Options::request() const {
  auto request = AlgorithmOptions::request();
  request.priorities = {.used = true, .reset_interval = target_update_interval};
  return request;
}

torch::Tensor average_l1_norm(const torch::Tensor& x) {
  return x / x.abs().mean(-1, /*keepdim=*/true).clamp_min(1e-8);
}

Td7Encoder::Td7Encoder(const Td7Options& options, const AlgorithmContext& context, Rng& rng)
    : f(td7_spec(context.obs_dim(), options.embedding_dim, options.hidden_sizes), rng,
        context.compute),
      g(td7_spec(options.embedding_dim + context.action_dim(), options.embedding_dim,
                 options.hidden_sizes),
        rng, context.compute) {}

torch::Tensor Td7Encoder::embed(const torch::Tensor& obs) const {
  return average_l1_norm(pass(f, obs));
}

torch::Tensor Td7Encoder::embed_pair(const torch::Tensor& embedding, const torch::Tensor& actions,
                                     Use use) const {
  return pass(g, embedding, actions, use);
}

void Td7Encoder::copy_from(const Td7Encoder& other) {
  f.copy_from(other.f);
  g.copy_from(other.g);
}

void Td7Encoder::visit_state(StateVisitor& state) {
  state.part("f", f);
  state.part("g", g);
}

Td7Actor::Td7Actor(const Td7Options& options, const AlgorithmContext& context, Rng& rng)
    : first(td7_spec(context.obs_dim(), options.embedding_dim, {}), rng, context.compute),
      head(td7_actor_head(options, context), rng, context.compute) {}

torch::Tensor Td7Actor::actions(const torch::Tensor& obs, const torch::Tensor& embedding) const {
  return pass(head, average_l1_norm(pass(first, obs)), embedding);
}

void Td7Actor::copy_from(const Td7Actor& other) {
  first.copy_from(other.first);
  head.copy_from(other.head);
}

void Td7Actor::visit_state(StateVisitor& state) {
  state.part("first", first);
  state.part("head", head);
}

Td7Critic::Td7Critic(const Td7Options& options, const AlgorithmContext& context, Rng& rng)
    : first(td7_spec(context.obs_dim() + context.action_dim(), options.embedding_dim, {}), rng,
            context.compute),
      head(td7_spec(3 * options.embedding_dim, 1, options.hidden_sizes), rng, context.compute) {}

torch::Tensor Td7Critic::values(const Td7Input& input, Use use) const {
  const auto own = average_l1_norm(pass(first, input.obs, input.actions, use));
  const auto embeddings = torch::cat({input.pair, input.embedding}, 1);
  return pass(head, own, embeddings, use).squeeze(1);
}

void Td7Critic::copy_from(const Td7Critic& other) {
  first.copy_from(other.first);
  head.copy_from(other.head);
}

void Td7Critic::visit_state(StateVisitor& state) {
  state.part("first", first);
  state.part("head", head);
}

void Td7Critics::copy_from(const Td7Critics& other) {
  one.copy_from(other.one);
  two.copy_from(other.two);
}

std::vector<torch::Tensor> Td7Critics::parameters() const {
  return {one.first.parameters(), one.head.parameters(), two.first.parameters(),
          two.head.parameters()};
}

void Td7Critics::visit_state(StateVisitor& state) {
  state.part("one", one);
  state.part("two", two);
}

Td7Networks::Td7Networks(const Td7Options& options, const AlgorithmContext& context, Rng rng)
    : encoder(options, context, rng),
      fixed(encoder),
      fixed_target(encoder),
      actor(options, context, rng),
      actor_target(actor),
      critics(options, context, rng),
      critics_target(critics) {}

void Td7Networks::visit_state(StateVisitor& state) {
  state.part("encoder", encoder);
  state.part("fixed_encoder", fixed);
  state.part("fixed_encoder_target", fixed_target);
  state.part("actor", actor);
  state.part("actor_target", actor_target);
  state.part("critics", critics);
  state.part("critics_target", critics_target);
}

void ValueRange::see(const torch::Tensor& targets) {
  seen_low = torch::minimum(seen_low, targets.min());
  seen_high = torch::maximum(seen_high, targets.max());
}

void ValueRange::follow() {
  low = seen_low.clone();
  high = seen_high.clone();
}

void ValueRange::visit_state(StateVisitor& state) {
  visit_tensor(state, "low", low);
  visit_tensor(state, "high", high);
  visit_tensor(state, "seen_low", seen_low);
  visit_tensor(state, "seen_high", seen_high);
}

// L = mse(z_sa, z(s')), without gradient through z(s')
Td7EncoderLoss td7_encoder_loss(const Td7Networks& networks, const Batch& batch) {
  torch::Tensor next;
  {
    const torch::NoGradGuard no_grad;
    next = networks.encoder.embed(batch.next_obs());
  }
  const auto embedding = networks.encoder.embed(batch.obs());
  return {torch::mse_loss(networks.encoder.embed_pair(embedding, batch.actions()), next)};
}

// y = r + gamma (1 - d) clip(min_i Q'_i(s', a'), low, high) with a' from the smoothed target policy
torch::Tensor td7_target(const Td7Networks& networks, const Batch& batch,
                         const torch::Tensor& noise, const Td7Options& options,
                         const ValueRange& range) {
  const torch::NoGradGuard no_grad;
  const auto embedding = networks.fixed_target.embed(batch.next_obs());
  const auto actions = add_clipped_noise(networks.actor_target.actions(batch.next_obs(), embedding),
                                         noise, options.policy_noise, options.noise_clip);
  const auto pair = networks.fixed_target.embed_pair(embedding, actions);
  const auto values =
      minimum(networks.critics_target.values({batch.next_obs(), actions, embedding, pair}));
  return td_target(batch.rewards(), batch.discount(),
                   torch::minimum(torch::maximum(values, range.low), range.high));
}

// L = mean over rows of sum_i h(|Q_i - y|)
// where h(x) = x^2 / 2 if x < p, otherwise h(x) = p x, with p = min_priority
CriticLoss td7_critic_loss(const torch::Tensor& values, const torch::Tensor& target,
                           double min_priority) {
  const auto error = (values - target).abs();
  const auto row_losses =
      torch::where(error < min_priority, 0.5 * error.square(), min_priority * error);
  return {row_losses.sum(0).mean(), target.mean()};
}

// max(max_i |Q_i - y|, min_priority)^priority_exponent
torch::Tensor td7_priorities(const torch::Tensor& values, const torch::Tensor& target,
                             const Td7Options& options) {
  const torch::NoGradGuard no_grad;
  return (values - target)
      .abs()
      .amax(0)
      .clamp_min(options.min_priority)
      .pow(options.priority_exponent);
}

// L = -mean Q(s, pi(s)) + bc_weight mean |Q(s, pi(s))| mse(pi(s), a), no gradient through mean |Q|
Td7ActorLoss td7_actor_loss(const torch::Tensor& values, const torch::Tensor& bc_loss,
                            double bc_weight) {
  const auto q_mean = values.mean();
  const auto weight = bc_weight * values.detach().abs().mean();
  return {weight * bc_loss - q_mean, bc_loss, q_mean};
}

Td7::Td7(const Td7Options& options, const AlgorithmContext& context)
    : options_(options),
      processes_(process_count(context.compute.processes)),
      rng_(context.own_seed(), "policy"),
      explorer_(context.own_seed()),
      networks_(options, context, Rng(context.seed, "init")),
      checkpoint_encoder_(networks_.fixed),
      checkpoint_actor_(networks_.actor),
      encoder_optimizer_(networks_.encoder.parameters(), options.critic_adam(), context.compute),
      critic_optimizer_(networks_.critics.parameters(), options.critic_adam(), context.compute),
      actor_optimizer_(networks_.actor.parameters(), options.actor_adam(), context.compute),
      lowest_return_(kFarReturn),
      best_lowest_return_(-kFarReturn) {}

Metrics Td7::update(const Batch& batch, double lr_scale) {
  ++updates_;
  if (online_ && online_updates_++ == options_.checkpoint_after_updates) {
    best_lowest_return_ *= options_.checkpoint_reset_weight;
  }
  const auto encoder = td7_encoder_loss(networks_, batch);
  minimize(encoder.loss, encoder_optimizer_, lr_scale);

  const auto target =
      td7_target(networks_, batch, noise_.normal(rng_, batch.actions().sizes()), options_, range_);
  range_.see(target);
  Td7Input input = {batch.obs(), batch.actions(), {}, {}};
  {
    const torch::NoGradGuard no_grad;
    input.embedding = networks_.fixed.embed(batch.obs());
    input.pair = networks_.fixed.embed_pair(input.embedding, batch.actions());
  }
  const auto values = networks_.critics.values(input);
  const auto critic = td7_critic_loss(values, target, options_.min_priority);
  priorities_ = td7_priorities(values, target, options_);
  minimize(critic.loss, critic_optimizer_, lr_scale);

  if (updates_ % options_.policy_delay == 0) update_actor(batch, input, lr_scale);
  if (updates_ % options_.target_update_interval == 0) update_targets();
  return metrics_of(encoder, critic, actor_loss_);
}

void Td7::update_actor(const Batch& batch, const Td7Input& input, double lr_scale) {
  auto actions = networks_.actor.actions(batch.obs(), input.embedding);
  const auto pair = networks_.fixed.embed_pair(input.embedding, actions, Use::frozen);
  const auto values =
      networks_.critics.values({batch.obs(), actions, input.embedding, pair}, Use::frozen);
  const auto actor = td7_actor_loss(values, torch::mse_loss(actions, batch.actions()),
                                    online_ ? 0.0 : options_.actor_bc_weight);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  actor_loss_.hold(actor);
}

void Td7::update_targets() {
  networks_.actor_target.copy_from(networks_.actor);
  networks_.critics_target.copy_from(networks_.critics);
  networks_.fixed_target.copy_from(networks_.fixed);
  networks_.fixed.copy_from(networks_.encoder);
  range_.follow();
}

torch::Tensor Td7::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  if (mode == ActMode::greedy && has_checkpoint_) {
    return checkpoint_actor_.actions(obs, checkpoint_encoder_.embed(obs));
  }
  auto actions = networks_.actor.actions(obs, networks_.fixed.embed(obs));
  if (mode == ActMode::greedy) return actions;
  return explorer_.around(actions, options_.exploration_noise);
}

// Postpones updates until the current policy has been rated on whole episodes, because an update
// would change the policy during its rating.
int64_t Td7::updates_now(int64_t due) {
  if (!options_.policy_checkpoints) return due;
  due_updates_ += due;
  return std::exchange(rated_, false) ? std::exchange(due_updates_, 0) : 0;
}

// During the first checkpoint_after_updates online updates, a policy is rated on one episode, and
// afterwards on checkpoint_episodes episodes. Its score is the lowest of their returns. The rating
// ends early when an episode's return is below the score of the best policy.
void Td7::episode_collected(double episode_return) {
  ++rated_episodes_;
  lowest_return_ = std::min(lowest_return_, episode_return);
  if (lowest_return_ >= best_lowest_return_) {
    const bool longer = online_updates_ > options_.checkpoint_after_updates;
    if (rated_episodes_ < (longer ? options_.checkpoint_episodes : 1)) return;
    best_lowest_return_ = lowest_return_;
    if (options_.policy_checkpoints) keep_policy();
  }
  rated_ = true;
  rated_episodes_ = 0;
  lowest_return_ = kFarReturn;
}

void Td7::keep_policy() {
  checkpoint_actor_.copy_from(networks_.actor);
  checkpoint_encoder_.copy_from(networks_.fixed);
  has_checkpoint_ = true;
}

torch::Tensor Td7::values(const torch::Tensor& obs, const torch::Tensor& actions) const {
  const torch::NoGradGuard no_grad;
  const auto embedding = networks_.fixed.embed(obs);
  return minimum(networks_.critics.values(
      {obs, actions, embedding, networks_.fixed.embed_pair(embedding, actions)}));
}

PolicyGraph::Value Td7::describe_policy(PolicyGraph& /*graph*/, PolicyGraph::Value /*obs*/) const {
  throw Error(ErrorKind::config, {"", 0, "algo"},
              "td7 cannot be exported: its networks divide by a mean of absolute values, which "
              "exported policies cannot (expected for example td3_bc)");
}

void Td7::begin_phase(const PhaseSpec& phase, int64_t /*planned_updates*/) {
  online_ = phase.collects();
  if (!online_ || !options_.policy_checkpoints || processes_ == 1) return;
  throw Error(ErrorKind::config, {"", 0, "algo_kwargs.policy_checkpoints"},
              "several processes would rate different policies (expected false, or one process)");
}

void Td7::visit_state(StateVisitor& state) {
  networks_.visit_state(state);
  state.part("checkpoint_encoder", checkpoint_encoder_);
  state.part("checkpoint_actor", checkpoint_actor_);
  state.part("encoder_optimizer", encoder_optimizer_);
  state.part("critic_optimizer", critic_optimizer_);
  state.part("actor_optimizer", actor_optimizer_);
  state.part("policy_rng", rng_);
  explorer_.visit_state(state);
  state.part("value_range", range_);
  state.part("actor_metrics", actor_loss_);
  state.scalar("updates", updates_);
  state.scalar("online", online_);
  state.scalar("has_checkpoint", has_checkpoint_);
  state.scalar("due_updates", due_updates_);
  state.scalar("online_updates", online_updates_);
  state.scalar("rated_episodes", rated_episodes_);
  state.scalar("lowest_return", lowest_return_);
  state.scalar("best_lowest_return", best_lowest_return_);
}

AlgorithmInfoOf<Td7, Td7Options> td7_info() {
  return algorithm_info<Td7, Td7Options>(
      {.name = Td7Options::kName,
       .title = "TD7: TD3 with learnt embeddings and prioritised rows",
       .paper = "arXiv:2306.02451",
       .metrics = metric_names_of<Td7EncoderLoss, CriticLoss, Td7ActorLoss>()});
}

}  // namespace rl_training
