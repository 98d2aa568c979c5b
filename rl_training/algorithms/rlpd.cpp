#include "rl_training/algorithms/rlpd.h"

#include "rl_training/algorithms/redq.h"

namespace rl_training {

RlpdOptions::RlpdOptions() { environment.gradient_updates_per_step = 20; }

void RlpdOptions::visit_options(OptionVisitor& options) {
  SoftOptions::visit_options(options);
  options.number("offline_batch_ratio", offline_batch_ratio, between(0, 1),
                 "share of prior data in every minibatch");
  options.integer("offline_pretrain_updates", offline_pretrain_updates, at_least(0),
                  "updates on the prior data alone before the first environment step");
  options.integer("num_critics", num_critics, at_least(2), "critics in the ensemble");
  options.integer("num_min_critics", num_min_critics, at_least(1),
                  "critics drawn for each target, which uses their smallest value");
  options.flag("critic_layer_norm", critic_layer_norm, "LayerNorm in the critics");
  options.flag("backup_entropy", backup_entropy,
               "include the entropy of the next action in the target");
  options.choice("actor_q", actor_q, {{"mean", Reduce::mean}, {"min", Reduce::minimum}},
                 "value that the actor maximises: the mean or the minimum of the critics");
}

std::vector<PhaseSpec> RlpdOptions::phases(int64_t total_timesteps) const {
  std::vector<PhaseSpec> phases;
  if (offline_pretrain_updates > 0) {
    phases.push_back(
        {.name = "offline", .source = PhaseSpec::Source::data, .length = offline_pretrain_updates});
  }
  phases.push_back({.name = "online",
                    .source = PhaseSpec::Source::mixture,
                    .length = total_timesteps,
                    .collect = environment,
                    .data_share = offline_batch_ratio});
  return phases;
}

void RlpdOptions::check() const {
  SoftOptions::check();
  check_critic_counts(num_critics, num_min_critics);
}

SoftDesign RlpdOptions::design(int64_t action_dim) const {
  SoftDesign design;
  design.critics = num_critics;
  design.target_critics = num_min_critics;
  design.actor_reduce = actor_q;
  design.backup_entropy = backup_entropy;
  design.critic_loss_scale = 1.0 / static_cast<double>(num_critics);
  design.actor_interval = environment.gradient_updates_per_step;
  design.temperature = goal(-0.5 * static_cast<double>(action_dim));
  design.temperature.scaled_loss = true;
  design.layer_norm = critic_layer_norm ? LayerNorm::before_activation : LayerNorm::none;
  design.init = xavier_layer();
  return design;
}

// With the default options:
// y = r + gamma (1 - d) (min_{i in M} Q'_i(s', a') - alpha log pi(a'|s'))
// L_Q = mean (Q_i(s, a) - y)^2 over critics i and rows.
// L_pi = mean (alpha log pi(b|s) - mean_i Q_i(s, b))
// with a' ~ pi(s'), b ~ pi(s) and M = `members`
JointLoss<CriticLoss, SoftPolicyLoss, TemperatureLoss> rlpd_loss(
    const SoftNetworks& networks, const Batch& batch, const torch::Tensor& noise,
    const std::vector<int64_t>& members, const torch::Tensor& alpha, const RlpdOptions& options) {
  const auto design = options.design(batch.actions().size(1));
  const int64_t rows = batch.rows();
  const auto critic =
      soft_critic_loss(networks, batch, noise.narrow(0, 0, rows), members, alpha, design);
  const auto actor = soft_policy_loss(networks, batch, noise.narrow(0, rows, rows), alpha, design);
  const auto temperature = soft_temperature_loss(alpha, actor.entropy, design.temperature);
  return {{critic, actor, temperature}, critic.loss + actor.loss};
}

AlgorithmInfoOf<Rlpd, RlpdOptions> rlpd_info() {
  return algorithm_info<Rlpd, RlpdOptions>({.name = RlpdOptions::kName,
                                            .title = "RLPD: reinforcement learning with prior data",
                                            .paper = "arXiv:2302.02948",
                                            .metrics = soft_metrics()});
}

}  // namespace rl_training
