#pragma once
#include <map>
#include <string>
#include <vector>

#include "rl_training/sweep/sweep_directory.h"

namespace rl_training {

// The runs to submit for the current round of a sweep. `runs` lists runs that are not done and have
// attempts left; `given_up` lists runs that are not done and have no attempts left.
struct SlurmPlan {
  std::vector<size_t> runs, given_up;
};
using RoundValues = std::function<TrialValues(const SweepRound& round)>;
// Plans the next submission. First completes each round that has no runs left to submit, unless it
// is the last round, and stores the values that `values` returns for the round. Counts an attempt
// for each run of the plan. The caller must save the sweep.
SlurmPlan plan_submission(SweepDirectory& sweep, FileSystem& files, const RoundValues& values);

// Formats sorted numbers as ranges: "0-3,7".
std::string number_ranges(const std::vector<size_t>& numbers);

// The batch scripts: an array job with one task per run, and a follow-up job. When all tasks have
// ended, the follow-up job submits the remaining runs or the next round.
std::string array_script(const SweepDirectory& sweep, const std::vector<size_t>& runs,
                         const std::string& program, const SlurmOptions& options);
std::string follow_up_script(const SweepDirectory& sweep, const std::string& program,
                             const SlurmOptions& options);

// Writes the scripts below the sweep's directory, submits them, and saves the job numbers in the
// sweep's state. On failure, throws Error{io} with the output of sbatch.
void submit(SweepDirectory& sweep, FileSystem& files, const std::vector<size_t>& runs);

// The state of each task that Slurm still lists for an array job, by the number of the task's run.
// For a job that is not an array, the result has the single key kWholeJob.
inline constexpr size_t kWholeJob = static_cast<size_t>(-1);
std::map<size_t, std::string> queued_tasks(const std::string& job);
void cancel_jobs(const std::vector<std::string>& jobs);

}  // namespace rl_training
