#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/output.h"
#include "rl_training/envs/recipes.h"
#include "rl_training/envs/registry.h"

namespace rl_training {
namespace {

void list_environments(bool json) {
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& info : environments()) {
    const bool usable = info.unavailable.empty();
    list.push_back({{"id", info.id},
                    {"summary", info.summary},
                    {"unavailable", usable ? Json(nullptr) : Json(info.unavailable)}});
    rows.push_back({info.id, usable ? info.summary : "not in this build: " + info.unavailable});
  }
  if (json) return print_json({{"environments", list}});
  print(text_table(rows, {"id", "summary"}));
}

Json json_numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(json_number(value));
  return list;
}

std::string bounds_text(const std::vector<double>& low, const std::vector<double>& high) {
  if (low.empty()) return "unbounded";
  std::string text;
  for (size_t i = 0; i < low.size(); ++i) {
    text += fmt::format("{}[{:g}, {:g}]", i == 0 ? "" : " ", low[i], high[i]);
  }
  return text;
}

void show_environment(const std::string& id, bool json) {
  const EnvSpec spec = make_environment(id)->spec();
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows = {
      {"observation size", std::to_string(spec.obs_dim)},
      {"observation bounds", bounds_text(spec.obs_low, spec.obs_high)},
      {"action size", std::to_string(spec.action.dims())},
      {"action bounds", bounds_text(spec.action.low, spec.action.high)},
      {"time limit", spec.max_episode_steps > 0 ? fmt::format("{} steps", spec.max_episode_steps)
                                                : std::string("none")}};
  for (const auto& recipe : recipes()) {
    if (recipe.env_id != id) continue;
    list.push_back({{"id", recipe.id}, {"summary", recipe.summary}, {"rows", recipe.default_size}});
    rows.push_back(
        {list.size() == 1 ? "recipes" : "",
         fmt::format("{}: {} ({} rows)", recipe.id, recipe.summary, recipe.default_size)});
  }
  if (!json) return print(spec.id + ": " + spec.summary + "\n" + text_table(rows));
  print_json({{"id", spec.id},
              {"summary", spec.summary},
              {"obs_dim", spec.obs_dim},
              {"obs_low", json_numbers(spec.obs_low)},
              {"obs_high", json_numbers(spec.obs_high)},
              {"action_dim", spec.action.dims()},
              {"action_low", json_numbers(spec.action.low)},
              {"action_high", json_numbers(spec.action.high)},
              {"max_episode_steps", spec.max_episode_steps},
              {"recipes", list}});
}

}  // namespace

void add_envs(CLI::App& program, Invocation& call) {
  auto id = std::make_shared<std::string>();
  auto* command = add_command(
      program, call, "envs", "List the environments, or one with its sizes, bounds and recipes",
      "  rl_training envs\n"
      "  rl_training envs Pendulum-v1 --json",
      [id, &call] {
        id->empty() ? list_environments(call.json) : show_environment(*id, call.json);
        return 0;
      });
  command->add_option("ID", *id, "environment to describe")->type_name("");
}

}  // namespace rl_training
