#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/experiment/train_config.h"
#include "rl_training/report/run_record.h"

namespace rl_training {

// One run of a sweep, or of a call that trains several seeds.
struct PlannedRun {
  std::string name;    // "seed 3" or "trial 4, seed 1"
  TrainConfig config;  // includes the seed and output_dir of the run
  std::string from;    // run or checkpoint to start from; "": none
  // Arguments of a call that starts the run or, if it has already started, continues it.
  std::vector<std::string> arguments;
};

// State of a run. `absent`: the run has not started. `begun`: it was stopped or paused before its
// end or `pause_at`. `running`: a process on this machine trains it. `failed`: it stopped with an
// error. `done`: it reached its end or `pause_at`.
struct RunStatus {
  enum class State { absent, begun, running, failed, done } state = State::absent;
  std::string path;  // "" if the run is absent
  int64_t position = 0;
  std::optional<RunRecord> record;
};
const char* status_name(RunStatus::State state);

// Examines the run directory. With `pause_at`, a run that has reached this position is done.
RunStatus status_of(FileSystem& files, const PlannedRun& run,
                    std::optional<int64_t> pause_at = std::nullopt);

}  // namespace rl_training
