#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/process_team.h"
#include "cli/signal_thread.h"
#include "cli/training.h"

namespace rl_training {
namespace {

struct TrainArguments {
  ConfigArguments config;
  std::vector<std::string> seeds;  // --seeds: the report is a list
  NumberArgument seed, total_timesteps, threads;
  std::optional<std::string> output_dir;
  std::string from;
  ProcessArguments processes;
  bool quiet = false, strict_data = false;
};

// One config for each run, all checked before the first one starts.
std::vector<TrainConfig> read_configs(const TrainArguments& arguments) {
  auto root = arguments.config.load();
  const auto set = [&](const char* key, const std::optional<std::string>& value,
                       const char* option) {
    if (value) set_config_value(root, std::string(key) + "=" + *value, option);
  };
  set("seed", arguments.seed.text, "--seed");
  set("total_timesteps", arguments.total_timesteps.text, "--total-timesteps");
  set("threads", arguments.threads.text, "--threads");
  // Quoted: a path is text whatever it looks like.
  if (arguments.output_dir) set("output_dir", Json(*arguments.output_dir).dump(), "--output-dir");
  if (arguments.seeds.empty()) return {read_train_config(root)};
  std::vector<TrainConfig> configs;
  for (const auto& seed : arguments.seeds) {
    set("seed", seed, "--seeds");
    configs.push_back(read_train_config(root));
  }
  return configs;
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
    const auto make = [&](RunContext context) {
      context.strict_data = arguments.strict_data;
      return Run::start(config, std::move(context), arguments.from);
    };
    const auto report = train_and_print(call, arguments.quiet, make, team.group());
    if (call.json) print_json(report);
    return training_exit_code(call, report);
  });
}

int run_train(const TrainArguments& arguments, const Invocation& call) {
  const auto configs = read_configs(arguments);
  if (arguments.processes.given()) return train_together(arguments, configs.front(), call);
  Json reports = Json::array();
  for (const auto& config : configs) {
    reports.push_back(train_and_print(call, arguments.quiet, [&](RunContext context) {
      context.strict_data = arguments.strict_data;
      return Run::start(config, std::move(context), arguments.from);
    }));
    if (call.signals->stop() != 0) break;
  }
  if (call.json) print_json(arguments.seeds.empty() ? reports[0] : Json{{"runs", reports}});
  return training_exit_code(call, reports.back());
}

}  // namespace

void add_train(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<TrainArguments>();
  auto* command = add_command(
      program, call, "train", "Train a policy as a config says, in a new run directory",
      "  rl_training train --config td3_bc/pendulum\n"
      "  rl_training train --config my.yaml --set batch_size=512 --set hidden_sizes=[64,64]\n"
      "  rl_training train --config td3_bc/pendulum --seeds 1,2,3 --output-dir runs/seeds --json\n"
      "  rl_training train --config my.yaml --from RUN/checkpoints/best\n"
      "  rl_training train --config my.yaml --processes 4\n"
      "  srun -n 8 rl_training train --config my.yaml --processes env --master node1:29500",
      [arguments, &call] { return run_train(*arguments, call); });
  arguments->config.add_to(*command, "--config");
  auto* seed =
      command->add_option("--seed", arguments->seed.text, "seed of the run")->type_name("N");
  auto* seeds =
      command->add_option("--seeds", arguments->seeds, "several seeds, trained one after the other")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->excludes(seed)
          ->type_name("N,N,...");
  command
      ->add_option("--output-dir", arguments->output_dir,
                   "directory in which the run directory is made")
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
  command->get_option("--processes")->excludes(seeds);
  command->add_flag("--strict-data", arguments->strict_data,
                    "stop where `dataset inspect` would warn, with exit code 3");
  command->add_flag("--quiet", arguments->quiet, "no progress on stderr");
}

}  // namespace rl_training
