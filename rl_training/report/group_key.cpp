#include "rl_training/report/group_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr std::string_view kKwargs = "algo_kwargs.";

bool is_length(const std::string& key) {
  return key == "total_timesteps" || key == "online.total_timesteps";
}

// Whether the length of a run affects the reported values. The value at a fixed step does not
// depend on the length, unless the learning-rate schedule does, or ReBRAC's cloning weight, which
// declines over the online phase.
bool length_counts(const RunRecord& run, const ReportOptions& options) {
  if (options.choice.pick != EvaluationChoice::Pick::at) return true;
  if (run.algo == "rebrac" && !run.value_of("online.total_timesteps").empty()) return true;
  const auto schedule = run.value_of("learning_rate_schedule.type");
  return schedule != "constant" && !schedule.empty();
}

bool decides(const RunRecord& run, const std::string& key, const ReportOptions& options) {
  static const std::set<std::string> never = {
      "seed", "threads", "output_dir", "tags", "checkpoint_interval", "algo_kwargs.dataset_cache"};
  static const std::set<std::string> data = {"algo_kwargs.dataset_path", "algo_kwargs.dataset_id",
                                             "algo_kwargs.dataset_kind"};
  if (never.contains(key)) return false;
  if (is_length(key)) return length_counts(run, options);
  // The log interval matters for early stopping, which may use a value that exists only in logged
  // rows.
  if (key == "log_interval") return run.value_of("early_stopping") != "null";
  if (data.contains(key)) return run.dataset.fingerprint.empty();
  return true;
}

std::string hash_of(const std::string& task, const std::string& algo,
                    const std::vector<KeyValue>& keys) {
  Sha256 hash;
  const auto add = [&hash](const std::string& text) {
    hash.add(fmt::format("{}:", text.size()));
    hash.add(text);
  };
  add(task);
  add(algo);
  for (const auto& [key, value] : keys) {
    add(key);
    add(value);
  }
  return hash.hex();
}

using FlatConfig = std::map<std::string, std::string>;

// Merges the keys of an optional map (online, early_stopping) into one column if some configs have
// the map and others have `null`. Otherwise each key of the map would be a column. Returns the
// keys that remain.
std::set<std::string> collapse_optional_maps(std::vector<FlatConfig>& configs) {
  std::set<std::string> absent, names;
  for (const auto& config : configs) {
    for (const auto& [key, value] : config) {
      if (value == "null") absent.insert(key);
    }
  }
  for (auto& config : configs) {
    for (auto it = config.begin(); it != config.end();) {
      std::string parent = it->first;
      bool inside = false;
      while (!inside && parent.find('.') != std::string::npos) {
        parent.resize(parent.rfind('.'));
        inside = absent.contains(parent);
      }
      if (inside) config[parent] = "yes";
      it = inside ? config.erase(it) : std::next(it);
    }
    for (const auto& [key, value] : config) names.insert(key);
  }
  return names;
}

bool is_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && std::isfinite(value);
}

// Shortens a number to at most `detail` significant digits, and a long path to ".../" and its last
// `detail` components.
std::string short_value(const std::string& text, int detail) {
  if (is_number(text)) {
    const auto rounded = fmt::format("{:.{}g}", std::strtod(text.c_str(), nullptr), detail);
    return rounded.size() < text.size() ? rounded : text;
  }
  constexpr size_t kLongPath = 24;
  if (text.size() < kLongPath || text.find_first_of(" <>{}[]()\"',;") != std::string::npos) {
    return text;
  }
  size_t begin = text.size();
  for (int i = 0; i < detail && begin != std::string::npos; ++i) {
    begin = begin == 0 ? std::string::npos : text.rfind('/', begin - 1);
  }
  return begin == std::string::npos ? text : "..." + text.substr(begin);
}

struct Filter {
  std::string key, value;
};

Filter parse_filter(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(ErrorKind::config, {"", 0, "--filter"},
                "not a condition (expected key=value, got " + text + ")");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

bool same_value(const std::string& a, const std::string& b) {
  if (a == b) return true;
  char *end_a = nullptr, *end_b = nullptr;  // compare by value: 3e-4 equals 0.0003
  const double x = std::strtod(a.c_str(), &end_a), y = std::strtod(b.c_str(), &end_b);
  return !a.empty() && !b.empty() && *end_a == '\0' && *end_b == '\0' && x == y;
}

// The value of a config key, or of a property of the run that is not a config key.
std::string fact_or_value(const RunRecord& run, const std::string& key) {
  if (key == "dataset") return run.dataset.name;
  if (key == "env") return run.env_id;
  if (key == "state") return run_state_name(run.state);
  if (key == "commit") return run.commit;
  return run.value_of(key);
}

bool passes(const RunRecord& run, const Filter& filter) {
  if (filter.key == "tags") {
    return std::find(run.tags.begin(), run.tags.end(), filter.value) != run.tags.end();
  }
  return same_value(fact_or_value(run, filter.key), filter.value);
}

void check_key(const std::vector<RunRecord>& runs, const std::string& key, const char* option) {
  std::set<std::string> names = {"dataset", "env", "state", "commit", "tags"};
  for (const auto& run : runs) {
    for (const auto& [name, value] : run.config) names.insert({name, short_key(name)});
  }
  if (names.contains(key)) return;
  const std::vector<std::string> list(names.begin(), names.end());
  throw Error(ErrorKind::config, {"", 0, option},
              "no run has a key `" + key + "`" + did_you_mean(key, list));
}

}  // namespace

std::string short_key(const std::string& key) {
  return key.starts_with(kKwargs) ? key.substr(kKwargs.size()) : key;
}

std::vector<std::string> short_values(const std::vector<std::string>& values) {
  constexpr int kDigits = 4, kMostDigits = 17;
  const bool numbers = std::any_of(values.begin(), values.end(), is_number);
  const size_t distinct = std::set(values.begin(), values.end()).size();
  for (int detail = numbers ? kDigits : 1; detail <= kMostDigits; ++detail) {
    std::vector<std::string> shown;
    shown.reserve(values.size());
    for (const auto& value : values) shown.push_back(short_value(value, detail));
    if (std::set(shown.begin(), shown.end()).size() == distinct) return shown;
  }
  return values;
}

void find_differing_keys(ReportTask& task, const ReportOptions& options) {
  std::map<std::string, std::vector<RunGroup*>> by_algo;
  for (auto& group : task.groups) by_algo[group.algo].push_back(&group);
  for (auto& [algo, groups] : by_algo) {
    std::vector<FlatConfig> configs;
    for (const auto* group : groups) {
      const auto keys = deciding_keys(group->runs.front(), options);
      configs.emplace_back(keys.begin(), keys.end());
    }
    const auto names = collapse_optional_maps(configs);
    for (const auto& name : names) {
      const auto value_in = [&](size_t i) {
        const auto found = configs[i].find(name);
        return found == configs[i].end() ? std::string("-") : found->second;
      };
      std::vector<std::string> values;
      for (size_t i = 0; i < configs.size(); ++i) values.push_back(value_in(i));
      if (std::set(values.begin(), values.end()).size() == 1) continue;
      const auto shown = short_values(values);
      for (size_t i = 0; i < configs.size(); ++i) {
        groups[i]->differing_keys.emplace_back(short_key(name), values[i]);
        groups[i]->shown_keys.emplace_back(short_key(name), shown[i]);
      }
    }
  }
}

std::vector<KeyValue> deciding_keys(const RunRecord& run, const ReportOptions& options) {
  std::vector<KeyValue> keys;
  if (!options.by.empty()) {
    for (const auto& key : options.by) keys.emplace_back(key, fact_or_value(run, key));
    return keys;
  }
  for (const auto& [key, value] : run.config) {
    if (decides(run, key, options)) keys.emplace_back(key, value);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::string task_key(const RunRecord& run) {
  const auto& data = run.dataset;
  const bool known = !data.fingerprint.empty() && data.fingerprint != "none";
  return run.env_id + "\n" + (known ? data.fingerprint : "name " + data.name);
}

std::string full_key(const RunRecord& run, const ReportOptions& options) {
  auto all = options;
  all.by.clear();
  return hash_of(task_key(run), run.algo, deciding_keys(run, all));
}

std::string by_key(const RunRecord& run, const ReportOptions& options) {
  return hash_of(task_key(run), run.algo, deciding_keys(run, options));
}

void check_keys(const std::vector<RunRecord>& runs, const ReportOptions& options) {
  for (const auto& key : options.by) check_key(runs, key, "--by");
  for (const auto& filter : options.filters) check_key(runs, parse_filter(filter).key, "--filter");
}

std::vector<RunRecord> filtered(std::vector<RunRecord> runs, const ReportOptions& options) {
  for (const auto& text : options.filters) {
    const auto filter = parse_filter(text);
    std::set<std::string> values;
    for (const auto& run : runs) values.insert(fact_or_value(run, filter.key));
    std::erase_if(runs, [&](const RunRecord& run) { return !passes(run, filter); });
    if (!runs.empty()) continue;
    const std::vector<std::string> list(values.begin(), values.end());
    throw Error(
        ErrorKind::config, {"", 0, "--filter"},
        fmt::format("no run has {} (they have {})", text, shortened(join(list, ", "), 200)));
  }
  return runs;
}

void note_merged_keys(Report& report) {
  std::set<std::string> merged;
  for (const auto& task : report.tasks) {
    for (const auto& group : task.groups) {
      const auto& first = group.runs.front();
      for (const auto& [key, value] : first.config) {
        if (!decides(first, key, {})) continue;
        for (const auto& run : group.runs) {
          if (run.value_of(key) != value) merged.insert(short_key(key));
        }
      }
    }
  }
  if (merged.empty()) return;
  const std::vector<std::string> list(merged.begin(), merged.end());
  report.notes.push_back("warning: --by merges runs that differ in " + join(list, ", "));
}

}  // namespace rl_training
