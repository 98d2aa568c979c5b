#include "rl_training/algorithms/redq.h"

namespace rl_training {

RedqOptions::RedqOptions() { environment.gradient_updates_per_step = 20; }

void RedqOptions::visit_options(OptionVisitor& options) {
  SoftOptions::visit_options(options);
  options.integer("num_critics", num_critics, at_least(1), "critics in the ensemble");
  options.integer("num_min_critics", num_min_critics, at_least(1),
                  "critics drawn for each target, which uses their smallest value");
}

void check_critic_counts(int64_t num_critics, int64_t num_min_critics) {
  if (num_min_critics <= num_critics) return;
  throw Error(ErrorKind::config, {"", 0, "num_min_critics"},
              "more than there are critics (expected 1 to num_critics " +
                  std::to_string(num_critics) + ", got " + std::to_string(num_min_critics) + ")");
}

void RedqOptions::check() const {
  SoftOptions::check();
  check_critic_counts(num_critics, num_min_critics);
}

// y = r + gamma (1 - d) (min_{i in M} Q'_i(s', a') - alpha log pi(a'|s'))
// L_Q = sum_i mean (Q_i(s, a) - y)^2;  L_pi = mean (alpha log pi(b|s) - mean_i Q_i(s, b))
// with a' ~ pi(s'), b ~ pi(s) and a random subset M of the critics
SoftDesign RedqOptions::design(int64_t action_dim) const {
  SoftDesign design;
  design.critics = num_critics;
  design.target_critics = num_min_critics;
  design.actor_reduce = Reduce::mean;
  design.critic_loss_scale = 1.0;
  design.actor_interval = environment.gradient_updates_per_step;
  design.temperature = goal(-static_cast<double>(action_dim));
  design.init = xavier_layer();
  return design;
}

AlgorithmInfoOf<Redq, RedqOptions> redq_info() {
  return algorithm_info<Redq, RedqOptions>({.name = RedqOptions::kName,
                                            .title = "REDQ: randomised ensembled double Q-learning",
                                            .paper = "arXiv:2101.05982",
                                            .metrics = soft_metrics()});
}

}  // namespace rl_training
