#include "rl_training/sweep/run_finder.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "rl_training/experiment/run_directory.h"
#include "rl_training/experiment/yaml_reader.h"

namespace rl_training {
namespace {

// The config without the keys in which two configs of the same run may differ.
Json identity_of(const TrainConfig& config) {
  auto json = write_train_config(with_absolute_paths(config));
  for (const char* key : {"threads", "output_dir", "tags"}) json.erase(key);
  return json;
}

bool started_from(FileSystem& files, const std::string& run, const std::string& from) {
  const auto metadata = parse_untrusted_json(files.read_file(run + "/metadata.json"));
  const bool warm = metadata.is_object() && metadata.contains("from");
  if (!warm || from.empty()) return warm == !from.empty();
  const auto checkpoint = metadata["from"].value("checkpoint", "");
  const auto start = absolute_path(from);
  return checkpoint == start || checkpoint.starts_with(start + "/");
}

bool is_run_of(FileSystem& files, const std::string& run, const Json& identity,
               const std::string& from) {
  try {
    const auto file = run + "/config.yaml";
    return identity_of(read_train_config(read_yaml(files.read_file(file), file))) == identity &&
           started_from(files, run, from);
  } catch (const std::exception&) {  // unreadable: damaged, or owned by another user
    return false;
  }
}

}  // namespace

std::string find_run(FileSystem& files, const TrainConfig& config, const std::string& from) {
  const auto parent = config.output_dir.empty() ? std::string(".") : config.output_dir;
  const auto prefix = run_name(config.algo, task_name(config), static_cast<uint64_t>(config.seed));
  auto names = files.list_directory(parent);
  // Names are sorted and contain the time, so the reversed list starts with the newest run.
  std::reverse(names.begin(), names.end());
  const auto identity = identity_of(config);
  for (const auto& name : names) {
    auto path = parent + "/" + name;
    if (name.starts_with(prefix) && is_run_of(files, path, identity, from)) return path;
  }
  return "";
}

int64_t position_in(const Json& row, const TrainConfig& config) {
  const auto count = [&](const char* key) {
    return row.is_object() && row.contains(key) && row[key].is_number_integer()
               ? row[key].get<int64_t>()
               : int64_t{0};
  };
  const auto phases = config.phases();
  const int64_t steps = count("global_step");
  if (collecting_phase(phases) == nullptr || steps == 0) return count("update_count");
  int64_t position = steps;
  for (const auto& phase : phases) position += phase.collects() ? 0 : phase.length;
  return position;
}

int64_t length_of(const TrainConfig& config) {
  int64_t length = 0;
  for (const auto& phase : config.phases()) length += phase.length;
  return length;
}

void MetricTail::update() {
  std::ifstream file(path_, std::ios::binary);
  if (!file.seekg(offset_)) return;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    offset_ += static_cast<int64_t>(line.size()) + 1;
    auto row = parse_untrusted_json(line);
    if (!row.is_object()) continue;
    for (const auto& [name, value] : row.items()) {
      if (value.is_number()) newest_[name] = value;
    }
    last_ = std::move(row);
  }
}

std::optional<double> MetricTail::newest(const std::string& metric) const {
  const auto found = newest_.find(metric);
  return found == newest_.end() ? std::nullopt : std::optional(found->get<double>());
}

std::optional<double> metric_at(const std::string& run_dir, const std::string& metric,
                                int64_t position, const TrainConfig& config) {
  std::ifstream file(run_dir + "/metrics.jsonl", std::ios::binary);
  std::optional<double> value;
  for (std::string line; std::getline(file, line);) {
    const auto row = parse_untrusted_json(line);
    if (!row.is_object() || position_in(row, config) > position) continue;
    const auto found = row.find(metric);
    if (found != row.end() && found->is_number()) value = found->get<double>();
  }
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace rl_training
