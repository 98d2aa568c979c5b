#pragma once
#include <map>
#include <string>
#include <vector>

#include "rl_training/sweep/sweep_directory.h"

namespace rl_training {

// What is to be submitted for the current round of a sweep: the runs that are not done and have
// attempts left. Rounds that are complete are finished on the way, with values of `value_runs`.
// `given_up` are runs that are not done and have none left. Counts an attempt for each run to
// submit; the caller saves the sweep.
struct SlurmPlan {
  std::vector<size_t> runs, given_up;
};
using RoundValues = std::function<TrialValues(const SweepRound& round)>;
SlurmPlan plan_submission(SweepDirectory& sweep, FileSystem& files, const RoundValues& values);

// "0-3,7" of sorted numbers.
std::string number_ranges(const std::vector<size_t>& numbers);

// The batch scripts: one task for each run, and the job that follows when all have ended, which
// submits what is left or the next round.
std::string array_script(const SweepDirectory& sweep, const std::vector<size_t>& runs,
                         const std::string& program, const SlurmOptions& options);
std::string follow_up_script(const SweepDirectory& sweep, const std::string& program,
                             const SlurmOptions& options);

// Writes the scripts below the sweep's directory and submits them; the job numbers go into the
// sweep's state, which is saved. Error{io} with what sbatch said.
void submit(SweepDirectory& sweep, FileSystem& files, const std::vector<size_t>& runs);

// States of the tasks of an array that Slurm still lists, by number of the run; "" stands for the
// job itself under kWholeJob.
inline constexpr size_t kWholeJob = static_cast<size_t>(-1);
std::map<size_t, std::string> queued_tasks(const std::string& job);
void cancel_jobs(const std::vector<std::string>& jobs);

}  // namespace rl_training
