#pragma once
#include <functional>
#include <memory>

#include "cli/commands.h"
#include "rl_training/experiment/run.h"
#include "rl_training/experiment/run_worker.h"
#include "rl_training/report/run_record.h"
#include "rl_training/util/json.h"

namespace rl_training {

using MakeRun = std::function<std::unique_ptr<Run>(RunContext)>;

struct TrainingOptions {
  bool quiet = false;
  // Pauses with a checkpoint at the first logged row at or after this position. `stop_reason` is
  // then `paused`.
  std::optional<int64_t> pause_at = std::nullopt;
  ProcessGroup* processes = nullptr;  // processes that train together; null: only this process
  bool next_commands = true;          // print suggested commands below the summary
};

// Trains one run for `train` and `resume` and shows progress on stderr. Prints a summary unless
// --json is set. Returns the JSON report.
Json train_and_print(const Invocation& call, const TrainingOptions& options, const MakeRun& make);

using MakeWorker = std::function<std::unique_ptr<RunWorker>(RunContext)>;
// Trains the run in a process other than process 0, without output. Returns the exit code.
int train_as_helper(const Invocation& call, const MakeWorker& make, ProcessGroup& processes);

// The report of a run that has already finished.
Json report_of(const RunRecord& record);

// Returns 0 if `reports` has `runs` elements and no signal stopped the last run. Otherwise returns
// 128 plus the number of the signal that stopped training, which this process or another process of
// the group received. A signal that arrives after the last update of the last run does not change
// the exit code.
int training_exit_code(const Invocation& call, const Json& reports, size_t runs);

}  // namespace rl_training
