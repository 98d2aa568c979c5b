#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rl_training/data/logged_steps.h"
#include "rl_training/util/json.h"

namespace rl_training {

// Describes the contents of a file, including rows that cannot be used for training.
struct DatasetFileSummary {
  int64_t rows = 0, episodes = 0, obs_dim = 0, action_dim = 0, terminals = 0, timeouts = 0;
  double reward_sum = 0;   // sum of the rewards as stored
  double return_mean = 0;  // mean undiscounted return per episode
  bool has_timeouts = false, has_next_observations = false, has_next_actions = false;
  int64_t dropped_rows = 0;
  std::vector<DatasetWarning> warnings;
};

DatasetFileSummary summarize(const LoggedSteps& steps);

// The kinds of files that can be read: d4rl, minari, d3rlpy, robomimic, npz, csv. A directory of
// npz files or of csv files is read as one dataset. Each of its files must contain whole episodes.
std::vector<std::string> dataset_file_kinds();

// Detects the kind of `path`, mainly from its content. Throws Error{data} if the kind is unknown.
std::string detect_dataset_kind(const std::string& path);

// Returns the time-out policy in the options. If the options contain none, returns the default
// policy of the kind.
TimeoutPolicy timeout_policy_for(const std::string& kind, const DatasetReadOptions& options);

// Reads the steps of a file; `kind` may be "auto". Throws Error{data} with file, key and row if the
// data is invalid.
LoggedSteps read_logged_steps(const std::string& kind, const std::string& path,
                              const DatasetReadOptions& options = {});

// The data file of a dataset: `path` itself, or a file inside a Minari directory.
std::string dataset_data_file(const std::string& kind, const std::string& path);

struct FileTransitions {
  TransitionDataset dataset;
  DatasetFileSummary summary;
  // Set if the arrays were written to an output file. `columns` contains the facts of
  // DatasetColumns, and `places` the offset and the size of each array in bytes.
  Json columns;
  std::vector<std::pair<int64_t, int64_t>> places;
};

// Converts steps to transitions. The options must contain a timeout_policy. `kind` and `path` are
// used in messages.
FileTransitions make_file_transitions(const std::string& kind, const std::string& path,
                                      const DatasetReadOptions& options, LoggedSteps steps,
                                      ArrayMemory& memory);

// Reads a file and converts its steps to transitions. `output` is -1 or the descriptor of an empty
// file, to which the arrays are written (except for directories of npz or csv files). Throws
// Error{io} if the disk is full and Error{data} if there are no transitions.
FileTransitions read_transitions(const std::string& kind, const std::string& path,
                                 const DatasetReadOptions& options, int output);

// Reads the transitions of a file. Throws Error{data} if there are none.
TransitionDataset load_dataset_file(const std::string& kind, const std::string& path,
                                    const DatasetReadOptions& options = {},
                                    DatasetFileSummary* summary = nullptr);

}  // namespace rl_training
