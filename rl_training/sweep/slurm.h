#pragma once
#include <map>
#include <string>
#include <vector>

#include "rl_training/sweep/sweep_directory.h"

namespace rl_training {

// The runs to submit for the current round of a sweep: those that are not done and have attempts
// left. Completed rounds are closed first, with values from `value_runs`. `given_up` lists runs
// that are not done and have no attempts left. Counts an attempt for each run to submit; the caller
// saves the sweep.
struct SlurmPlan {
  std::vector<size_t> runs, given_up;
};
using RoundValues = std::function<TrialValues(const SweepRound& round)>;
SlurmPlan plan_submission(SweepDirectory& sweep, FileSystem& files, const RoundValues& values);

// "0-3,7" of sorted numbers.
std::string number_ranges(const std::vector<size_t>& numbers);

// The batch scripts: an array with one task per run, and a follow-up job that submits remaining
// runs or the next round when all tasks have ended.
std::string array_script(const SweepDirectory& sweep, const std::vector<size_t>& runs,
                         const std::string& program, const SlurmOptions& options);
std::string follow_up_script(const SweepDirectory& sweep, const std::string& program,
                             const SlurmOptions& options);

// Writes the scripts below the sweep's directory and submits them; the job numbers are saved in the
// sweep's state. Throws Error{io} with the output of sbatch on failure.
void submit(SweepDirectory& sweep, FileSystem& files, const std::vector<size_t>& runs);

// States of the tasks of an array that Slurm still lists, by number of the run. The key kWholeJob
// stands for the job itself.
inline constexpr size_t kWholeJob = static_cast<size_t>(-1);
std::map<size_t, std::string> queued_tasks(const std::string& job);
void cancel_jobs(const std::vector<std::string>& jobs);

}  // namespace rl_training
