#include <fmt/format.h>

#include <cmath>

#include "cli/arguments.h"
#include "cli/output.h"
#include "rl_training/envs/recipes.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"
#include "rl_training/util/thread_pool.h"

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
  print(wrapped_table(rows, {"id", "summary"}));
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
      {"observations", spec.observation.text()},
      {"observation bounds", bounds_text(spec.observation.low, spec.observation.high)},
      {"actions", spec.action.text()},
      {"action bounds", spec.action.is_discrete()
                            ? fmt::format("0 to {}", spec.action.categories - 1)
                            : bounds_text(spec.action.low, spec.action.high)},
      {"time limit", spec.max_episode_steps > 0 ? fmt::format("{} steps", spec.max_episode_steps)
                                                : std::string("none")}};
  for (const auto& recipe : recipes()) {
    if (recipe.env_id != id) continue;
    list.push_back({{"id", recipe.id}, {"summary", recipe.summary}, {"rows", recipe.default_size}});
    rows.push_back(
        {list.size() == 1 ? "recipes" : "",
         fmt::format("{}: {} ({} rows)", recipe.id, recipe.summary, recipe.default_size)});
  }
  Json keys = Json::array();
  EnvOptions options;
  for (const auto& row :
       list_options([&](OptionVisitor& visitor) { options.visit_options(visitor, id); })) {
    // Skip the keys of wrappers, which are the same for all environments. The documentation lists
    // them.
    if (row.key.starts_with("wrappers")) continue;
    keys.push_back({{"key", row.key},
                    {"type", row.type},
                    {"default", row.default_value},
                    {"meaning", row.meaning}});
    rows.push_back({keys.size() == 1 ? "env_kwargs" : "",
                    fmt::format("{} ({}): {}", row.key, row.default_value, row.meaning)});
  }
  if (!json) return print(spec.id + ": " + spec.summary + "\n" + wrapped_table(rows));
  print_json({{"id", spec.id},
              {"summary", spec.summary},
              {"obs_dim", spec.observation.size()},
              {"obs_low", json_numbers(spec.observation.low)},
              {"obs_high", json_numbers(spec.observation.high)},
              {"observation_space", space_to_json(spec.observation)},
              {"action_space", space_to_json(spec.action)},
              {"action_dim", spec.action.size()},
              {"action_low", json_numbers(spec.action.low)},
              {"action_high", json_numbers(spec.action.high)},
              {"max_episode_steps", spec.max_episode_steps},
              {"recipes", list},
              {"env_kwargs", keys}});
}

struct ReturnStatistics {
  // Mean and population standard deviation of the returns, and mean length of the episodes.
  double mean = 0, deviation = 0, length = 0;
};

// Episode i draws from the random stream "eval/i", as in evaluations of trained policies.
ReturnStatistics play_episodes(const std::string& id, const Policy& policy, int64_t episodes,
                               uint64_t seed, ThreadPool& pool) {
  std::vector<PlayedEpisode> played(static_cast<size_t>(episodes));
  pool.run(episodes, [&](int64_t i) {
    const auto env = make_environment(id);
    played[static_cast<size_t>(i)] =
        play_episode(*env, policy, Rng(seed, "eval/" + std::to_string(i)));
  });
  ReturnStatistics result;
  const auto count = static_cast<double>(episodes);
  for (const auto& episode : played) {
    result.mean += episode.sum / count;
    result.length += static_cast<double>(episode.steps) / count;
  }
  for (const auto& episode : played) {
    result.deviation += (episode.sum - result.mean) * (episode.sum - result.mean) / count;
  }
  result.deviation = std::sqrt(result.deviation);
  return result;
}

struct EnvsArguments {
  std::string id;
  bool returns = false;
  NumberArgument episodes{"20"}, seed{"0"};
};

void show_returns(const EnvsArguments& arguments, bool json) {
  const int64_t episodes = arguments.episodes.read("--episodes", between(1, 1000000));
  const int64_t seed = arguments.seed.read("--seed", at_least(0));
  if (!arguments.id.empty()) make_environment(arguments.id);  // throws if the id is not valid
  ThreadPool pool(available_cores());
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& info : environments()) {
    if (!info.unavailable.empty() || (!arguments.id.empty() && info.id != arguments.id)) continue;
    print_note("playing " + info.id + " ...");
    Json entry = {{"id", info.id}};
    std::vector<std::string> row = {info.id};
    const auto add = [&](const std::string& name, const Policy& policy) {
      const auto result =
          play_episodes(info.id, policy, episodes, static_cast<uint64_t>(seed), pool);
      entry[name] = {{"return_mean", json_number(result.mean)},
                     {"return_std", json_number(result.deviation)},
                     {"length_mean", json_number(result.length)}};
      row.push_back(fmt::format("{:.1f} +- {:.1f}", result.mean, result.deviation));
      row.push_back(fmt::format("{:.1f}", result.length));
    };
    add("random", random_policy(info.make()->spec().action));
    add("zero", zero_policy);
    list.push_back(entry);
    rows.push_back(row);
  }
  if (json) return print_json({{"episodes", episodes}, {"seed", seed}, {"environments", list}});
  print(text_table(rows, {"environment", "random policy", "steps", "zero policy", "steps"}));
}

}  // namespace

void add_envs(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<EnvsArguments>();
  auto* command = add_command(program, call, "envs",
                              "List the environments, or one with its sizes, bounds and recipes",
                              "  rl_training envs\n"
                              "  rl_training envs Pendulum-v1 --json\n"
                              "  rl_training envs --returns --episodes 100 --seed 1",
                              [arguments, &call] {
                                if (arguments->returns) {
                                  show_returns(*arguments, call.json);
                                } else if (arguments->id.empty()) {
                                  list_environments(call.json);
                                } else {
                                  show_environment(arguments->id, call.json);
                                }
                                return 0;
                              });
  command->add_option("ID", arguments->id, "environment to describe")->type_name("");
  auto* returns = command->add_flag(
      "--returns", arguments->returns,
      "play episodes with uniformly random and with zero actions, and print their returns");
  command->add_option("--episodes", arguments->episodes.text, "episodes for each policy (20)")
      ->needs(returns)
      ->type_name("N");
  command->add_option("--seed", arguments->seed.text, "seed of the episodes (0)")
      ->needs(returns)
      ->type_name("N");
}

}  // namespace rl_training
