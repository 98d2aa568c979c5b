#include "rl_training/envs/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "rl_training/data/csv_table.h"
#include "rl_training/envs/registry.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

struct ReplayColumns {
  std::vector<int64_t> state, action, obs;
  int64_t reward, terminated, truncated, trajectory;
};

std::vector<int64_t> numbered(const CsvTable& table, const char* name, size_t count) {
  auto columns = table.find_numbered(name);
  if (columns.size() != count) {
    throw Error(ErrorKind::data, {table.path(), 1, name},
                "wrong number of columns " + std::string(name) + "0, " + name +
                    "1, ... (expected " + std::to_string(count) + ", got " +
                    std::to_string(columns.size()) + ")");
  }
  return columns;
}

int64_t required(const CsvTable& table, const char* name) {
  const int64_t column = table.find(name);
  if (column < 0) throw Error(ErrorKind::data, {table.path(), 1, name}, "no such column");
  return column;
}

ReplayColumns find_columns(const CsvTable& table, const Environment& env) {
  return {numbered(table, "state", env.state().size()),
          numbered(table, "action", static_cast<size_t>(env.spec().action.dims())),
          numbered(table, "obs", static_cast<size_t>(env.spec().obs_dim)),
          required(table, "reward"),
          required(table, "terminated"),
          table.find("truncated"),
          table.find("traj")};
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
                "a flag is 0 or 1");
  }
  return value != 0;
}

// NaN is as far off as can be; std::max would drop it.
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
  std::vector<double> state, action, expected;
  std::vector<double> obs(static_cast<size_t>(env->spec().obs_dim));
  bool episode_start = true;
  for (int64_t row = 0; row < table.rows(); ++row) {
    if (row > 0 && columns.trajectory >= 0 &&
        table.at(row, columns.trajectory) != table.at(row - 1, columns.trajectory)) {
      episode_start = true;
    }
    if (episode_start) {
      read_row(table, row, columns.state, state);
      env->set_state(state);
    }
    read_row(table, row, columns.action, action);
    read_row(table, row, columns.obs, expected);
    const StepResult result = env->step(action, obs);
    for (size_t i = 0; i < obs.size(); ++i) widen(report.max_obs_diff, obs[i] - expected[i]);
    widen(report.max_reward_diff, result.reward - table.finite_at(row, columns.reward));

    const bool terminated = read_flag(table, row, columns.terminated);
    if (result.terminated != terminated) ++report.flag_mismatches;
    episode_start = terminated;
    if (columns.truncated >= 0) {
      const bool truncated = read_flag(table, row, columns.truncated);
      if (result.truncated != truncated) ++report.flag_mismatches;
      episode_start |= truncated;
    }
    ++report.steps;
  }
  return report;
}

}  // namespace rl_training
