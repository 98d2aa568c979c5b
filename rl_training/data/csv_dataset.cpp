#include "rl_training/data/csv_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "rl_training/data/flat_steps.h"
#include "rl_training/util/error.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

const std::vector<std::string>& roles() {
  static const std::vector<std::string> names = {"obs",     "action",  "reward",  "terminated",
                                                 "timeout", "episode", "next_obs"};
  return names;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// role -> words, from `role=word,word role=word`.
std::map<std::string, std::vector<std::string>> parse_map(const ErrorPlace& place,
                                                          const std::string& map) {
  std::map<std::string, std::vector<std::string>> words;
  for (const auto& entry : split(map, ' ')) {
    if (entry.empty()) continue;
    const auto equals = entry.find('=');
    const auto role = entry.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == entry.size()) {
      throw Error(ErrorKind::data, place,
                  "bad column map `" + shortened(entry, 40) + "` (expected role=column,column)");
    }
    if (std::find(roles().begin(), roles().end(), role) == roles().end()) {
      throw Error(ErrorKind::data, place,
                  "unknown role `" + shortened(role, 40) + "` in the column map (expected " +
                      join(roles(), ", ") + did_you_mean(role, roles()) + ")");
    }
    if (!words.emplace(role, split(entry.substr(equals + 1), ',')).second) {
      throw Error(ErrorKind::data, place, "the column map names `" + role + "` twice");
    }
  }
  return words;
}

std::vector<int64_t> columns_named(const CsvTable& table, const std::string& word) {
  if (word.ends_with('*')) {
    auto columns = table.find_numbered(word.substr(0, word.size() - 1));
    if (columns.empty()) {
      throw Error(ErrorKind::data, {table.path(), 1, word.substr(0, word.size() - 1) + "0"},
                  "no such column");
    }
    return columns;
  }
  const int64_t column = table.find(word);
  if (column < 0) {
    const auto hint = did_you_mean(word, table.columns());
    throw Error(ErrorKind::data, {table.path(), 1, word},
                "no such column" + (hint.empty() ? "" : " (" + hint.substr(2) + ")"));
  }
  return {column};
}

class RoleFinder {
 public:
  RoleFinder(const CsvTable& table, const std::string& map)
      : table_(table), words_(parse_map({table.path(), 1, ""}, map)) {}

  std::vector<int64_t> several(const std::string& role) const {
    const auto found = words_.find(role);
    if (found == words_.end()) {
      auto columns = table_.find_numbered(role);
      if (columns.empty() && table_.find(role) >= 0) columns = {table_.find(role)};
      return columns;
    }
    std::vector<int64_t> columns;
    for (const auto& word : found->second) {
      const auto more = columns_named(table_, word);
      columns.insert(columns.end(), more.begin(), more.end());
    }
    return columns;
  }
  // `other_names` are tried where the map does not name the role.
  int64_t single(const std::string& role, const std::vector<std::string>& other_names) const {
    const auto found = words_.find(role);
    if (found != words_.end()) {
      const auto columns = several(role);
      if (columns.size() != 1) {
        throw Error(ErrorKind::data, {table_.path(), 1, role}, "one column is expected");
      }
      return columns[0];
    }
    int64_t column = table_.find(role);
    for (const auto& name : other_names) {
      if (column < 0) column = table_.find(name);
    }
    return column;
  }

 private:
  const CsvTable& table_;
  std::map<std::string, std::vector<std::string>> words_;
};

// The columns as the arrays of a flat dataset, checked here, where the line is known.
class CsvArrays final : public ArraySource {
 public:
  CsvArrays(const CsvTable& table, const CsvColumns& columns, bool allow_nonfinite)
      : table_(table), allow_nonfinite_(allow_nonfinite) {
    arrays_["obs"] = columns.obs;
    arrays_["action"] = columns.action;
    arrays_["reward"] = {columns.reward};
    arrays_["terminated"] = {columns.terminated};
    if (columns.timeout >= 0) arrays_["timeout"] = {columns.timeout};
    if (columns.episode >= 0) arrays_["episode"] = {columns.episode};
    if (!columns.next_obs.empty()) arrays_["next_obs"] = columns.next_obs;
  }

  bool has(const std::string& key) override { return arrays_.count(key) > 0; }
  std::vector<int64_t> shape(const std::string& key) override {
    const bool matrix = key == "obs" || key == "action" || key == "next_obs";
    if (!matrix) return {table_.rows()};
    return {table_.rows(), static_cast<int64_t>(arrays_.at(key).size())};
  }
  std::vector<float> read_floats(const std::string& key) override { return read<float>(key); }
  std::vector<double> read_doubles(const std::string& key) override { return read<double>(key); }
  ErrorPlace place(const std::string& key) const override { return {table_.path(), 0, key}; }

 private:
  template <class T>
  std::vector<T> read(const std::string& key) const {
    const auto& columns = arrays_.at(key);
    std::vector<T> values;
    values.reserve(static_cast<size_t>(table_.rows()) * columns.size());
    for (int64_t row = 0; row < table_.rows(); ++row) {
      for (const int64_t column : columns) values.push_back(static_cast<T>(at(key, row, column)));
    }
    return values;
  }
  double at(const std::string& key, int64_t row, int64_t column) const {
    const bool flag = key == "terminated" || key == "timeout";
    if (key == "episode") {
      const double value = table_.finite_at(row, column);
      return row > 0 && value != table_.at(row - 1, column) ? 1 : 0;
    }
    if (allow_nonfinite_ && !flag) return table_.at(row, column);
    const double value = table_.finite_at(row, column);
    const bool fine = flag ? value == 0 || value == 1 : std::isfinite(static_cast<float>(value));
    if (fine) return value;
    throw Error(ErrorKind::data,
                {table_.path(), table_.line(row), table_.columns()[static_cast<size_t>(column)]},
                flag ? fmt::format("not a flag (expected 0 or 1, got {:g})", value)
                     : fmt::format("not a finite float (got {:g})", value));
  }

  const CsvTable& table_;
  bool allow_nonfinite_;
  std::map<std::string, std::vector<int64_t>> arrays_;
};

}  // namespace

CsvColumns CsvColumns::find(const CsvTable& table, const std::string& map) {
  const RoleFinder finder(table, map);
  CsvColumns columns;
  columns.obs = finder.several("obs");
  columns.action = finder.several("action");
  columns.next_obs = finder.several("next_obs");
  columns.reward = finder.single("reward", {"rewards"});
  columns.terminated = finder.single("terminated", {"terminal", "terminals"});
  columns.timeout = finder.single("timeout", {"truncated", "timeouts"});
  columns.episode = finder.single("episode", {"traj"});
  const auto require = [&](bool there, const char* role) {
    if (there) return;
    throw Error(ErrorKind::data, {table.path(), 1, role},
                "no column for it (name it in the column map: " + std::string(role) + "=...)");
  };
  require(!columns.obs.empty(), "obs");
  require(!columns.action.empty(), "action");
  require(columns.reward >= 0, "reward");
  require(columns.terminated >= 0, "terminated");
  if (!columns.next_obs.empty() && columns.next_obs.size() != columns.obs.size()) {
    throw Error(ErrorKind::data, {table.path(), 1, "next_obs"},
                "as many columns as obs are expected");
  }
  return columns;
}

LoggedSteps read_csv_steps(const std::string& path, const DatasetReadOptions& options,
                           SandboxOutput& output) {
  FlatKeys keys;
  keys.obs = {"obs"};
  keys.actions = {"action"};
  keys.rewards = {"reward"};
  keys.terminals = {"terminated"};
  keys.timeouts = {"timeout"};
  keys.next_obs = {"next_obs"};
  keys.episode_starts = {"episode"};
  const CsvTable table(path);
  const auto columns = CsvColumns::find(table, options.columns);
  if (table.rows() == 0) throw Error(ErrorKind::data, {path, 0, ""}, "no rows");
  CsvArrays arrays(table, columns, options.allow_nonfinite);
  return read_flat_steps(arrays, path, keys, options, output);
}

}  // namespace rl_training
