#pragma once
#include <optional>
#include <string>

#include "rl_training/data/logged_steps.h"

namespace rl_training {

// Returns the directory of a Minari dataset: `path_or_id` itself, or the directory of this name
// below $MINARI_DATASETS_PATH (default ~/.minari/datasets). Returns "" if there is no such dataset.
std::string find_minari_dataset(const std::string& path_or_id);

// Returns the data file of a dataset. Throws Error{data} if there is no such dataset. The optional
// metadata.json is in the same directory.
std::string minari_data_file(const std::string& path_or_id);

// Metadata that describes the task in which a dataset was recorded.
struct MinariTask {
  std::string env_id;  // "" if unknown
  // Episode returns that correspond to normalised scores of 0 and 100.
  std::optional<double> ref_min_score, ref_max_score;
};
// Reads this metadata in a sandbox.
MinariTask read_minari_task(const std::string& data_file);

// Reads the HDF5 data file of a Minari dataset (version 0.3 to 0.5). An episode has one more
// observation than steps, so the successor of every step is known, even at a time-out. The parts of
// Dict and Tuple spaces are concatenated in the order of the subspaces. An episode that ends
// without a flag counts as truncated and causes a warning. In files of save_minari_dataset(), such
// an episode is marked, and its end is read without a flag. Arrow and Parquet storage is rejected.
LoggedSteps read_minari_steps(const std::string& path, const DatasetReadOptions& options,
                              SandboxOutput& output);

}  // namespace rl_training
