#include "rl_training/experiment/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "rl_training/envs/reference_scores.h"
#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr int kSearchDepth = 4;

void add_runs(FileSystem& files, const std::string& path, int depth,
              std::vector<std::string>& runs) {
  if (files.exists(path + "/config.yaml")) {
    runs.push_back(path);
  } else if (depth < kSearchDepth && std::filesystem::is_directory(path)) {
    for (const auto& name : files.list_directory(path)) {
      if (!name.starts_with('.')) add_runs(files, path + "/" + name, depth + 1, runs);
    }
  }
}

std::string text_at(const ConfigNode* map, const char* key) {
  const auto* node = map == nullptr ? nullptr : map->find(key);
  return node == nullptr ? "" : node->text;
}

std::string dataset_name(const ConfigNode& config) {
  const auto* kwargs = config.find("algo_kwargs");
  const auto* mix = kwargs == nullptr ? nullptr : kwargs->find("dataset_mix");
  if (mix != nullptr && !mix->items.empty()) return "mix";
  const auto id = text_at(kwargs, "dataset_id"), path = text_at(kwargs, "dataset_path");
  if (!id.empty()) return id;
  if (!path.empty()) return std::filesystem::path(path).filename().string();
  return text_at(kwargs, "dataset_kind");
}

// A member of an object, null where it is not there.
Json member(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) ? object[key] : Json();
}

std::optional<double> number_in(const Json& object, const char* key) {
  const auto value = member(object, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

void read_config(FileSystem& files, RunSummary& run) {
  const auto path = run.path + "/config.yaml";
  const auto config = read_yaml(files.read_file(path), path);
  run.algo = text_at(&config, "algo");
  run.env_id = text_at(&config, "env_id");
  run.dataset = dataset_name(config);
  run.seed = std::strtoll(text_at(&config, "seed").c_str(), nullptr, 10);
  run.total_timesteps = std::strtoll(text_at(&config, "total_timesteps").c_str(), nullptr, 10);
}

void read_metadata(FileSystem& files, RunSummary& run) {
  const auto path = run.path + "/metadata.json";
  if (!files.exists(path)) return;
  const auto metadata = parse_untrusted_json(files.read_file(path));
  const auto dataset = member(metadata, "dataset");
  const bool without_data = number_in(dataset, "rows") == 0.0;
  if (!without_data) run.dataset_return = number_in(dataset, "return_mean");
  const auto sessions = member(metadata, "sessions");
  if (!sessions.is_array() || sessions.empty()) return;
  const auto commit = member(sessions.back(), "commit");
  if (commit.is_string()) run.commit = commit.get<std::string>();
}

void read_metrics(FileSystem& files, RunSummary& run) {
  const auto path = run.path + "/metrics.jsonl";
  if (!files.exists(path)) return;
  std::istringstream lines(files.read_file(path));
  for (std::string line; std::getline(lines, line);) {
    const auto row = parse_untrusted_json(line);
    if (const auto updates = number_in(row, "update_count")) {
      run.update_count = static_cast<int64_t>(*updates);
    }
    if (const auto steps = number_in(row, "global_step")) {
      run.global_step = static_cast<int64_t>(*steps);
    }
    if (const auto value = number_in(row, "eval_return_mean")) {
      run.last_return = value;
      run.best_return = std::max(run.best_return.value_or(*value), *value);
    }
  }
}

std::optional<Spread> spread_of(const std::vector<RunSummary>& runs,
                                std::optional<double> RunSummary::*field) {
  Spread spread;
  for (const auto& run : runs) {
    if (!(run.*field)) continue;
    ++spread.count;
    spread.mean += *(run.*field);
  }
  if (spread.count == 0) return std::nullopt;
  spread.mean /= static_cast<double>(spread.count);
  for (const auto& run : runs) {
    if (run.*field) spread.std += std::pow(*(run.*field) - spread.mean, 2);
  }
  spread.std = std::sqrt(spread.std / static_cast<double>(spread.count));
  return spread;
}

Json spread_json(const std::optional<Spread>& spread) {
  if (!spread) return nullptr;
  return {{"mean", json_number(spread->mean)}, {"std", json_number(spread->std)}};
}

Json optional_json(const std::optional<double>& value) {
  return value ? json_number(*value) : Json();
}

Json run_json(const RunSummary& run) {
  return {{"run_dir", run.path},
          {"seed", run.seed},
          {"global_step", run.global_step},
          {"update_count", run.update_count},
          {"total_timesteps", run.total_timesteps},
          {"last_return", optional_json(run.last_return)},
          {"best_return", optional_json(run.best_return)},
          {"commit", run.commit}};
}

// One run has no spread to show.
std::string spread_text(const std::optional<Spread>& spread, const std::string& plus_minus) {
  if (!spread) return "-";
  if (spread->count == 1) return fmt::format("{:.1f}", spread->mean);
  return fmt::format("{:.1f} {} {:.1f}", spread->mean, plus_minus, spread->std);
}

// "10000", or "4000 of 10000" when the slowest run is not there yet.
std::string steps_text(const std::vector<RunSummary>& runs) {
  int64_t done = runs.front().global_step, total = 0;
  for (const auto& run : runs) {
    done = std::min(done, run.global_step);
    total = std::max(total, run.total_timesteps);
  }
  return done >= total ? std::to_string(done) : fmt::format("{} of {}", done, total);
}

// The last evaluation of each run, in the order of `seeds_text`.
std::string returns_text(const std::vector<RunSummary>& runs) {
  std::vector<std::string> returns;
  for (const auto& run : runs) {
    returns.push_back(run.last_return ? fmt::format("{:.1f}", *run.last_return) : "-");
  }
  return join(returns, ", ");
}

std::string seeds_text(const std::vector<RunSummary>& runs) {
  std::vector<std::string> seeds;
  for (const auto& run : runs) seeds.push_back(std::to_string(run.seed));
  return join(seeds, ", ");
}

}  // namespace

std::vector<std::string> find_runs(FileSystem& files, const std::vector<std::string>& paths) {
  std::vector<std::string> runs;
  for (const auto& given : paths) {
    std::string path = given;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const size_t before = runs.size();
    add_runs(files, path, 0, runs);
    if (runs.size() == before) {
      throw Error(ErrorKind::io, {given, 0, ""}, "neither a run directory nor one that holds runs");
    }
  }
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

RunSummary summarise_run(FileSystem& files, const std::string& run_dir) {
  RunSummary run;
  run.path = run_dir;
  read_config(files, run);
  read_metadata(files, run);
  read_metrics(files, run);
  return run;
}

std::optional<Spread> ReportGroup::last() const {
  return spread_of(runs, &RunSummary::last_return);
}
std::optional<Spread> ReportGroup::best() const {
  return spread_of(runs, &RunSummary::best_return);
}

std::optional<Spread> ReportGroup::normalized(const std::optional<Spread>& returns) const {
  const auto references = reference_scores(env_id);
  if (!references || !returns) return std::nullopt;
  auto scores = *returns;
  scores.mean = *normalized_score(env_id, returns->mean);
  scores.std = 100.0 * returns->std / (references->expert - references->random);
  return scores;
}

std::optional<double> ReportGroup::dataset_return() const {
  const auto spread = spread_of(runs, &RunSummary::dataset_return);
  return spread ? std::optional(spread->mean) : std::nullopt;
}

std::vector<std::string> ReportGroup::commits() const {
  std::vector<std::string> names;
  for (const auto& run : runs) {
    const bool known = std::find(names.begin(), names.end(), run.commit) != names.end();
    if (!known && !run.commit.empty()) names.push_back(run.commit);
  }
  return names;
}

std::vector<ReportGroup> group_runs(const std::vector<RunSummary>& runs) {
  const auto key = [](const auto& x) { return std::tie(x.env_id, x.dataset, x.algo); };
  auto sorted = runs;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const RunSummary& a, const RunSummary& b) {
    return key(a) != key(b) ? key(a) < key(b) : a.seed < b.seed;
  });
  std::vector<ReportGroup> groups;
  for (const auto& run : sorted) {
    if (groups.empty() || key(groups.back()) != key(run)) {
      groups.push_back({run.algo, run.env_id, run.dataset, {}});
    }
    groups.back().runs.push_back(run);
  }
  return groups;
}

Json report_json(const std::vector<ReportGroup>& groups) {
  Json list = Json::array();
  for (const auto& group : groups) {
    Json runs = Json::array();
    for (const auto& run : group.runs) runs.push_back(run_json(run));
    list.push_back({{"algo", group.algo},
                    {"env_id", group.env_id},
                    {"dataset", group.dataset},
                    {"dataset_return", optional_json(group.dataset_return())},
                    {"last_return", spread_json(group.last())},
                    {"best_return", spread_json(group.best())},
                    {"last_score", spread_json(group.normalized(group.last()))},
                    {"best_score", spread_json(group.normalized(group.best()))},
                    {"commits", group.commits()},
                    {"runs", runs}});
  }
  return {{"groups", list}};
}

ReportTable report_table(const std::vector<ReportGroup>& groups, const std::string& plus_minus) {
  const bool scores = std::any_of(groups.begin(), groups.end(), [](const ReportGroup& group) {
    return group.normalized(group.last()).has_value();
  });
  ReportTable table;
  table.header = {"algo",  "env",   "dataset",         "dataset return",
                  "seeds", "steps", "last evaluation", "best evaluation"};
  if (scores) table.header.insert(table.header.end(), {"last score", "best score"});
  table.header.insert(table.header.end(), {"last by seed", "commit"});
  for (const auto& group : groups) {
    const auto dataset_return = group.dataset_return();
    std::vector<std::string> row = {group.algo,
                                    group.env_id,
                                    group.dataset,
                                    dataset_return ? fmt::format("{:.1f}", *dataset_return) : "-",
                                    seeds_text(group.runs),
                                    steps_text(group.runs),
                                    spread_text(group.last(), plus_minus),
                                    spread_text(group.best(), plus_minus)};
    if (scores) {
      row.push_back(spread_text(group.normalized(group.last()), plus_minus));
      row.push_back(spread_text(group.normalized(group.best()), plus_minus));
    }
    row.push_back(returns_text(group.runs));
    row.push_back(join(group.commits(), ", "));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string report_markdown(const std::vector<ReportGroup>& groups) {
  const auto table = report_table(groups, "±");
  const auto line = [](const std::vector<std::string>& cells) {
    return "| " + join(cells, " | ") + " |\n";
  };
  std::string text = line(table.header) + "|";
  for (size_t i = 0; i < table.header.size(); ++i) text += "---|";
  text += "\n";
  for (const auto& row : table.rows) text += line(row);
  return text;
}

}  // namespace rl_training
