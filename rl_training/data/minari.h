#pragma once
#include <optional>
#include <string>

#include "rl_training/data/logged_steps.h"

namespace rl_training {

// The directory of a Minari dataset: `path` itself, or the dataset of this id below
// $MINARI_DATASETS_PATH (~/.minari/datasets). "" if there is none.
std::string find_minari_dataset(const std::string& path_or_id);

// The data file of a dataset; throws Error{data} if there is none. metadata.json, if present, is
// next to it.
std::string minari_data_file(const std::string& path_or_id);

// What a dataset states about the task in which it was recorded.
struct MinariTask {
  std::string env_id;  // "" if unknown
  // Returns that correspond to normalised scores of 0 and 100.
  std::optional<double> ref_min_score, ref_max_score;
};
// Reads it from the dataset with this data file, in a sandbox.
MinariTask read_minari_task(const std::string& data_file);

// The data file of a Minari dataset (0.3 to 0.5) stored as HDF5. An episode has one observation
// more than steps, so every successor is known, also at a time-out. Dict and Tuple spaces are
// concatenated in the order of their subspaces. An episode that ends without a flag counts as
// truncated, with a warning. Arrow and Parquet storage is rejected.
LoggedSteps read_minari_steps(const std::string& path, const DatasetReadOptions& options,
                              SandboxOutput& output);

}  // namespace rl_training
