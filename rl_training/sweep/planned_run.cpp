#include "rl_training/sweep/planned_run.h"

#include "rl_training/sweep/run_finder.h"

namespace rl_training {

const char* status_name(RunStatus::State state) {
  switch (state) {
    case RunStatus::State::absent:
      return "waiting";
    case RunStatus::State::begun:
      return "unfinished";
    case RunStatus::State::running:
      return "running";
    case RunStatus::State::failed:
      return "failed";
    case RunStatus::State::done:
      break;
  }
  return "done";
}

RunStatus status_of(FileSystem& files, const PlannedRun& run, std::optional<int64_t> pause_at) {
  RunStatus status;
  status.path = find_run(files, run.config, run.from);
  if (status.path.empty()) return status;
  status.record = read_run(files, status.path);
  MetricTail tail(status.path);
  tail.update();
  status.position = position_in(tail.last_row(), run.config);
  switch (status.record->state) {
    case RunState::finished:
      status.state = RunStatus::State::done;
      break;
    case RunState::running:
      status.state = RunStatus::State::running;
      break;
    case RunState::failed:
      status.state = RunStatus::State::failed;
      break;
    case RunState::paused:
    case RunState::unfinished:
      status.state = pause_at && status.position >= *pause_at ? RunStatus::State::done
                                                              : RunStatus::State::begun;
      break;
  }
  return status;
}

}  // namespace rl_training
