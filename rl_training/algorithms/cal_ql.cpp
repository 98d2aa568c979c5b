#include "rl_training/algorithms/cal_ql.h"

#include "rl_training/algorithms/redq.h"

namespace rl_training {

// The defaults of the authors' code, which initialises every layer orthogonally.
CalQlOptions::CalQlOptions() {
  hidden_sizes = {256, 256};
  critic_hidden_sizes = {256, 256, 256, 256};
  actor_learning_rate = 1e-4;
  cql_alpha = 5.0;
  max_target_backup = true;
  orthogonal_actor = true;
}

void CalQlOptions::visit_options(OptionVisitor& options) {
  CqlOptions::visit_options(options);
  options.number("failure_reward", failure_reward, any_number(),
                 "reward of a step without success in a sparse task: an episode with only this "
                 "reward counts as failing forever; null: returns are plain sums");
  options.integers("critic_hidden_sizes", critic_hidden_sizes, between(1, 1 << 14),
                   "widths of the critics' hidden layers");
  options.integer("num_critics", num_critics, between(2, 1000), "critics in the ensemble");
  options.integer("num_min_critics", num_min_critics, at_least(1),
                  "critics drawn for each target, which uses their smallest value; null: all");
  options.flag("layer_norm", layer_norm, "LayerNorm in actor and critics");
  options.number("online_cql_alpha", online_cql_alpha, at_least(0),
                 "cql_alpha in the online phase; 0 disables the term, null: cql_alpha");
  options.flag("actor_once_per_block", actor_once_per_block,
               "in the online phase, update actor and temperature once per block of "
               "gradient_updates_per_step critic updates, in the last one");
}

void CalQlOptions::check() const {
  CqlOptions::check();
  if (num_min_critics) check_critic_counts(num_critics, *num_min_critics);
  if (!failure_reward || gamma < 1) return;
  throw Error(ErrorKind::config, {"", 0, "failure_reward"},
              "failing forever has no finite return (expected gamma < 1, got 1)");
}

BatchRequest CalQlOptions::request() const {
  auto request = CqlOptions::request();
  request.columns.push_back(BatchColumn::return_to_go);
  request.returns = {gamma, failure_reward};
  return request;
}

Metrics CalQl::update(const Batch& batch, double lr_scale) {
  const auto critic = step(batch, lr_scale, batch.returns_to_go());
  return metrics_of(critic, policy_loss(), CalQlBound{critic.bound_rate});
}

AlgorithmInfoOf<CalQl, CalQlOptions> cal_ql_info() {
  return algorithm_info<CalQl, CalQlOptions>(
      {.name = CalQlOptions::kName,
       .title = "Cal-QL: CQL calibrated by the data's returns, for online fine-tuning",
       .paper = "arXiv:2303.05479",
       .metrics = metric_names_of<CqlCriticLoss, SoftPolicyLoss, CqlScalars, CalQlBound>()});
}

}  // namespace rl_training
