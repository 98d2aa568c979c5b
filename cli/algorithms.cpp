#include "cli/arguments.h"
#include "cli/output.h"
#include "rl_training/experiment/train_config.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

void list_algorithms(bool json) {
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& info : algorithms()) {
    list.push_back({{"name", info.name}, {"title", info.title}, {"paper", info.paper}});
    rows.push_back({info.name, info.title, info.paper});
  }
  if (json) return print_json({{"algorithms", list}});
  print(text_table(rows, {"name", "title", "paper"}));
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
    // Long lists of names are moved to the last column, so that they do not push it out of view.
    const bool wide = option.range.size() > 40;
    rows.push_back({option.key, option.default_value, wide ? "a name" : option.range,
                    wide ? option.meaning + ": " + option.range : option.meaning});
  }
  return text_table(rows, {"key", "default", "range", "meaning"});
}

void show_algorithm(const std::string& name, bool json) {
  const auto& info = find_algorithm(name);
  auto config = default_config(name);
  const auto options =
      list_options([&](OptionVisitor& visitor) { config.visit_algo_kwargs(visitor); });
  // Only offline algorithms have keys of a following online phase.
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
  print(info.name + ": " + info.title + " (" + info.paper + ")\nmetrics: " + join(metrics, ", ") +
        "\n\nkeys of algo_kwargs:\n" + table_of(options));
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
