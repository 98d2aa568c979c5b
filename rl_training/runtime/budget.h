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
  int64_t updates = 0;  // to do in all
  int64_t epoch_updates = 1;
  std::string reason;  // the limit that sets `updates`, by its key
};

// The tightest of the limits. Throws Error{config} when the data can never satisfy
// `min_buffer_size`.
Budget plan_budget(const BudgetOptions& options, int64_t total_timesteps, int64_t rows,
                   int64_t batch_size);

}  // namespace rl_training
