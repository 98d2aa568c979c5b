#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/process_team.h"
#include "cli/tensor_commands.h"
#include "cli/training.h"

namespace rl_training {

struct ResumeArguments {
  std::string run;
  NumberArgument total_timesteps, online, threads;
  std::optional<std::string> dataset_path, output_dir;
  ProcessArguments processes;
  bool quiet = false;
};

int run_resume(const ResumeArguments& arguments, const Invocation& call) {
  ResumeChanges changes;
  if (arguments.total_timesteps.given()) {
    changes.total_timesteps = arguments.total_timesteps.read("--total-timesteps", at_least(1));
  }
  if (arguments.online.given()) {
    changes.online_timesteps = arguments.online.read("--online", at_least(1));
  }
  if (arguments.threads.given()) {
    changes.threads = arguments.threads.read("--threads", kThreadRange);
  }
  changes.dataset_path = arguments.dataset_path;
  changes.output_dir = arguments.output_dir;
  ProcessTeam team(arguments.processes, call);
  return team.run([&] {
    if (team.is_helper()) return train_as_helper(call, RunWorker::resume, *team.group());
    const TrainingOptions options{.quiet = arguments.quiet, .processes = team.group()};
    const auto report = train_and_print(call, options, [&](RunContext context) {
      return Run::resume(arguments.run, changes, std::move(context));
    });
    if (call.json) print_json(report);
    return training_exit_code(call, Json::array({report}), 1);
  });
}

void add_resume(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<ResumeArguments>();
  auto* command = add_command(
      program, call, "resume", "Continue a run exactly from its newest valid checkpoint",
      "  rl_training resume runs/td3_bc__Pendulum-v1__seed0__20250101-120000\n"
      "  rl_training resume RUN --total-timesteps 20000\n"
      "  rl_training resume RUN --online 10000\n"
      "  rl_training resume RUN/checkpoints/best --total-timesteps 20000 --json\n"
      "  rl_training resume RUN --dataset-path /data/log.npz --output-dir elsewhere\n"
      "  rl_training resume RUN --processes 4",
      [arguments, &call] { return tensor_commands(call).resume(*arguments, call); });
  add_run_argument(*command, arguments->run);
  command->add_option("--total-timesteps", arguments->total_timesteps.text, "new length of the run")
      ->type_name("N");
  command
      ->add_option("--online", arguments->online.text,
                   "continue in the environment for N steps after the offline updates")
      ->type_name("N");
  command
      ->add_option("--dataset-path", arguments->dataset_path,
                   "new location of the dataset; its content must be the same")
      ->type_name("FILE");
  command
      ->add_option("--output-dir", arguments->output_dir,
                   "continue in a new run directory below this one")
      ->type_name("DIR");
  add_threads(*command, arguments->threads);
  arguments->processes.add_to(*command);
  command->add_flag("--quiet", arguments->quiet, "no progress on stderr");
}

}  // namespace rl_training
