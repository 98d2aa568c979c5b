#include "rl_training/envs/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "rl_training/data/csv_table.h"
#include "rl_training/envs/registry.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

struct ReplayColumns {
  std::vector<int64_t> state, action, obs;
  int64_t reward, terminated, truncated, trajectory, step;
};

// Finds the columns with these names, in this order. Each name stands for the column `name` and the
// columns name0, name1, ...; columns may be missing, but there must be `count` columns in total.
std::vector<int64_t> columns_of(const CsvTable& table, std::initializer_list<const char*> names,
                                size_t count) {
  std::vector<int64_t> columns;
  for (const char* name : names) {
    if (const int64_t single = table.find(name); single >= 0) columns.push_back(single);
    const auto numbered = table.find_numbered(name);
    columns.insert(columns.end(), numbered.begin(), numbered.end());
  }
  if (columns.size() != count) {
    const std::string first = *names.begin();
    throw Error(ErrorKind::data, {table.path(), 1, first},
                "wrong number of columns " + first + "0, " + first + "1, ... (expected " +
                    std::to_string(count) + ", got " + std::to_string(columns.size()) + ")");
  }
  return columns;
}

int64_t required(const CsvTable& table, const char* name) {
  const int64_t column = table.find(name);
  if (column < 0) throw Error(ErrorKind::data, {table.path(), 1, name}, "no such column");
  return column;
}

ReplayColumns find_columns(const CsvTable& table, const Environment& env) {
  return {columns_of(table, {"state", "goal", "qpos", "qvel"}, env.state().size()),
          columns_of(table, {"action"}, static_cast<size_t>(env.spec().action.size())),
          columns_of(table, {"achieved", "desired", "obs", "observation", "desired_goal"},
                     static_cast<size_t>(env.spec().observation.size())),
          required(table, "reward"),
          required(table, "terminated"),
          table.find("truncated"),
          table.find("traj"),
          table.find("step")};
}

// A row with step -1 contains the state and the first observation of an episode instead of a step.
bool is_reset_row(const CsvTable& table, const ReplayColumns& columns, int64_t row) {
  return columns.step >= 0 && table.at(row, columns.step) == -1;
}

void read_row(const CsvTable& table, int64_t row, const std::vector<int64_t>& columns,
              std::vector<double>& out) {
  out.clear();
  for (const int64_t column : columns) out.push_back(table.finite_at(row, column));
}

bool read_flag(const CsvTable& table, int64_t row, int64_t column) {
  const double value = table.finite_at(row, column);
  if (value != 0 && value != 1) {
    throw Error(ErrorKind::data,
                {table.path(), table.line(row), table.columns()[static_cast<size_t>(column)]},
                "not a flag (expected 0 or 1)");
  }
  return value != 0;
}

void read_action(const CsvTable& table, int64_t row, const std::vector<int64_t>& columns,
                 const Space& space, std::vector<double>& out) {
  read_row(table, row, columns, out);
  if (!space.is_discrete() || space.contains_choice(out[0])) return;
  throw Error(ErrorKind::data,
              {table.path(), table.line(row), table.columns()[static_cast<size_t>(columns[0])]},
              fmt::format("no such action (expected a whole number from 0 to {}, got {:g})",
                          space.categories - 1, out[0]));
}

// Counts NaN as an infinite difference, because std::max would ignore NaN.
void widen(double& largest, double difference) {
  if (std::isnan(difference)) difference = std::numeric_limits<double>::infinity();
  largest = std::max(largest, std::abs(difference));
}

}  // namespace

ReplayReport replay_trajectory(const std::string& env_id, const std::string& csv_path) {
  const auto env = make_environment(env_id);
  const CsvTable table(csv_path);
  const ReplayColumns columns = find_columns(table, *env);
  if (table.rows() == 0) throw Error(ErrorKind::data, {csv_path, 0, ""}, "no recorded steps");

  ReplayReport report;
  std::vector<double> values;
  std::vector<double> obs(static_cast<size_t>(env->spec().observation.size()));
  const auto compare_obs = [&](int64_t row) {
    read_row(table, row, columns.obs, values);
    for (size_t i = 0; i < obs.size(); ++i) widen(report.max_obs_diff, obs[i] - values[i]);
  };
  // In a file with reset rows, a termination or truncation does not start the next episode, because
  // the recording may contain further steps after an episode has ended.
  const bool has_reset_rows = is_reset_row(table, columns, 0);
  bool episode_start = true;
  for (int64_t row = 0; row < table.rows(); ++row) {
    const bool reset_row = is_reset_row(table, columns, row);
    if (row > 0 && columns.trajectory >= 0 &&
        table.at(row, columns.trajectory) != table.at(row - 1, columns.trajectory)) {
      episode_start = true;
    }
    if (episode_start || reset_row) {
      read_row(table, row, columns.state, values);
      env->set_state(values);
      episode_start = false;
    }
    if (reset_row) {
      env->observe(obs);
      compare_obs(row);
      continue;
    }
    read_action(table, row, columns.action, env->spec().action, values);
    const StepResult result = env->step(values, obs);
    compare_obs(row);
    widen(report.max_reward_diff, result.reward - table.finite_at(row, columns.reward));

    bool ended = read_flag(table, row, columns.terminated);
    if (result.terminated != ended) ++report.flag_mismatches;
    if (columns.truncated >= 0) {
      const bool truncated = read_flag(table, row, columns.truncated);
      if (result.truncated != truncated) ++report.flag_mismatches;
      ended |= truncated;
    }
    episode_start = ended && !has_reset_rows;
    ++report.steps;
  }
  return report;
}

}  // namespace rl_training
