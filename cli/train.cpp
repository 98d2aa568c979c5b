#include "cli/arguments.h"
#include "cli/many_runs.h"
#include "cli/output.h"
#include "cli/process_team.h"
#include "cli/signal_thread.h"
#include "cli/tensor_commands.h"
#include "cli/training.h"
#include "rl_training/sweep/seeds.h"

namespace rl_training {

struct TrainArguments {
  ConfigArguments config;
  std::optional<std::string> seeds;  // --seeds; if set, the report is a list
  NumberArgument seed, total_timesteps, threads, jobs, pause_at;
  std::optional<std::string> output_dir;
  std::string from;
  ProcessArguments processes;
  bool quiet = false, strict_data = false, continues = false;
};

namespace {

// Returns one config for each run. Checks all of them before the first run starts.
std::vector<TrainConfig> read_configs(const TrainArguments& arguments) {
  auto root = arguments.config.load();
  const auto set = [&](const char* key, const std::optional<std::string>& value,
                       const char* option) {
    if (value) set_config_value(root, std::string(key) + "=" + *value, option);
  };
  set("seed", arguments.seed.text, "--seed");
  set("total_timesteps", arguments.total_timesteps.text, "--total-timesteps");
  set("threads", arguments.threads.text, "--threads");
  // Quote the path, so that it is always read as text.
  if (arguments.output_dir) set("output_dir", Json(*arguments.output_dir).dump(), "--output-dir");
  if (!arguments.seeds) return {read_train_config(root)};
  std::vector<TrainConfig> configs;
  for (const auto seed : parse_seeds(*arguments.seeds, "--seeds")) {
    set("seed", std::to_string(seed), "--seeds");
    configs.push_back(read_train_config(root));
  }
  return configs;
}

// Starts the run, or resumes it if it already exists.
std::unique_ptr<Run> start_or_continue(const PlannedRun& run, const RunStatus& status,
                                       RunContext context) {
  if (status.path.empty()) return Run::start(run.config, std::move(context), run.from);
  ResumeChanges changes;
  changes.threads = run.config.threads;
  return Run::resume(status.path, changes, std::move(context));
}

Json train_one(const TrainArguments& arguments, const TrainConfig& config, const Invocation& call) {
  TrainingOptions options{.quiet = arguments.quiet, .next_commands = !arguments.seeds};
  if (arguments.pause_at.given()) {
    options.pause_at = arguments.pause_at.read("--pause-at", at_least(1));
  }
  const PlannedRun run{"", config, arguments.from, {}};
  RunStatus status;
  if (arguments.continues) status = status_of(posix_file_system(), run, options.pause_at);
  if (status.state == RunStatus::State::done) {
    if (!arguments.quiet) print_note("the run is already complete: " + status.path);
    return report_of(*status.record);
  }
  return train_and_print(call, options, [&](RunContext context) {
    context.strict_data = arguments.strict_data;
    return start_or_continue(run, status, std::move(context));
  });
}

int train_together(const TrainArguments& arguments, const TrainConfig& config,
                   const Invocation& call) {
  ProcessTeam team(arguments.processes, call);
  return team.run([&] {
    if (team.is_helper()) {
      const auto make = [&](RunContext context) {
        return RunWorker::start(config, std::move(context), arguments.from);
      };
      return train_as_helper(call, make, *team.group());
    }
    const TrainingOptions options{.quiet = arguments.quiet, .processes = team.group()};
    const auto report = train_and_print(call, options, [&](RunContext context) {
      context.strict_data = arguments.strict_data;
      return Run::start(config, std::move(context), arguments.from);
    });
    if (call.json) print_json(report);
    return training_exit_code(call, Json::array({report}), 1);
  });
}

int train_in_sequence(const TrainArguments& arguments, const std::vector<TrainConfig>& configs,
                      const Invocation& call) {
  Json reports = Json::array();
  for (const auto& config : configs) {
    reports.push_back(train_one(arguments, config, call));
    if (call.signals->stop() != 0) break;
  }
  if (call.json) {
    print_json(arguments.seeds ? Json{{"runs", reports}} : reports[0]);
  } else if (arguments.seeds) {
    print_runs_report({reports.begin(), reports.end()});
  }
  return training_exit_code(call, reports, configs.size());
}

// Arguments of a call that trains one seed in a separate process.
std::vector<std::string> child_arguments(const TrainArguments& arguments, const TrainConfig& config,
                                         size_t threads) {
  std::vector<std::string> words = {"train", "--config", arguments.config.config};
  for (const auto& assignment : arguments.config.assignments) {
    words.insert(words.end(), {"--set", assignment});
  }
  if (arguments.total_timesteps.given()) {
    words.insert(words.end(), {"--total-timesteps", *arguments.total_timesteps.text});
  }
  words.insert(words.end(), {"--seed", std::to_string(config.seed), "--output-dir",
                             config.output_dir, "--threads", std::to_string(threads)});
  if (!arguments.from.empty()) words.insert(words.end(), {"--from", arguments.from});
  if (arguments.strict_data) words.emplace_back("--strict-data");
  words.insert(words.end(), {"--continue", "--quiet", "--json"});
  return words;
}

int train_side_by_side(const TrainArguments& arguments, const std::vector<TrainConfig>& configs,
                       const Invocation& call) {
  ManyRunsOptions options;
  options.quiet = arguments.quiet;
  if (arguments.pause_at.given()) {
    options.pause_at = arguments.pause_at.read("--pause-at", at_least(1));
  }
  // The default is one thread per run, which uses the cores best if there are many runs.
  if (arguments.threads.given()) {
    options.jobs.threads =
        static_cast<size_t>(arguments.threads.read("--threads", between(1, 1024)));
  }
  options.jobs.jobs =
      job_count(arguments.jobs.read("--jobs", between(0, 1024)), options.jobs.threads);
  std::vector<PlannedRun> runs;
  runs.reserve(configs.size());
  for (const auto& config : configs) {
    runs.push_back({"seed " + std::to_string(config.seed), config, arguments.from,
                    child_arguments(arguments, config, options.jobs.threads)});
  }
  const auto result = train_many(call, runs, options);
  if (call.json) {
    print_json({{"runs", result.reports}});
  } else {
    print_runs_report(result.reports);
  }
  return result.exit_code;
}

}  // namespace

int run_train(const TrainArguments& arguments, const Invocation& call) {
  if (arguments.jobs.given() && !arguments.seeds) {
    throw Error(ErrorKind::config, {"", 0, "--jobs"}, "needs --seeds (expected for example 0-9)");
  }
  const auto configs = read_configs(arguments);
  if (arguments.processes.given()) return train_together(arguments, configs.front(), call);
  return arguments.jobs.given() ? train_side_by_side(arguments, configs, call)
                                : train_in_sequence(arguments, configs, call);
}

void add_train(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<TrainArguments>();
  auto* command = add_command(
      program, call, "train", "Train a policy from a config, in a new run directory",
      "  rl_training train --config td3_bc/pendulum\n"
      "  rl_training train --config my.yaml --set batch_size=512 --set hidden_sizes=[64,64]\n"
      "  rl_training train --config td3_bc/pendulum --seeds 1,2,3 --output-dir runs/seeds --json\n"
      "  rl_training train --config td3_bc/pendulum --seeds 0-9 --jobs 4\n"
      "  rl_training train --config my.yaml --from RUN/checkpoints/best\n"
      "  rl_training train --config my.yaml --processes 4\n"
      "  srun -n 8 rl_training train --config my.yaml --processes env --master node1:29500",
      [arguments, &call] { return tensor_commands(call).train(*arguments, call); });
  arguments->config.add_to(*command, "--config");
  auto* seed =
      command->add_option("--seed", arguments->seed.text, "seed of the run")->type_name("N");
  auto* seeds = command
                    ->add_option("--seeds", arguments->seeds,
                                 "several seeds, trained in sequence or, with --jobs, in parallel")
                    ->excludes(seed)
                    ->type_name("0-9|0,1,...");
  command
      ->add_option("--jobs", arguments->jobs.text,
                   "seeds to train at a time, each in a process with one thread (or --threads); 0 "
                   "uses all cores. Existing runs are continued")
      ->type_name("N");
  auto* continues =
      command->add_flag("--continue", arguments->continues,
                        "continue the run of this config in the output directory, if there is one");
  auto* pause =
      command
          ->add_option("--pause-at", arguments->pause_at.text,
                       "pause with a checkpoint at the first row of metrics at or after this step")
          ->type_name("STEP");
  command
      ->add_option("--output-dir", arguments->output_dir,
                   "directory in which the run directory is created")
      ->type_name("DIR");
  command
      ->add_option("--total-timesteps", arguments->total_timesteps.text,
                   "gradient updates (offline) or environment steps (online)")
      ->type_name("N");
  command
      ->add_option("--from", arguments->from,
                   "start with the networks and the normaliser of this run or checkpoint")
      ->type_name("RUN|CHECKPOINT");
  add_threads(*command, arguments->threads);
  arguments->processes.add_to(*command);
  command->get_option("--processes")->excludes(seeds)->excludes(continues)->excludes(pause);
  command->add_flag("--strict-data", arguments->strict_data,
                    "stop with exit code 3 if `dataset inspect` would warn");
  command->add_flag("--quiet", arguments->quiet, "no progress on stderr");
}

}  // namespace rl_training
