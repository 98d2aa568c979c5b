#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rl_training/data/logged_steps.h"
#include "rl_training/util/json.h"

namespace rl_training {

// What a file holds, before rows that cannot be used are left out.
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

// Which of them `path` is, by its content. Neither: Error{data}.
std::string detect_dataset_kind(const std::string& path);

// What the options state, or the default of the kind.
TimeoutPolicy timeout_policy_for(const std::string& kind, const DatasetReadOptions& options);

// The steps of a file; `kind` may be "auto". Every problem is Error{data} with file, key and row.
LoggedSteps read_logged_steps(const std::string& kind, const std::string& path,
                              const DatasetReadOptions& options = {});

// The file in which a dataset lies: `path` itself, or inside a Minari directory.
std::string dataset_data_file(const std::string& kind, const std::string& path);

struct FileTransitions {
  TransitionDataset dataset;
  DatasetFileSummary summary;
  // Of the arrays in the output, if there is one: DatasetColumns' facts, and offset and bytes.
  Json columns;
  std::vector<std::pair<int64_t, int64_t>> places;
};

// Of steps that were read, by the timeout_policy of the options, which is decided. `kind` and
// `path` are for messages.
FileTransitions make_file_transitions(const std::string& kind, const std::string& path,
                                      const DatasetReadOptions& options, LoggedSteps steps,
                                      ArrayMemory& memory);

// Reads a file and makes transitions of it. The empty file open as `output`, if any (-1: none),
// then holds the arrays; a disk that is full is Error{io}. No transitions at all are Error{data}.
FileTransitions read_transitions(const std::string& kind, const std::string& path,
                                 const DatasetReadOptions& options, int output);

// The transitions of a file; none at all is Error{data}.
TransitionDataset load_dataset_file(const std::string& kind, const std::string& path,
                                    const DatasetReadOptions& options = {},
                                    DatasetFileSummary* summary = nullptr);

}  // namespace rl_training
