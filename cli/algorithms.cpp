#include "cli/arguments.h"
#include "cli/output.h"
#include "rl_training/experiment/train_config.h"
#include "rl_training/report/tables.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// What an algorithm learns from by default: data, an environment, or both.
const char* learns_text(const std::string& name) {
  bool data = false, environment = false;
  for (const auto& phase : default_config(name).phases()) {
    data = data || phase.reads_data();
    environment = environment || phase.collects();
  }
  return data && environment ? "both" : data ? "offline" : "online";
}

const char* actions_text(ActionKind kind) {
  return kind == ActionKind::vectors   ? "continuous"
         : kind == ActionKind::choices ? "discrete"
                                       : "both";
}

void list_algorithms(bool json) {
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& info : algorithms()) {
    const std::string learns = learns_text(info.name), actions = actions_text(info.actions);
    list.push_back({{"name", info.name},
                    {"title", info.title},
                    {"paper", info.paper},
                    {"learns", learns},
                    {"actions", actions}});
    rows.push_back({info.name, learns, actions, info.title});
  }
  if (json) return print_json({{"algorithms", list}});
  print(wrapped_table(rows, {"name", "learns", "actions", "title"}));
}

Json json_of(const std::vector<OptionRow>& options) {
  Json list = Json::array();
  for (const auto& option : options) {
    list.push_back({{"key", option.key},
                    {"type", option.type},
                    {"default", option.default_value},
                    {"range", option.range},
                    {"meaning", option.meaning}});
  }
  return list;
}

std::string table_of(const std::vector<OptionRow>& options) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& option : options) {
    const auto range = option.range.empty() ? "" : " (" + option.range + ")";
    rows.push_back({option.key, option.default_value, option.meaning + range});
  }
  return wrapped_table(rows, {"key", "default", "meaning (range)"});
}

void show_algorithm(const std::string& name, bool json) {
  const auto& info = find_algorithm(name);
  auto config = default_config(name);
  const auto options =
      list_options([&](OptionVisitor& visitor) { config.visit_algo_kwargs(visitor); });
  // Only offline algorithms have the keys of an `online` phase.
  auto online = list_options([&](OptionVisitor& visitor) { config.visit_top_options(visitor); });
  std::erase_if(online, [](const OptionRow& option) { return !option.key.starts_with("online."); });
  auto metrics = info.metrics;
  for (auto& metric : collecting_metric_names(config)) metrics.push_back(std::move(metric));
  if (json) {
    return print_json({{"name", info.name},
                       {"title", info.title},
                       {"paper", info.paper},
                       {"metrics", metrics},
                       {"options", json_of(options)},
                       {"online_options", json_of(online)}});
  }
  const auto paper = info.paper.empty() ? "" : " (" + info.paper + ")";
  print(wrapped_text(info.name + ": " + info.title + paper, text_width()) +
        wrapped_text("metrics: " + join(metrics, ", "), text_width()) + "\nkeys of algo_kwargs:\n" +
        table_of(options));
  if (!online.empty()) {
    print("\nkeys of the online phase after the updates on the dataset:\n" + table_of(online));
  }
}

}  // namespace

void add_algorithms(CLI::App& program, Invocation& call) {
  auto name = std::make_shared<std::string>();
  auto* command = add_command(
      program, call, "algorithms", "List the algorithms, or one with its metrics and keys",
      "  rl_training algorithms\n"
      "  rl_training algorithms td3_bc --json",
      [name, &call] {
        name->empty() ? list_algorithms(call.json) : show_algorithm(*name, call.json);
        return 0;
      });
  command->add_option("NAME", *name, "algorithm to describe")->type_name("");
}

}  // namespace rl_training
