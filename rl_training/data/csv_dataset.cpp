#include "rl_training/data/csv_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "rl_training/data/flat_steps.h"
#include "rl_training/util/error.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

[[noreturn]] void throw_no_such_column(const CsvTable& table, const std::string& name,
                                       const std::string& advice = "") {
  throw Error(
      ErrorKind::data, {table.path(), 1, name},
      "no such column (the file has " + present_names(table.columns(), name) + ")" + advice);
}

std::vector<int64_t> columns_named(const CsvTable& table, const std::string& word) {
  if (word.ends_with('*')) {
    const auto stem = word.substr(0, word.size() - 1);
    auto columns = table.find_numbered(stem);
    if (columns.empty()) throw_no_such_column(table, stem + "0");
    return columns;
  }
  const int64_t column = table.find(word);
  if (column < 0) throw_no_such_column(table, word);
  return {column};
}

class RoleFinder {
 public:
  RoleFinder(const CsvTable& table, const KeyMap& map) : table_(table), map_(map) {}

  std::vector<int64_t> several(const std::string& role) const {
    const auto found = map_.names.find(role);
    if (found == map_.names.end()) {
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
  // `other_names` are alternative column names, used if the map does not contain the role.
  int64_t single(const std::string& role, const std::vector<std::string>& other_names) const {
    if (map_.has(role)) {
      const auto columns = several(role);
      if (columns.size() != 1) {
        throw Error(ErrorKind::data, {table_.path(), 1, role}, "expected one column");
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
  const KeyMap& map_;
};

// Presents the columns as arrays of a flat dataset. This class checks the values itself, so that
// error messages can state the line number.
class CsvArrays final : public ArraySource {
 public:
  CsvArrays(const CsvTable& table, const CsvColumns& columns, bool allow_nonfinite)
      : table_(table), allow_nonfinite_(allow_nonfinite) {
    arrays_["obs"] = columns.obs;
    arrays_["action"] = columns.action;
    arrays_["reward"] = {columns.reward};
    if (!columns.next_obs.empty()) arrays_["next_obs"] = columns.next_obs;
    for (const auto& [role, column] : {std::pair{"terminated", columns.terminated},
                                       {"timeout", columns.timeout},
                                       {"episode", columns.episode},
                                       {"episode_end", columns.episode_end}}) {
      if (column >= 0) arrays_[role] = {column};
    }
    // Uses the column's own name as the key, because a warning shows the key to the user.
    if (columns.done >= 0) arrays_[name_of(columns.done)] = {columns.done};
  }

  const std::string& name_of(int64_t column) const {
    return table_.columns()[static_cast<size_t>(column)];
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
    if (key == "episode") return row > 0 && !table_.equal(row, row - 1, column) ? 1 : 0;
    const bool number = key == "obs" || key == "action" || key == "next_obs" || key == "reward";
    const bool flag = !number;
    if (allow_nonfinite_ && number) return table_.at(row, column);
    const double value = table_.finite_at(row, column);
    const bool fine = flag ? value == 0 || value == 1 : std::isfinite(static_cast<float>(value));
    if (fine) return value;
    throw Error(ErrorKind::data, {table_.path(), table_.line(row), name_of(column)},
                flag ? fmt::format("not a flag (expected 0 or 1, got {:g})", value)
                     : fmt::format("not a finite float (got {:g})", value));
  }

  const CsvTable& table_;
  bool allow_nonfinite_;
  std::map<std::string, std::vector<int64_t>> arrays_;
};

}  // namespace

CsvColumns CsvColumns::find(const CsvTable& table, const KeyMap& map) {
  if (!map.layout.empty()) {
    throw Error(ErrorKind::data, {table.path(), 1, ""},
                "`" + shortened(map.layout, 40) +
                    "` is a layout of arrays (expected role=column,column for a csv file)");
  }
  const RoleFinder finder(table, map);
  CsvColumns columns;
  columns.obs = finder.several("obs");
  columns.action = finder.several("action");
  columns.next_obs = finder.several("next_obs");
  columns.reward = finder.single("reward", {"rewards"});
  if (!map.never_terminates()) {
    columns.terminated =
        finder.single("terminated", {"terminal", "terminals", "termination", "terminations"});
  }
  columns.timeout =
      finder.single("timeout", {"truncated", "timeouts", "truncation", "truncations"});
  columns.episode = finder.single("episode", {"traj"});
  columns.episode_end = finder.single("episode_end", {});
  if (columns.terminated < 0 && !map.never_terminates()) {
    columns.done = finder.single("done", {"dones", "is_done"});
  } else if (columns.terminated >= 0 &&
             is_done_name(table.columns()[static_cast<size_t>(columns.terminated)])) {
    std::swap(columns.done, columns.terminated);
  }
  const auto require = [&](bool there, const std::string& role, const char* otherwise = "") {
    if (there) return;
    throw_no_such_column(table, role, "; map one to this role: " + role + "=..." + otherwise);
  };
  require(!columns.obs.empty(), "obs");
  require(!columns.action.empty(), "action");
  require(columns.reward >= 0, "reward");
  require(columns.terminated >= 0 || columns.done >= 0 || map.never_terminates(), "terminated",
          ", or terminated=none if the task never terminates");
  if (!columns.next_obs.empty() && columns.next_obs.size() != columns.obs.size()) {
    throw Error(ErrorKind::data, {table.path(), 1, "next_obs"},
                "expected the same number of columns as obs");
  }
  return columns;
}

LoggedSteps read_csv_steps(const std::string& path, const DatasetReadOptions& options,
                           SandboxOutput& output) {
  const CsvTable table(path);
  const auto map = KeyMap::parse({path, 1, ""}, options.keys);
  const auto columns = CsvColumns::find(table, map);
  if (table.rows() == 0) throw Error(ErrorKind::data, {path, 0, ""}, "no rows");
  CsvArrays arrays(table, columns, options.allow_nonfinite);
  FlatKeys keys;
  keys.obs = {"obs"};
  keys.actions = {"action"};
  keys.rewards = {"reward"};
  keys.terminals = {"terminated"};
  if (columns.done >= 0) keys.terminals_fallback = {arrays.name_of(columns.done)};
  keys.never_terminates = map.never_terminates();
  keys.timeouts = {"timeout"};
  keys.next_obs = {"next_obs"};
  keys.episode_starts = {"episode"};
  keys.episode_ends = {"episode_end"};
  auto steps = read_flat_steps(arrays, path, keys, options, output);
  for (const int64_t column : columns.obs) {
    steps.observation_names.push_back(table.full_name(column));
  }
  for (const int64_t column : columns.action) {
    steps.action_names.push_back(table.full_name(column));
  }
  return steps;
}

}  // namespace rl_training
