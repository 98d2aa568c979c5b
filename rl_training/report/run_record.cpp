#include "rl_training/report/run_record.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/report/run_metrics.h"
#include "rl_training/util/error.h"
#include "rl_training/util/json.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr int kSearchDepth = 4;
constexpr size_t kMostRuns = 20000;
constexpr uint64_t kMostConfigBytes = 1 << 20, kMostMetadataBytes = 16 << 20;

void add_runs(FileSystem& files, const std::string& path, int depth,
              std::vector<std::string>& runs) {
  if (files.exists(path + "/config.yaml")) {
    runs.push_back(path);
    if (runs.size() > kMostRuns) {
      throw Error(ErrorKind::io, {path, 0, ""}, fmt::format("more than {} runs", kMostRuns));
    }
  } else if (depth < kSearchDepth && std::filesystem::is_directory(path)) {
    for (const auto& name : files.list_directory(path)) {
      if (!name.starts_with('.')) add_runs(files, path + "/" + name, depth + 1, runs);
    }
  }
}

std::string value_text(const ConfigNode& node) {
  std::vector<std::string> parts;
  switch (node.kind) {
    case ConfigNode::Kind::null:
      return "null";
    case ConfigNode::Kind::scalar:
      return node.text;
    case ConfigNode::Kind::list:
      for (const auto& item : node.items) parts.push_back(value_text(item));
      return "[" + join(parts, ", ") + "]";
    case ConfigNode::Kind::map:
      for (const auto& [key, value] : node.entries) parts.push_back(key + ": " + value_text(value));
      break;
  }
  return "{" + join(parts, ", ") + "}";
}

void flatten(const ConfigNode& map, const std::string& prefix,
             std::vector<std::pair<std::string, std::string>>& out) {
  for (const auto& [key, value] : map.entries) {
    if (value.kind == ConfigNode::Kind::map && !value.entries.empty()) {
      flatten(value, prefix + key + ".", out);
    } else {
      out.emplace_back(prefix + key, value_text(value));
    }
  }
}

int64_t whole_number(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);  // accepts numbers such as 1e6
  return std::isfinite(value) && std::abs(value) < 9e15 ? static_cast<int64_t>(value) : 0;
}

std::string dataset_name(const RunRecord& run) {
  const auto mix = run.value_of("dataset_mix");
  if (mix.size() > 2) return "mix";
  auto id = run.value_of("dataset_id"), path = run.value_of("dataset_path");
  if (!id.empty() && id != "null") return id;
  if (!path.empty() && path != "null") return std::filesystem::path(path).filename().string();
  return run.value_of("dataset_kind");
}

void read_config(FileSystem& files, RunRecord& run) {
  const auto path = run.path + "/config.yaml";
  const auto config = read_yaml(read_plain_file(files, path, kMostConfigBytes), path);
  flatten(config, "", run.config);
  run.algo = run.value_of("algo");
  run.env_id = run.value_of("env_id");
  run.seed = whole_number(run.value_of("seed"));
  if (const auto* tags = config.find("tags")) {
    for (const auto& tag : tags->items) run.tags.push_back(tag.text);
  }
  run.dataset.name = dataset_name(run);
}

std::string member_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

void read_sessions(const Json& sessions, RunRecord& run) {
  if (!sessions.is_array() || sessions.empty()) return;
  run.sessions = sessions.size();
  if (sessions.front().is_object()) {
    run.started = member_text(sessions.front(), "started");
    run.command = member_text(sessions.front(), "command");
  }
  if (!sessions.back().is_object()) return;
  run.version = member_text(sessions.back(), "version");
  run.commit = member_text(sessions.back(), "commit");
  run.stop_reason = member_text(sessions.back(), "stop_reason");
}

void read_dataset(const Json& dataset, RunDataset& out) {
  if (!dataset.is_object()) return;
  const auto number = [&](const char* key) {
    const auto found = dataset.find(key);
    return found != dataset.end() && found->is_number() ? found->get<double>() : std::nan("");
  };
  const double rows = number("rows"), episodes = number("episodes");
  if (rows > 0 && rows < 9e15) out.rows = static_cast<int64_t>(rows);
  if (episodes > 0 && episodes < 9e15) out.episodes = static_cast<int64_t>(episodes);
  if (const double mean = number("return_mean"); out.rows > 0 && std::isfinite(mean)) {
    out.return_mean = mean;
  }
  out.fingerprint = member_text(dataset, "fingerprint");
  const auto warnings = dataset.find("warnings");
  if (warnings == dataset.end() || !warnings->is_array()) return;
  for (const auto& line : *warnings) {
    if (line.is_string()) out.warnings.push_back(line.get<std::string>());
  }
}

void read_metadata(FileSystem& files, RunRecord& run) {
  const auto path = run.path + "/metadata.json";
  if (!files.exists(path)) return;
  const auto metadata = parse_untrusted_json(read_plain_file(files, path, kMostMetadataBytes));
  if (!metadata.is_object()) return;
  if (metadata.contains("dataset")) read_dataset(metadata["dataset"], run.dataset);
  // A warm start affects results, so it is treated like a config key.
  if (const auto from = metadata.find("from"); from != metadata.end() && from->is_object()) {
    run.config.emplace_back("from", member_text(*from, "checkpoint"));
  }
  if (metadata.contains("sessions")) read_sessions(metadata["sessions"], run);
}

// For an online algorithm, total_timesteps counts environment steps. For an offline algorithm, it
// counts updates, and online.total_timesteps counts the environment steps of the online phase.
void plan_lengths(RunRecord& run) {
  const int64_t total = whole_number(run.value_of("total_timesteps"));
  const int64_t online = whole_number(run.value_of("online.total_timesteps"));
  if (online > 0) {
    run.planned_updates = total;
    run.planned_env_steps = online;
  } else if (run.has_online) {
    run.planned_env_steps = total;
  } else {
    run.planned_updates = total;
  }
}

void list_checkpoints(FileSystem& files, RunRecord& run) {
  for (const auto& name : files.list_directory(run.path + "/checkpoints")) {
    if (name == "best") run.checkpoints.insert(run.checkpoints.begin(), name);
    if (name.starts_with("step-")) run.checkpoints.push_back(name);
  }
}

// Reads selection.json. Ignores a file of another format.
void read_estimate(FileSystem& files, RunRecord& run) {
  const auto path = run.path + "/selection.json";
  if (!files.exists(path)) return;
  const auto json = parse_untrusted_json(read_plain_file(files, path, kMostMetadataBytes));
  if (!json.is_object() || !json.contains("policies") || !json["policies"].is_array()) return;
  for (const auto& policy : json["policies"]) {
    RunEstimate estimate;
    bool complete = policy.is_object();
    const auto read = [&](const char* key, double& value) {
      complete = complete && policy.contains(key) && policy[key].is_number();
      if (complete) value = policy[key].get<double>();
    };
    read("value", estimate.value);
    read("low", estimate.low);
    read("high", estimate.high);
    read("rank", estimate.rank);
    if (!complete || (run.estimate && run.estimate->rank <= estimate.rank)) continue;
    if (json.contains("candidates") && json["candidates"].is_number_integer()) {
      estimate.candidates = json["candidates"].get<int64_t>();
    }
    run.estimate = estimate;
  }
}

// Checks in the kernel's list of locks whether a process holds the lock. Acquiring the lock briefly
// would be simpler, but it could make a concurrent `resume` fail.
bool lock_is_held(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return false;
  std::ifstream locks("/proc/locks");
  const std::string end = fmt::format(":{}", status.st_ino);
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, mode, access, process, place;
    words >> number >> kind >> mode >> access >> process >> place;
    if (mode != "->" && place.ends_with(end)) return true;
  }
  return false;
}

RunState state_of(const RunRecord& run) {
  static const std::set<std::string> ends = {"total_timesteps", "max_updates", "max_epochs",
                                             "early_stopping", "callback"};
  static const std::set<std::string> failures = {"diverged", "internal",   "io",       "data",
                                                 "config",   "checkpoint", "exception"};
  if (lock_is_held(run.path + "/LOCK")) return RunState::running;
  if (ends.contains(run.stop_reason)) return RunState::finished;
  if (failures.contains(run.stop_reason)) return RunState::failed;
  const bool updates_done = run.has_online || run.updates >= run.planned_updates;
  const bool steps_done = run.env_steps >= run.planned_env_steps;
  if (updates_done && steps_done && run.updates + run.env_steps > 0) return RunState::finished;
  return run.stop_reason == "paused" ? RunState::paused : RunState::unfinished;
}

}  // namespace

const char* run_state_name(RunState state) {
  switch (state) {
    case RunState::finished:
      return "finished";
    case RunState::running:
      return "running";
    case RunState::paused:
      return "paused";
    case RunState::unfinished:
      return "unfinished";
    case RunState::failed:
      break;
  }
  return "failed";
}

std::string RunRecord::value_of(const std::string& key) const {
  for (const auto& full : {key, "algo_kwargs." + key}) {
    for (const auto& [name, value] : config) {
      if (name == full) return value;
    }
  }
  return "";
}

std::vector<std::string> find_runs(FileSystem& files, const std::vector<std::string>& paths) {
  std::vector<std::string> runs;
  for (const auto& given : paths) {
    std::string path = given;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const size_t before = runs.size();
    add_runs(files, path, 0, runs);
    if (runs.size() == before) {
      throw Error(ErrorKind::io, {given, 0, ""},
                  "neither a run directory nor a directory that contains runs");
    }
  }
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

RunRecord read_run(FileSystem& files, const std::string& run_dir) {
  RunRecord run;
  run.path = run_dir;
  read_config(files, run);
  read_metadata(files, run);
  read_metrics(files, run);
  read_timing(files, run);
  plan_lengths(run);
  list_checkpoints(files, run);
  read_estimate(files, run);
  run.state = state_of(run);
  return run;
}

std::vector<RunRecord> read_runs(FileSystem& files, const std::vector<std::string>& paths,
                                 const std::function<void(const std::string&)>& warn) {
  std::vector<RunRecord> runs;
  std::optional<Error> first;
  for (const auto& path : find_runs(files, paths)) {
    try {
      runs.push_back(read_run(files, path));
    } catch (const Error& error) {
      if (first) warn(fmt::format("warning: skipped: {}", error.what()));
      if (!first) first = error;
    }
  }
  if (first && runs.empty()) throw *first;
  if (first) warn(fmt::format("warning: skipped: {}", first->what()));
  return runs;
}

}  // namespace rl_training
