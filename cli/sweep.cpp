#include "cli/sweep.h"

#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/many_runs.h"
#include "cli/output.h"
#include "cli/signal_thread.h"
#include "cli/sweep_results.h"
#include "rl_training/sweep/child_process.h"
#include "rl_training/sweep/run_finder.h"
#include "rl_training/sweep/slurm.h"

namespace rl_training {
namespace {

struct SweepArguments {
  std::string file;
  NumberArgument jobs{"0"}, threads{"1"}, array_limit{"0"};
  std::optional<std::string> output_dir;
  std::string partition, time;
  bool dry_run = false, slurm = false, quiet = false;
};

// Prints the runs of a sweep without creating a directory.
void print_plan(const SweepSpec& spec, const std::vector<Trial>& trials, const Invocation& call) {
  const auto rungs = rung_positions(round_rules(spec, trials));
  if (call.json) {
    Json runs = Json::array();
    for (const auto& trial : trials) {
      for (const auto seed : spec.seeds) {
        auto config = trial.config;
        config.seed = seed;
        runs.push_back({{"trial", trial.number},
                        {"seed", seed},
                        {"label", trial.label()},
                        {"config", write_train_config(config)}});
      }
    }
    Json pauses = Json::array();
    for (const auto& rung : rungs) pauses.push_back(rung ? Json(*rung) : Json());
    return print_json(
        {{"sweep_dir", absolute_path(spec.output_dir)}, {"pauses", pauses}, {"runs", runs}});
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& trial : trials) {
    for (const auto seed : spec.seeds) {
      rows.push_back({std::to_string(trial.number), std::to_string(seed), trial.config.algo,
                      std::to_string(length_of(trial.config)), trial.label()});
    }
  }
  print(text_table(rows, {"trial", "seed", "algo", "length", "settings"}));
  size_t left = trials.size();
  for (const auto& rung : rungs) {
    if (!rung) break;
    const auto next = (left + static_cast<size_t>(spec.halving.factor) - 1) /
                      static_cast<size_t>(spec.halving.factor);
    print(fmt::format("after {} steps: the best {} of {} trials continue\n", *rung, next, left));
    left = next;
  }
  print(fmt::format("{} runs in {}\n", trials.size() * spec.seeds.size(),
                    absolute_path(spec.output_dir)));
}

int run_local(SweepDirectory& sweep, const SweepArguments& arguments, const Invocation& call) {
  ManyRunsOptions options;
  options.quiet = arguments.quiet;
  options.jobs.threads = static_cast<size_t>(arguments.threads.read("--threads", between(1, 1024)));
  options.jobs.jobs =
      job_count(arguments.jobs.read("--jobs", between(0, 1024)), options.jobs.threads);
  int code = 0;
  for (;;) {
    auto round = sweep.present_round();
    options.pause_at = round.pause_at;
    if (!arguments.quiet && round.pause_at) {
      print_note(fmt::format("{} trials until step {}", round.trials.size(), *round.pause_at));
    }
    std::vector<PlannedRun> runs;
    for (const size_t number : sweep.runs_of(round.trials)) {
      runs.push_back(sweep.run(number, options.jobs.threads));
    }
    const auto result = train_many(call, runs, options);
    if (code == 0) code = result.exit_code;
    if (call.signals->stop() != 0) return 128 + call.signals->stop();
    if (!round.pause_at) break;
    round.values = round_values(sweep, round);
    sweep.finish_round(round);
  }
  print_sweep(sweep, call);
  return code;
}

int run_sweep(const SweepArguments& arguments, const Invocation& call) {
  if (arguments.file.empty()) {
    throw Error(ErrorKind::config, {"", 0, "FILE"},
                "missing (expected a sweep's YAML file, or status | cancel)");
  }
  auto spec = load_sweep_spec(arguments.file);
  if (arguments.output_dir) spec.output_dir = *arguments.output_dir;
  if (spec.points.empty()) {
    throw Error(ErrorKind::config, {spec.file, 0, "grid"}, "missing (expected `grid` or `random`)");
  }
  const auto trials = make_trials(spec);
  if (arguments.dry_run) {
    print_plan(spec, trials, call);
    if (!arguments.slurm || call.json) return 0;
  }
  SlurmOptions slurm{arguments.partition, arguments.time,
                     arguments.array_limit.read("--array-limit", between(0, 1000000)),
                     arguments.threads.read("--threads", between(1, 1024))};
  if (arguments.dry_run) {
    const auto sweep = SweepDirectory::planned(spec, trials);
    std::vector<size_t> runs = sweep.runs_of(sweep.present_round().trials);
    print("\n" + array_script(sweep, runs, program_file(), slurm));
    return 0;
  }
  auto sweep = SweepDirectory::create(posix_file_system(), spec, trials);
  if (!arguments.slurm) return run_local(sweep, arguments, call);
  sweep.slurm().options = slurm;
  return submit_sweep(sweep, call, /*by_hand=*/true);
}

}  // namespace

void add_sweep(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<SweepArguments>();
  auto* command = add_command(
      program, call, "sweep", "Train many configs and seeds: grids, random search, halving",
      "  rl_training sweep sweep.yaml --dry-run\n"
      "  rl_training sweep sweep.yaml --jobs 4\n"
      "  rl_training sweep sweep.yaml --slurm --partition short --time 4:00:00 --array-limit 50\n"
      "  rl_training sweep status runs/sweep\n"
      "  rl_training sweep cancel runs/sweep\n"
      "Repeating the command continues the sweep. Sweep files: docs/sweeps.md.",
      [] { return 0; });
  // If there is a subcommand, it sets `call.run` itself.
  command->callback([command, arguments, &call] {
    if (!command->get_subcommands().empty()) return;
    call.run = [arguments, &call] { return run_sweep(*arguments, call); };
  });
  command->add_option("FILE", arguments->file, "YAML file of the sweep")->type_name("");
  command
      ->add_option("--jobs", arguments->jobs.text, "runs at a time; 0 (the default) uses all cores")
      ->type_name("N");
  command->add_option("--threads", arguments->threads.text, "threads per run (1)")->type_name("N");
  command
      ->add_option("--output-dir", arguments->output_dir,
                   "directory of the sweep, overriding the file")
      ->type_name("DIR");
  command->add_flag("--dry-run", arguments->dry_run, "print the runs without training");
  command->add_flag("--slurm", arguments->slurm, "submit the runs to Slurm as a job array");
  command->add_option("--partition", arguments->partition, "Slurm partition")->type_name("NAME");
  command->add_option("--time", arguments->time, "Slurm's time limit for each task")
      ->type_name("HH:MM:SS");
  command->add_option("--array-limit", arguments->array_limit.text, "Slurm tasks at a time")
      ->type_name("N");
  command->add_flag("--quiet", arguments->quiet, "no progress on stderr");
  add_sweep_subcommands(*command, call);
}

}  // namespace rl_training
