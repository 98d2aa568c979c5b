#include "cli/arguments.h"
#include "cli/output.h"
#include "rl_training/experiment/packaged_configs.h"
#include "rl_training/experiment/train_config.h"
#include "rl_training/experiment/yaml_writer.h"

namespace rl_training {
namespace {

int check_config(const ConfigArguments& arguments, bool json) {
  const auto config = read_train_config(arguments.load());
  if (json) {
    print_json({{"ok", true}, {"algo", config.algo}, {"env_id", config.env_id}});
  } else {
    std::string length;
    for (const auto& phase : config.phases()) {
      length += (length.empty() ? "" : ", then ") + std::to_string(phase.length) +
                (phase.collects() ? " environment steps" : " updates");
    }
    print("ok: " + arguments.config + " (" + config.algo +
          (config.has_environment() ? " on " + config.env_id : " from data alone") + ", " + length +
          ")\n");
  }
  return 0;
}

int show_config(const ConfigArguments& arguments, bool json) {
  const auto resolved = write_train_config(read_train_config(arguments.load()));
  json ? print_json(resolved) : print(write_yaml(resolved));
  return 0;
}

int list_configs(bool json) {
  Json names = Json::array();
  std::string text;
  for (const auto& config : packaged_configs()) {
    names.push_back(config.name);
    text += config.name + "\n";
  }
  json ? print_json({{"configs", names}}) : print(text);
  return 0;
}

}  // namespace

void add_config(CLI::App& program, Invocation& call) {
  auto* group = program.add_subcommand("config", "Check, show or list configs");
  group->footer(
      "Examples:\n  rl_training config list\n  rl_training config check my.yaml\n"
      "  rl_training config show td3_bc/pendulum > my.yaml");
  const auto add = [&](const char* name, const char* summary, const char* examples, auto work) {
    auto arguments = std::make_shared<ConfigArguments>();
    auto* command = add_command(*group, call, name, summary, examples,
                                [=, &call] { return work(*arguments, call.json); });
    arguments->add_to(*command, "CONFIG");
  };
  add("check", "Validate a config",
      "  rl_training config check my.yaml\n"
      "  rl_training config check td3_bc/pendulum --set gamma=0.9",
      check_config);
  add("show", "Print a config with every key, as YAML or with --json as JSON",
      "  rl_training config show td3_bc/pendulum > my.yaml\n"
      "  rl_training config show my.yaml --set seed=3 --json",
      show_config);
  add_command(*group, call, "list", "List the packaged configs", "  rl_training config list --json",
              [&call] { return list_configs(call.json); });
}

}  // namespace rl_training
