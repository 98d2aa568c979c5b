#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rl_training/data/logged_steps.h"
#include "rl_training/util/json.h"

namespace rl_training {

// Contents of a file, including rows that cannot be used.
struct DatasetFileSummary {
  int64_t rows = 0, episodes = 0, obs_dim = 0, action_dim = 0, terminals = 0, timeouts = 0;
  double reward_sum = 0;   // of the rewards as stored
  double return_mean = 0;  // over the episodes
  bool has_timeouts = false, has_next_observations = false, has_next_actions = false;
  int64_t dropped_rows = 0;
  std::vector<DatasetWarning> warnings;
};

DatasetFileSummary summarize(const LoggedSteps& steps);

// The kinds of files that can be read: d4rl, minari, d3rlpy, robomimic, npz, csv. The last two may
// be directories of such files, each with whole episodes.
std::vector<std::string> dataset_file_kinds();

// Detects the kind of `path` by its content; throws Error{data} if it is none of them.
std::string detect_dataset_kind(const std::string& path);

// The policy that the options state, or the default of the kind.
TimeoutPolicy timeout_policy_for(const std::string& kind, const DatasetReadOptions& options);

// The steps of a file; `kind` may be "auto". Every problem is Error{data} with file, key and row.
LoggedSteps read_logged_steps(const std::string& kind, const std::string& path,
                              const DatasetReadOptions& options = {});

// The data file of a dataset: `path` itself, or a file inside a Minari directory.
std::string dataset_data_file(const std::string& kind, const std::string& path);

struct FileTransitions {
  TransitionDataset dataset;
  DatasetFileSummary summary;
  // Facts of the arrays in the output, if there is one: those of DatasetColumns, with offsets and
  // sizes.
  Json columns;
  std::vector<std::pair<int64_t, int64_t>> places;
};

// Makes transitions of steps that were read, by the timeout_policy of the options, which must be
// set. `kind` and `path` are for messages.
FileTransitions make_file_transitions(const std::string& kind, const std::string& path,
                                      const DatasetReadOptions& options, LoggedSteps steps,
                                      ArrayMemory& memory);

// Reads a file and makes transitions of it. The arrays are written to the empty file open as
// `output` (-1: none). Throws Error{io} if the disk is full and Error{data} if there are no
// transitions.
FileTransitions read_transitions(const std::string& kind, const std::string& path,
                                 const DatasetReadOptions& options, int output);

// The transitions of a file; throws Error{data} if there are none.
TransitionDataset load_dataset_file(const std::string& kind, const std::string& path,
                                    const DatasetReadOptions& options = {},
                                    DatasetFileSummary* summary = nullptr);

}  // namespace rl_training
