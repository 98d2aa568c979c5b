#pragma once
#include <optional>
#include <vector>

#include "cli/commands.h"
#include "rl_training/sweep/local_jobs.h"
#include "rl_training/sweep/planned_run.h"

namespace rl_training {

struct ManyRunsOptions {
  LocalJobOptions jobs;
  bool quiet = false;
  std::optional<int64_t> pause_at;
};

// The reports of `train`, one per run. A failed run has {name, exit_code} instead and, if it
// reported an error, `error`. A run that was never started has {name, exit_code: null}.
struct ManyRunsResult {
  std::vector<Json> reports;
  int exit_code = 0;  // that of the first failed run (1 if it was killed), or 128 + signal
};
// Trains runs in separate processes and shows all of them in one view on stderr. Skips finished
// runs and continues unfinished ones. The reports are in the order of `runs`.
ManyRunsResult train_many(const Invocation& call, const std::vector<PlannedRun>& runs,
                          const ManyRunsOptions& options);

// Prints a comparison of the runs in `reports` on stdout. Prints nothing if no run was trained.
void print_runs_report(const std::vector<Json>& reports);

// The number of jobs to run in parallel: `jobs` (the value of --jobs) or, if `jobs` is 0, as many
// jobs of `threads` threads each as fill the cores.
size_t job_count(int64_t jobs, size_t threads);

}  // namespace rl_training
