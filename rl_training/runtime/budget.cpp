#include "rl_training/runtime/budget.h"

#include <algorithm>

#include "rl_training/runtime/phase.h"

namespace rl_training {

void BudgetOptions::visit_options(OptionVisitor& options) {
  options.integer("max_updates", max_updates, at_least(1), "stop after this many updates");
  options.integer("max_epochs", max_epochs, at_least(1),
                  "stop after this many epochs of ceil(rows / batch_size) updates");
  options.integer("min_buffer_size", min_buffer_size, at_least(0),
                  "rows required before the first update");
}

void check_dataset_size(const BudgetOptions& options, int64_t rows) {
  if (rows >= options.min_buffer_size) return;
  throw Error(ErrorKind::config, {"", 0, "algo_kwargs.min_buffer_size"},
              "the dataset is too small (expected at least " +
                  std::to_string(options.min_buffer_size) + " rows, got " + std::to_string(rows) +
                  ")");
}

Budget plan_budget(const BudgetOptions& options, const std::vector<PhaseSpec>& phases,
                   int64_t epoch_rows, int64_t batch_size) {
  Budget budget;
  budget.epoch_updates = (epoch_rows + batch_size - 1) / batch_size;
  for (const auto& phase : phases) budget.updates += planned_updates(phase);
  budget.reason = "total_timesteps";
  const auto limit = [&](int64_t updates, const char* reason) {
    if (updates >= budget.updates) return;
    budget.updates = updates;
    budget.reason = reason;
  };
  if (options.max_updates) limit(*options.max_updates, "max_updates");
  // Compares with a quotient, because the product below would overflow for a huge max_epochs.
  if (options.max_epochs && *options.max_epochs < budget.updates / budget.epoch_updates + 1) {
    limit(*options.max_epochs * budget.epoch_updates, "max_epochs");
  }
  return budget;
}

}  // namespace rl_training
