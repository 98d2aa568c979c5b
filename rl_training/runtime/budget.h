#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "rl_training/util/options.h"

namespace rl_training {

// How long to train. An epoch is ceil(rows / batch_size) updates.
struct BudgetOptions {
  std::optional<int64_t> max_updates, max_epochs;
  int64_t min_buffer_size = 0;

  void visit_options(OptionVisitor& options);
};

struct Budget {
  int64_t updates = 0;  // to do in all; online: as many as the plan comes to
  int64_t epoch_updates = 1;
  std::string reason;     // the limit that ends the run, by its key
  int64_t env_steps = 0;  // online only
};

// The tightest of the limits. Throws Error{config} when the data can never satisfy
// `min_buffer_size`.
Budget plan_budget(const BudgetOptions& options, int64_t total_timesteps, int64_t rows,
                   int64_t batch_size);

// The same for a run with `env_steps` steps of environments.
struct OnlinePlan {
  int64_t env_steps = 0;
  int64_t pretrain_updates = 0;   // before the first environment step
  bool after_offline = false;     // those are a whole offline run, with a schedule of its own
  int64_t first_update_step = 0;  // environment steps before the first update
  int64_t train_frequency = 1, gradient_updates_per_step = 1;
  int64_t min_rows = 1;  // in the buffer before the first update

  // Updates that are due after `step` environment steps, beyond those of pre-training.
  int64_t updates_until(int64_t step) const;
};
// An epoch is ceil(rows / batch_size) updates: rows of the dataset after an offline run, else the
// buffer's capacity. `max_epochs` and `max_updates` shorten the steps accordingly.
Budget plan_online_budget(const BudgetOptions& options, const OnlinePlan& plan, int64_t rows,
                          int64_t batch_size);

}  // namespace rl_training
