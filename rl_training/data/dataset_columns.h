#pragma once
#include <span>
#include <vector>

#include "rl_training/data/sandbox.h"
#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/json.h"

namespace rl_training {

// A dataset as arrays and JSON facts, to pass it between processes or store it in a file.
class DatasetColumns {
 public:
  // Format version; changes whenever the meaning of the arrays or facts changes.
  static constexpr int kLayout = 4;

  // Writes the arrays to `output` and returns the facts.
  static Json hand_over(const TransitionDataset& dataset, SandboxOutput& output);

  // Restores the dataset. Throws Error{data} if arrays and facts do not match.
  static TransitionDataset take_over(const Json& facts,
                                     const std::vector<Column<unsigned char>>& arrays);

  // Call this once for a mapped file that will be sampled. If the file may not fit into memory, the
  // kernel is told to read only the pages that are accessed and not their neighbours, which would
  // evict others. This makes sampling about fifty times as fast.
  static void expect_random_access(const TransitionDataset& dataset);
  // Whether the file may not fit into memory.
  static bool may_exceed_memory(const TransitionDataset& dataset);
  // Asks the kernel to read the pages of many rows at once, before they are accessed one by one:
  // first the row records, and later the observations and actions to which these refer.
  static void read_ahead_places(const TransitionDataset& dataset, std::span<const int64_t> rows);
  static void read_ahead(const TransitionDataset& dataset, std::span<const int64_t> rows);

  // Whether all arrays match their stored hashes; reads all of them.
  static bool is_intact(const TransitionDataset& dataset);
};

}  // namespace rl_training
