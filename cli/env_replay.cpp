#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/output.h"
#include "rl_training/envs/replay.h"

namespace rl_training {
namespace {

struct ReplayArguments {
  std::string env_id, trajectory;
};

int run_replay(const ReplayArguments& arguments, bool json) {
  const auto report = replay_trajectory(arguments.env_id, arguments.trajectory);
  if (json) {
    print_json({{"steps", report.steps},
                {"max_obs_diff", json_number(report.max_obs_diff)},
                {"max_reward_diff", json_number(report.max_reward_diff)},
                {"flag_mismatches", report.flag_mismatches}});
  } else {
    print(text_table({{"steps", std::to_string(report.steps)},
                      {"largest observation difference", fmt::format("{:g}", report.max_obs_diff)},
                      {"largest reward difference", fmt::format("{:g}", report.max_reward_diff)},
                      {"flags that differ", std::to_string(report.flag_mismatches)}}));
  }
  return 0;
}

}  // namespace

void add_env(CLI::App& program, Invocation& call) {
  const char* const example = "  rl_training env replay --env Pendulum-v1 --trajectory steps.csv";
  auto* group = program.add_subcommand("env", "Compare an environment with recordings");
  group->footer(std::string("Examples:\n") + example);
  auto arguments = std::make_shared<ReplayArguments>();
  auto* command = add_command(
      *group, call, "replay",
      "Step an environment with recorded actions and compare the results with the recording "
      "(columns state0.., action0.., obs0.., reward, terminated, and if present truncated, traj)",
      example, [arguments, &call] { return run_replay(*arguments, call.json); });
  command->add_option("--env", arguments->env_id, "environment")->required()->type_name("ID");
  command->add_option("--trajectory", arguments->trajectory, "recorded steps")
      ->required()
      ->type_name("FILE.csv");
}

}  // namespace rl_training
