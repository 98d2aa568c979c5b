#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/algorithms/phases.h"
#include "rl_training/util/options.h"

namespace rl_training {

// Limits of a run in addition to the length of its phases, and the number of rows required before
// its first update. An epoch is ceil(rows / batch_size) updates.
struct BudgetOptions {
  std::optional<int64_t> max_updates, max_epochs;
  int64_t min_buffer_size = 0;

  void visit_options(OptionVisitor& options);
};

struct Budget {
  int64_t updates = 0;  // total number of updates
  int64_t epoch_updates = 1;
  std::string reason;  // key of the limit that ends the run
};

// Returns the tightest limit. `epoch_rows` is the number of rows per epoch.
Budget plan_budget(const BudgetOptions& options, const std::vector<PhaseSpec>& phases,
                   int64_t epoch_rows, int64_t batch_size);

// Throws Error{config} if the dataset has fewer than `min_buffer_size` rows.
void check_dataset_size(const BudgetOptions& options, int64_t rows);

}  // namespace rl_training
