#include "rl_training/runtime/budget.h"

#include <algorithm>

namespace rl_training {

void BudgetOptions::visit_options(OptionVisitor& options) {
  options.integer("max_updates", max_updates, at_least(1), "stop after so many gradient updates");
  options.integer("max_epochs", max_epochs, at_least(1),
                  "stop after so many epochs of ceil(rows / batch_size) updates");
  options.integer("min_buffer_size", min_buffer_size, at_least(0),
                  "rows that must be there before the first update");
}

namespace {

void check_dataset_size(const BudgetOptions& options, int64_t rows) {
  if (rows >= options.min_buffer_size) return;
  throw Error(ErrorKind::config, {"", 0, "algo_kwargs.min_buffer_size"},
              "the dataset is too small (expected at least " +
                  std::to_string(options.min_buffer_size) + " rows, got " + std::to_string(rows) +
                  ")");
}

void limit_updates(Budget& budget, const BudgetOptions& options) {
  const auto limit = [&](int64_t updates, const char* reason) {
    if (updates >= budget.updates) return;
    budget.updates = updates;
    budget.reason = reason;
  };
  if (options.max_updates) limit(*options.max_updates, "max_updates");
  if (options.max_epochs && *options.max_epochs < budget.updates / budget.epoch_updates + 1) {
    limit(*options.max_epochs * budget.epoch_updates, "max_epochs");
  }
}

}  // namespace

Budget plan_budget(const BudgetOptions& options, int64_t total_timesteps, int64_t rows,
                   int64_t batch_size) {
  check_dataset_size(options, rows);
  Budget budget;
  budget.epoch_updates = (rows + batch_size - 1) / batch_size;
  budget.updates = total_timesteps;
  budget.reason = "total_timesteps";
  limit_updates(budget, options);
  return budget;
}

int64_t OnlinePlan::updates_until(int64_t step) const {
  const int64_t begin = std::max(first_update_step, min_rows);
  if (step < begin) return 0;
  return (step / train_frequency - (begin - 1) / train_frequency) * gradient_updates_per_step;
}

Budget plan_online_budget(const BudgetOptions& options, const OnlinePlan& plan, int64_t rows,
                          int64_t batch_size) {
  if (plan.after_offline) check_dataset_size(options, rows);
  Budget budget;
  budget.epoch_updates = (rows + batch_size - 1) / batch_size;
  budget.updates = plan.pretrain_updates + plan.updates_until(plan.env_steps);
  budget.env_steps = plan.env_steps;
  budget.reason = "total_timesteps";
  limit_updates(budget, options);
  return budget;
}

}  // namespace rl_training
