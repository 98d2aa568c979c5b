#include "rl_training/sweep/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "rl_training/sweep/child_process.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/run_tool.h"
#include "rl_training/util/scratch_directory.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr int kSecondsBeforeTimeLimit = 60;

// Returns the output of a Slurm command. If the command fails or is missing, throws Error{io} or,
// with `may_fail`, returns "".
std::string run_command(const std::vector<std::string>& words, bool may_fail = false) {
  const ScratchDirectory scratch;
  const auto printed = scratch.path() + "/output", said = scratch.path() + "/messages";
  const auto code = run_tool(words, "/dev/null", printed, said);
  if (code == 0) return posix_file_system().read_file(printed);
  if (may_fail) return "";
  if (!code) {
    throw Error(ErrorKind::io, {words.front(), 0, ""},
                "no such command (expected Slurm's sbatch, squeue and scancel)");
  }
  auto message = posix_file_system().read_file(said);
  message = message.substr(0, message.find('\n'));
  throw Error(ErrorKind::io, {words.front(), 0, ""}, message.empty() ? "failed" : message);
}

std::string logs_of(const SweepDirectory& sweep) { return sweep.path() + "/slurm"; }

std::string name_of(const SweepDirectory& sweep) {
  return sweep.path().substr(sweep.path().rfind('/') + 1);
}

std::string header(const SweepDirectory& sweep, const SlurmOptions& options,
                   const std::string& log) {
  auto text = fmt::format(
      "#!/bin/sh\n"
      "#SBATCH --job-name={}\n"
      "#SBATCH --output={}/{}\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --requeue\n",
      name_of(sweep), logs_of(sweep), log);
  if (!options.partition.empty()) text += "#SBATCH --partition=" + options.partition + "\n";
  if (!options.time.empty()) text += "#SBATCH --time=" + options.time + "\n";
  return text;
}

std::string submit_script(FileSystem& files, const SweepDirectory& sweep, const std::string& name,
                          const std::string& text, const std::vector<std::string>& more) {
  const auto path = logs_of(sweep) + "/" + name;
  files.make_directories(logs_of(sweep));
  files.write_file(path, text);
  std::vector<std::string> words = {"sbatch", "--parsable"};
  words.insert(words.end(), more.begin(), more.end());
  words.push_back(path);
  const auto output = run_command(words);
  // sbatch prints "17" or, if there are several clusters, "17;name".
  auto job = output.substr(0, output.find_first_of(";\n"));
  const bool number = !job.empty() && job.find_first_not_of("0123456789") == std::string::npos;
  if (!number)
    throw Error(ErrorKind::io, {"sbatch", 0, ""}, "expected a job number, got " + output);
  return job;
}

}  // namespace

SlurmPlan plan_submission(SweepDirectory& sweep, FileSystem& files, const RoundValues& values) {
  for (;;) {
    auto round = sweep.present_round();
    SlurmPlan plan;
    for (const size_t number : sweep.runs_of(round.trials)) {
      const auto status = status_of(files, sweep.run(number, 1), round.pause_at);
      if (status.state == RunStatus::State::done) continue;
      const auto [found, first] = sweep.slurm().attempts.try_emplace(number);
      auto& attempt = found->second;
      if (!first && status.position > attempt.position) attempt.count = 0;
      attempt.position = status.position;
      if (attempt.count > sweep.retries()) {
        plan.given_up.push_back(number);
      } else {
        ++attempt.count;
        plan.runs.push_back(number);
      }
    }
    if (!plan.runs.empty() || !round.pause_at) return plan;
    round.values = values(round);
    sweep.finish_round(round);
  }
}

std::string number_ranges(const std::vector<size_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string array_script(const SweepDirectory& sweep, const std::vector<size_t>& runs,
                         const std::string& program, const SlurmOptions& options) {
  auto text = header(sweep, options, "run-%a.log");
  text += "#SBATCH --array=" + number_ranges(runs) +
          (options.array_limit > 0 ? "%" + std::to_string(options.array_limit) : "") + "\n" +
          fmt::format("#SBATCH --cpus-per-task={}\n", options.threads);
  // Slurm sends this signal before a time limit or a pre-emption, early enough for a checkpoint.
  // The follow-up job resubmits runs that reached their time limit.
  text += fmt::format("#SBATCH --signal=B:TERM@{}\n", kSecondsBeforeTimeLimit);
  // With `exec`, signals to the script reach the program. At a pre-emption, the program writes a
  // checkpoint and stops. Slurm then starts the task again, and the task resumes.
  return text + fmt::format("exec {} sweep task {} \"$SLURM_ARRAY_TASK_ID\"\n", shell_word(program),
                            shell_word(sweep.path()));
}

std::string follow_up_script(const SweepDirectory& sweep, const std::string& program,
                             const SlurmOptions& options) {
  return header(sweep, options, "follow_up.log") +
         fmt::format("exec {} sweep advance {}\n", shell_word(program), shell_word(sweep.path()));
}

void submit(SweepDirectory& sweep, FileSystem& files, const std::vector<size_t>& runs) {
  const auto program = program_file();
  auto& slurm = sweep.slurm();
  slurm.array = submit_script(files, sweep, "array.sh",
                              array_script(sweep, runs, program, slurm.options), {});
  sweep.save();  // save now, so that the job can be cancelled even if the next call fails
  slurm.follow_up =
      submit_script(files, sweep, "follow_up.sh", follow_up_script(sweep, program, slurm.options),
                    {"--dependency=afterany:" + slurm.array});
  sweep.save();
}

std::map<size_t, std::string> queued_tasks(const std::string& job) {
  std::map<size_t, std::string> tasks;
  if (job.empty()) return tasks;
  // squeue fails for jobs that it no longer lists, so a failure means that no task is queued.
  std::istringstream lines(run_command({"squeue", "-h", "-r", "-j", job, "-o", "%K %T"}, true));
  for (std::string task, state; lines >> task >> state;) {
    const bool number = task.find_first_not_of("0123456789") == std::string::npos;
    tasks[number ? std::stoul(task) : kWholeJob] = state;
  }
  return tasks;
}

void cancel_jobs(const std::vector<std::string>& jobs) {
  std::vector<std::string> words = {"scancel"};
  words.insert(words.end(), jobs.begin(), jobs.end());
  run_command(words);
}

}  // namespace rl_training
