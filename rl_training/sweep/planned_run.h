#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/experiment/train_config.h"
#include "rl_training/report/run_record.h"

namespace rl_training {

// One run of many.
struct PlannedRun {
  std::string name;    // among them: "seed 3", "trial 4, seed 1"
  TrainConfig config;  // with its seed and output_dir
  std::string from;    // a run or checkpoint that it starts from, "" for none
  // Of a call of this program that starts it or, where it was begun before, continues it.
  std::vector<std::string> arguments;
};

// How far a run is. Only `failed` and `begun` come without being at the end or at `pause_at`.
struct RunStatus {
  enum class State { absent, begun, running, failed, done } state = State::absent;
  std::string path;  // "" if it is absent
  int64_t position = 0;
  std::optional<RunRecord> record;
};
const char* status_name(RunStatus::State state);

// Looks at the run's directory. With `pause_at` a run that got there is done, too.
RunStatus status_of(FileSystem& files, const PlannedRun& run,
                    std::optional<int64_t> pause_at = std::nullopt);

}  // namespace rl_training
