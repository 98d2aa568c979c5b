#pragma once
#include <functional>
#include <memory>

#include "cli/commands.h"
#include "rl_training/experiment/run.h"
#include "rl_training/experiment/run_worker.h"
#include "rl_training/util/json.h"

namespace rl_training {

using MakeRun = std::function<std::unique_ptr<Run>(RunContext)>;

// What `train` and `resume` do with one run: trains it with progress on stderr and prints a
// summary (not with --json). Returns the JSON report. `processes` train it together with this one.
Json train_and_print(const Invocation& call, bool quiet, const MakeRun& make,
                     ProcessGroup* processes = nullptr);

// The same in the other processes of that run: trains silently. Returns the exit code.
using MakeWorker = std::function<std::unique_ptr<RunWorker>(RunContext)>;
int train_as_helper(const Invocation& call, const MakeWorker& make, ProcessGroup& processes);

// 0, or 128 + signal when one asked training to stop, here or in another process of the run.
int training_exit_code(const Invocation& call, const Json& report);

}  // namespace rl_training
