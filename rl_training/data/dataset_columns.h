#pragma once
#include <span>
#include <vector>

#include "rl_training/data/sandbox.h"
#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/json.h"

namespace rl_training {

// A dataset as arrays and a few facts, on its way from one process to another or in a file.
class DatasetColumns {
 public:
  // Changes whenever the arrays or facts come to mean something else.
  static constexpr int kLayout = 4;

  // The arrays go to `output`, the facts are returned.
  static Json hand_over(const TransitionDataset& dataset, SandboxOutput& output);

  // The same dataset. Arrays that do not fit the facts or each other: Error{data}.
  static TransitionDataset take_over(const Json& facts,
                                     const std::vector<Column<unsigned char>>& arrays);

  // To be said once of a mapped file that is to be sampled. Where it may not stay in memory, the
  // system then reads the pages that are touched and not their neighbours, which would push out
  // others: some fifty times as many rows a second.
  static void expect_random_access(const TransitionDataset& dataset);
  // Whether it may not stay in memory.
  static bool may_exceed_memory(const TransitionDataset& dataset);
  // Lets the system read the pages of rows, many at the same time, before they are touched one by
  // one: first what tells where a row is, and some time later its observations and actions.
  static void read_ahead_places(const TransitionDataset& dataset, std::span<const int64_t> rows);
  static void read_ahead(const TransitionDataset& dataset, std::span<const int64_t> rows);

  // Whether what the arrays hold is what was handed over, all of it read again.
  static bool is_intact(const TransitionDataset& dataset);
};

}  // namespace rl_training
