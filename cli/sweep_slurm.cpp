#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/sweep.h"
#include "cli/sweep_results.h"
#include "rl_training/report/tables.h"
#include "rl_training/sweep/run_finder.h"
#include "rl_training/sweep/slurm.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

struct SweepPlace {
  std::string directory;
  NumberArgument run;
};

std::string own_job() {
  const char* job = std::getenv("SLURM_JOB_ID");
  return job == nullptr ? "" : job;
}

// The jobs of the sweep that Slurm still lists, except the job of this process.
std::vector<std::string> live_jobs(SweepDirectory& sweep) {
  std::vector<std::string> live;
  for (const auto& job : {sweep.slurm().array, sweep.slurm().follow_up}) {
    if (job != own_job() && !queued_tasks(job).empty()) live.push_back(job);
  }
  return live;
}

// One row in the output of `sweep status`.
struct RunRow {
  std::string name, state;
  int64_t position = 0, length = 0;
  std::optional<double> value;
  std::string path;
};

std::vector<RunRow> status_rows(SweepDirectory& sweep) {
  const auto round = sweep.present_round();
  const auto tasks = queued_tasks(sweep.slurm().array);
  std::vector<RunRow> rows;
  for (size_t number = 0; number < sweep.run_count(); ++number) {
    const auto run = sweep.run(number, 1);
    const size_t trial = number / sweep.seeds().size();
    const bool stopped =
        std::find(round.trials.begin(), round.trials.end(), trial) == round.trials.end();
    const auto status = status_of(posix_file_system(), run, round.pause_at);
    RunRow row{run.name,        status_name(status.state),
               status.position, length_of(run.config),
               std::nullopt,    status.path};
    if (stopped && status.state == RunStatus::State::begun)
      row.state = run_state_name(RunState::paused);
    // The state comes from Slurm, because locks of runs on other machines are not visible here.
    const auto task = tasks.find(number);
    if (task != tasks.end() && status.state != RunStatus::State::done) {
      row.state = task->second == "RUNNING" ? "running" : "queued";
    }
    if (!status.path.empty()) {
      MetricTail rows_of_run(status.path);
      rows_of_run.update();
      row.value = rows_of_run.newest(sweep.metric());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

int run_status(const SweepPlace& place, const Invocation& call) {
  auto sweep = SweepDirectory::open(posix_file_system(), place.directory);
  const auto rows = status_rows(sweep);
  std::map<std::string, size_t> counts;
  for (const auto& row : rows) ++counts[row.state];
  if (call.json) {
    Json runs = Json::array();
    for (const auto& row : rows) {
      runs.push_back({{"name", row.name},
                      {"state", row.state},
                      {"position", row.position},
                      {"length", row.length},
                      {"value", row.value ? Json(*row.value) : Json()},
                      {"run_dir", row.path.empty() ? Json() : Json(row.path)}});
    }
    print_json({{"sweep_dir", sweep.path()},
                {"metric", sweep.metric()},
                {"states", counts},
                {"jobs", live_jobs(sweep)},
                {"runs", runs}});
    return 0;
  }
  std::vector<std::vector<std::string>> lines;
  lines.reserve(rows.size());
  for (const auto& row : rows) {
    lines.push_back({row.name, row.state, fmt::format("{}/{}", row.position, row.length),
                     row.value ? figure_text(*row.value) : "-"});
  }
  print(text_table(lines, {"run", "state", "steps", sweep.metric()}));
  std::string summary;
  for (const auto& [state, count] : counts) {
    summary += (summary.empty() ? "" : ", ") + fmt::format("{} {}", count, state);
  }
  const auto jobs = live_jobs(sweep);
  if (!jobs.empty()) summary += "; Slurm jobs " + join(jobs, ", ");
  print(summary + "\n");
  return 0;
}

int run_cancel(const SweepPlace& place, const Invocation& call) {
  auto sweep = SweepDirectory::open(posix_file_system(), place.directory);
  const auto jobs = live_jobs(sweep);
  if (!jobs.empty()) cancel_jobs(jobs);
  if (call.json) {
    print_json({{"cancelled", jobs}});
  } else {
    print(jobs.empty()
              ? "no jobs of this sweep are on Slurm\n"
              : "cancelled Slurm jobs " + join(jobs, ", ") + "; runs keep their checkpoints\n");
  }
  return 0;
}

// Runs one task of the array: trains its run in this process.
int run_task(const SweepPlace& place) {
  auto sweep = SweepDirectory::open(posix_file_system(), place.directory);
  const auto number = static_cast<size_t>(
      place.run.read("RUN", between(0, static_cast<double>(sweep.run_count()) - 1)));
  const auto round = sweep.present_round();
  auto words = sweep.run(number, static_cast<size_t>(sweep.slurm().options.threads)).arguments;
  if (round.pause_at) words.insert(words.end(), {"--pause-at", std::to_string(*round.pause_at)});
  words.insert(words.begin(), "rl_training");
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv("/proc/self/exe", argv.data());
  throw Error(ErrorKind::io, "cannot start the training");
}

int run_advance(const SweepPlace& place, const Invocation& call) {
  auto sweep = SweepDirectory::open(posix_file_system(), place.directory);
  return submit_sweep(sweep, call, /*by_hand=*/false);
}

}  // namespace

int submit_sweep(SweepDirectory& sweep, const Invocation& call, bool by_hand) {
  const auto live = by_hand ? live_jobs(sweep) : std::vector<std::string>();
  if (!live.empty()) {
    throw Error(ErrorKind::config, {sweep.path(), 0, ""},
                "is already on Slurm, jobs " + join(live, ", ") +
                    " (expected `sweep status` or `sweep cancel`)");
  }
  if (by_hand) sweep.slurm().attempts.clear();
  const auto plan = plan_submission(sweep, posix_file_system(), [&](const SweepRound& round) {
    return round_values(sweep, round);
  });
  for (const size_t run : plan.given_up) {
    print_note(fmt::format(
        "{} ended {} times without progress and is not retried; see {}/slurm/run-{}.log",
        sweep.run(run, 1).name, sweep.retries() + 1, sweep.path(), run));
  }
  if (plan.runs.empty()) {
    sweep.save();
    print_sweep(sweep, call);
    return plan.given_up.empty() ? 0 : 1;
  }
  submit(sweep, posix_file_system(), plan.runs);
  if (call.json) {
    print_json({{"sweep_dir", sweep.path()},
                {"array", sweep.slurm().array},
                {"follow_up", sweep.slurm().follow_up},
                {"runs", plan.runs.size()}});
  } else {
    const auto program = shell_word(call.program), path = shell_word(sweep.path());
    print(
        fmt::format("submitted job array {} with {} runs, and follow-up job {}\n"
                    "next:\n  {} sweep status {}\n  {} sweep cancel {}\n",
                    sweep.slurm().array, plan.runs.size(), sweep.slurm().follow_up, program, path,
                    program, path));
  }
  return 0;
}

void add_sweep_subcommands(CLI::App& sweep, Invocation& call) {
  const auto add = [&](const char* name, const char* summary, const char* example,
                       const std::function<int(const SweepPlace&)>& work) {
    auto place = std::make_shared<SweepPlace>();
    auto* command =
        add_command(sweep, call, name, summary, example, [place, work] { return work(*place); });
    command->add_option("DIR", place->directory, "directory of the sweep")
        ->required()
        ->type_name("");
    return std::pair(command, place);
  };
  add("status", "Show the progress of the runs of a sweep", "  rl_training sweep status runs/sweep",
      [&call](const SweepPlace& place) { return run_status(place, call); });
  add("cancel", "Cancel the jobs of a sweep on Slurm", "  rl_training sweep cancel runs/sweep",
      [&call](const SweepPlace& place) { return run_cancel(place, call); });
  const auto [task, place] = add("task", "Train one run (called by the job array)",
                                 "  rl_training sweep task runs/sweep 3", run_task);
  task->add_option("RUN", place->run.text, "number of the run")->required()->type_name("N");
  const auto [advance, ignored] =
      add("advance", "Submit the remaining runs (called by the job after an array)",
          "  rl_training sweep advance runs/sweep",
          [&call](const SweepPlace& given) { return run_advance(given, call); });
  // These subcommands are hidden from the help, because only scripts use them.
  for (auto* inner : {task, advance}) inner->group("");
}

}  // namespace rl_training
