#pragma once
#include <span>
#include <vector>

#include "rl_training/data/sandbox.h"
#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/json.h"

namespace rl_training {

// Converts a dataset to arrays and a JSON object (the facts), and back. In this form, a dataset is
// passed between processes and stored in files.
class DatasetColumns {
 public:
  // Format version; changes whenever the meaning of the arrays or facts changes.
  static constexpr int kLayout = 5;

  // Writes the arrays to `output` and returns the facts. Does not support datasets with separately
  // stored successors (see TransitionDataset).
  static Json hand_over(const TransitionDataset& dataset, SandboxOutput& output);

  // Restores the dataset. Throws Error{data} if arrays and facts do not match.
  static TransitionDataset take_over(const Json& facts,
                                     const std::vector<Column<unsigned char>>& arrays);

  // Call this once for a dataset in a mapped file, before it is sampled. If the dataset may not fit
  // into memory, the call turns off the kernel's read-ahead, which reads neighbouring pages and
  // evicts pages that are needed. Without read-ahead, sampling from such a dataset is about fifty
  // times as fast.
  static void expect_random_access(const TransitionDataset& dataset);
  // Whether the dataset needs at least half of the memory that this process may use.
  static bool may_exceed_memory(const TransitionDataset& dataset);
  // The next two functions request that the kernel read the pages of all given rows now, before the
  // rows are accessed one by one. read_ahead_places() requests the row records. Call it first,
  // because read_ahead() uses these records to find the observations and actions.
  static void read_ahead_places(const TransitionDataset& dataset, std::span<const int64_t> rows);
  static void read_ahead(const TransitionDataset& dataset, std::span<const int64_t> rows);

  // Whether all arrays match the hashes in the facts. Reads the whole dataset.
  static bool is_intact(const TransitionDataset& dataset, const Json& facts);

 private:
  static std::string hash_validity(const TransitionDataset& dataset);
};

}  // namespace rl_training
