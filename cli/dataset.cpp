#include <fmt/format.h>

#include "cli/dataset_arguments.h"
#include "cli/output.h"
#include "rl_training/data/array_layout.h"
#include "rl_training/data/dataset_cache.h"
#include "rl_training/data/inspect.h"
#include "rl_training/envs/registry.h"
#include "rl_training/experiment/algorithm_advice.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

std::string range_text(const ValueRange& range) {
  return fmt::format("{:g} .. {:g}, mean {:g}, std {:g}", range.min, range.max, range.mean,
                     range.std);
}

std::string bars(const Histogram& histogram) { return "│" + histogram.bars() + "│"; }

std::string choices_text(const Histogram& histogram) {
  std::vector<std::string> counts;
  for (const int64_t count : histogram.counts()) counts.push_back(std::to_string(count));
  return fmt::format("{} choices: {} times", counts.size(), join(counts, ", "));
}

std::string dimension_name(const char* what, const std::vector<std::string>& names, size_t i) {
  return i < names.size() ? fmt::format("{} {} {}", what, i, names[i])
                          : fmt::format("{} {}", what, i);
}

void print_report(const DatasetReport& report) {
  std::vector<std::vector<std::string>> rows = {
      {"kind", report.kind},
      {"rows", fmt::format("{} in {} episodes", report.file.rows, report.file.episodes)},
      {"usable transitions",
       fmt::format("{} (timeout_policy {})", report.transitions,
                   report.timeout_policy == TimeoutPolicy::drop ? "drop" : "keep")},
      {"ends",
       fmt::format("{} terminal, {} by time-out", report.file.terminals, report.file.timeouts)},
      {"next observations", report.file.has_next_observations ? "stored" : "from the next row"},
      {"episode return", range_text(report.episode_return), bars(report.return_histogram)},
      {"episode length", range_text(report.episode_length), bars(report.length_histogram)},
      {"reward", range_text(report.reward), bars(report.reward_histogram)}};
  for (size_t i = 0; i < report.actions.size(); ++i) {
    const auto& histogram = report.action_histograms[i];
    rows.push_back({dimension_name("action", report.action_names, i),
                    report.choices > 0 ? choices_text(histogram) : range_text(report.actions[i]),
                    bars(histogram)});
  }
  for (size_t i = 0; i < report.obs.size(); ++i) {
    rows.push_back(
        {dimension_name("observation", report.observation_names, i), range_text(report.obs[i])});
  }
  print(text_table(rows));
  // The fingerprint and the warnings have their own table, because they would widen the columns of
  // numbers.
  rows = {{"fingerprint", report.fingerprint}};
  for (const auto& warning : report.warnings) {
    rows.push_back({"warning " + warning.code,
                    warning.message + (warning.row ? fmt::format(" (row {})", *warning.row) : "")});
  }
  print("\n" + text_table(rows));
}

void print_advice(const AlgorithmAdvice& advice) {
  if (advice.choices.empty()) return;
  print("\nwhich algorithms fit\n");
  for (const auto& finding : advice.findings) print("  " + finding + "\n");
  std::vector<std::vector<std::string>> rows;
  for (const auto& choice : advice.choices) {
    rows.push_back({choice.algo, choice.config, join(choice.reasons, "; ")});
  }
  print("\n" + text_table(rows, {"algorithm", "config to start from", "why"}));
  print("\n  " + advice.choices[0].command + "\n");
}

void add_inspect(CLI::App& parent, Invocation& call) {
  auto read = std::make_shared<ReadArguments>();
  auto path = std::make_shared<std::string>();
  auto* command =
      add_command(parent, call, "inspect",
                  "Show what a dataset contains, possible problems, and which algorithms fit",
                  "  rl_training dataset inspect hopper_medium-v2.hdf5\n"
                  "  rl_training dataset inspect log.csv --json --keys "
                  "'obs=x,v action=u reward=r terminated=failed'\n"
                  "  rl_training dataset inspect cube-single-play-v0.npz --keys ogbench",
                  [read, path, &call] {
                    const auto report = inspect_dataset(read->kind, *path, read->options(true));
                    const auto advice = advise_algorithms(report, *path, read->keys, read->env_id);
                    if (call.json) {
                      Json json = report.to_json();
                      json["advice"] = advice.to_json();
                      print_json(json);
                    } else {
                      print_report(report);
                      print_advice(advice);
                    }
                    return 0;
                  });
  command->add_option("FILE", *path, "dataset file, or directory or id of a Minari dataset")
      ->required()
      ->type_name("");
  read->add_to(*command, "environment that supplies the action bounds");
}

std::string megabytes(int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

void add_cache(CLI::App& parent, Invocation& call) {
  auto clear = std::make_shared<bool>(false);
  auto* command = add_command(
      parent, call, "cache", "List or clear the dataset cache",
      "  rl_training dataset cache\n"
      "  rl_training dataset cache --clear",
      [clear, &call] {
        DatasetCacheOptions options;
        options.directory = DatasetCache::default_directory();
        DatasetCache cache(options);
        const auto entries = cache.list();
        const int64_t freed = *clear ? cache.clear() : 0;
        Json list = Json::array();
        std::vector<std::vector<std::string>> rows;
        for (const auto& entry : entries) {
          list.push_back({{"path", entry.path},
                          {"kind", entry.kind},
                          {"rows", entry.rows},
                          {"bytes", entry.bytes},
                          {"data_file", entry.data_file}});
          rows.push_back(
              {entry.path, entry.kind, std::to_string(entry.rows), megabytes(entry.bytes)});
        }
        if (call.json) {
          print_json({{"directory", options.directory}, {"entries", list}, {"freed_bytes", freed}});
        } else if (*clear) {
          print(fmt::format("{}: removed {} datasets, {}\n", options.directory, entries.size(),
                            megabytes(freed)));
        } else {
          print(fmt::format("{}: {} datasets\n", options.directory, entries.size()));
          if (!rows.empty()) print(text_table(rows, {"file", "kind", "rows", "size"}));
        }
        return 0;
      });
  command->add_flag("--clear", *clear, "remove all entries");
}

}  // namespace

void ReadArguments::add_to(CLI::App& command, const char* env_meaning) {
  auto kinds = dataset_file_kinds();
  kinds.insert(kinds.begin(), "auto");
  command.add_option("--kind", kind, "format: " + join(kinds, ", "))
      ->check(CLI::IsMember(kinds))
      ->type_name("KIND");
  command.add_option("--env", env_id, env_meaning)->type_name("ID");
  command.add_option("--timeout-policy", timeout_policy, "auto, drop or keep")
      ->check(CLI::IsMember({"auto", "drop", "keep"}))
      ->type_name("POLICY");
  command
      .add_option(
          "--keys,--csv-columns", keys,
          "names in the file, 'obs=a,b action=c ...', or a layout: " + join(array_layouts(), ", "))
      ->type_name("MAP");
  command.add_flag("--allow-nonfinite", allow_nonfinite, "accept NaN and infinity");
}

DatasetReadOptions ReadArguments::options(bool scale) {
  DatasetReadOptions read;
  if (!env_id.empty()) {
    const EnvSpec env = make_environment(env_id)->spec();
    bounds = env.action;
    // Discrete actions are never scaled, so their bounds can be passed even without `scale`.
    if (scale || bounds.is_discrete()) read.bounds = &bounds;
    read.episode_length = env.max_episode_steps;
  }
  if (timeout_policy == "drop") read.timeout_policy = TimeoutPolicy::drop;
  if (timeout_policy == "keep") read.timeout_policy = TimeoutPolicy::keep;
  read.keys = keys;
  read.allow_nonfinite = allow_nonfinite;
  return read;
}

void add_dataset(CLI::App& program, Invocation& call) {
  auto* group = program.add_subcommand("dataset", "Inspect, convert, mix and record datasets");
  group->footer(
      "Examples:\n  rl_training dataset inspect log.csv\n"
      "  rl_training dataset convert hopper_medium-v2.hdf5 hopper.npz\n"
      "  rl_training dataset collect random.npz --env Hopper-v4 --size 100000");
  add_inspect(*group, call);
  add_dataset_convert(*group, call);
  add_dataset_mix(*group, call);
  add_dataset_collect(*group, call);
  add_cache(*group, call);
}

}  // namespace rl_training
