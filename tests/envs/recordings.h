#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "rl_training/data/csv_table.h"
#include "rl_training/envs/registry.h"

namespace rl_training {

// Returns options with the task-specific `keys` and defaults for all other options.
inline EnvOptions task_options(const Json& keys) {
  EnvOptions options;
  options.task = keys;
  return options;
}

// Returns the paths of <name>_traj0.csv and, if it exists, of <name>_traj1.csv.
inline std::vector<std::string> recordings(const std::string& name) {
  std::vector<std::string> paths;
  for (const char* number : {"0", "1"}) {
    const auto path =
        std::string(SOURCE_DIR) + "/tests/envs/fixtures/" + name + "_traj" + number + ".csv";
    if (std::filesystem::exists(path)) paths.push_back(path);
  }
  return paths;
}

// Returns the largest difference between our seeded resets and Gymnasium's. The states are compared
// and, if `observations` is true, also the recorded part of the observations.
inline double seeded_reset_difference(const std::string& env_id, const std::string& name,
                                      bool observations = true) {
  const CsvTable table(std::string(SOURCE_DIR) + "/tests/envs/fixtures/seeded_reset_" + name +
                       ".csv");
  std::vector<int64_t> columns;
  for (const std::string group : {"state", "qpos", "qvel", "obs"}) {
    if (group == "obs" && !observations) continue;
    const auto found = table.find_numbered(group);
    columns.insert(columns.end(), found.begin(), found.end());
  }
  const auto env = make_environment(env_id);
  std::vector<double> obs(static_cast<size_t>(env->spec().observation.size()));
  double largest = 0;
  EXPECT_GT(table.rows(), 1);
  for (int64_t row = 0; row < table.rows(); ++row) {
    Rng rng(static_cast<uint64_t>(table.at(row, table.find("seed"))));
    env->reset(rng, obs);
    std::vector<double> values = env->state();
    values.insert(values.end(), obs.begin(), obs.end());
    EXPECT_GE(values.size(), columns.size());
    for (size_t i = 0; i < std::min(values.size(), columns.size()); ++i) {
      largest = std::max(largest, std::abs(values[i] - table.at(row, columns[i])));
    }
  }
  return largest;
}

}  // namespace rl_training
