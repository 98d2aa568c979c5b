#pragma once
#include <optional>
#include <string>

#include "rl_training/data/logged_steps.h"

namespace rl_training {

// The directory of a Minari dataset: `path` itself, or the dataset of this id below
// $MINARI_DATASETS_PATH (~/.minari/datasets). Neither: "".
std::string find_minari_dataset(const std::string& path_or_id);

// The file with the data of a dataset; none: Error{data}. metadata.json, if present, is next to it.
std::string minari_data_file(const std::string& path_or_id);

// What a dataset says of the task it was recorded in.
struct MinariTask {
  std::string env_id;  // "" if it does not say
  // Returns that count as 0 and as 100 in normalised scores.
  std::optional<double> ref_min_score, ref_max_score;
};
// Of the dataset with this data file, in a sandbox.
MinariTask read_minari_task(const std::string& data_file);

// The data file of a Minari dataset (0.3 to 0.5) stored as HDF5. An episode has one observation
// more than steps, so every successor is known, also at a time-out. Dict and Tuple spaces are laid
// side by side in the order of their subspaces. An episode that ends without a flag counts as
// truncated, with a warning. Arrow and Parquet storage is refused.
LoggedSteps read_minari_steps(const std::string& path, const DatasetReadOptions& options,
                              SandboxOutput& output);

}  // namespace rl_training
