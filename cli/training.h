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
  // Pauses with a checkpoint at the first row at or after this position; `stop_reason` is `paused`.
  std::optional<int64_t> pause_at = std::nullopt;
  ProcessGroup* processes = nullptr;  // that train the run together with this one
  bool next_commands = true;          // below the summary
};

// Trains one run for `train` and `resume`, with progress on stderr, and prints a summary unless
// --json is given. Returns the JSON report.
Json train_and_print(const Invocation& call, const TrainingOptions& options, const MakeRun& make);

// The same in the other processes of the run, without output. Returns the exit code.
using MakeWorker = std::function<std::unique_ptr<RunWorker>(RunContext)>;
int train_as_helper(const Invocation& call, const MakeWorker& make, ProcessGroup& processes);

// The report of a run that is already finished.
Json report_of(const RunRecord& record);

// 0 if all `runs` reached their end; otherwise 128 + the signal that stopped them, in this or
// another process. A signal after the last update of the last run has no effect.
int training_exit_code(const Invocation& call, const Json& reports, size_t runs);

}  // namespace rl_training
