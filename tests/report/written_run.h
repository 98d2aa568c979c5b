#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "rl_training/report/groups.h"
#include "rl_training/util/json.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {

// The values that write_run() writes to a run directory, in the files that `train` would write.
struct WrittenRun {
  std::string algo = "bcq", env_id = "Pendulum-v1";
  int64_t seed = 0;
  std::vector<double> returns = {};      // evaluations at steps 0, 10, 20, ...
  std::vector<double> validations = {};  // TD errors at the same steps
  int64_t length = 20;
  std::string more_config = "";  // lines to append to algo_kwargs
  std::string fingerprint = "f00d", dataset_id = "pendulum/medium";
  std::string started = "2025-01-01T00:00:00Z", commit = "abc1234", stop_reason = "";
  int sessions = 1;
  Json dataset_warnings = Json::array();
};

inline std::string rows_of(const std::vector<double>& returns,
                           const std::vector<double>& validations = {}) {
  std::string rows;
  for (size_t i = 0; i < std::max(returns.size(), validations.size()); ++i) {
    Json row = {{"global_step", 10 * i},
                {"update_count", 10 * i},
                {"critic_loss", 1.0 / static_cast<double>(i + 1)}};
    if (i < returns.size()) row["eval_return_mean"] = returns[i];
    if (i < validations.size()) row["validation_td_error"] = validations[i];
    rows += row.dump() + "\n";
  }
  return rows;
}

inline void write_run(const std::string& path, const WrittenRun& run) {
  std::filesystem::create_directories(path + "/checkpoints/best");
  std::filesystem::create_directories(path + "/checkpoints/step-000000020");
  write_all(path + "/config.yaml",
            "algo: " + run.algo + "\nenv_id: " + run.env_id + "\nseed: " +
                std::to_string(run.seed) + "\ntotal_timesteps: " + std::to_string(run.length) +
                "\nthreads: 1\nlog_interval: 5\nonline: null\nalgo_kwargs:\n"
                "  dataset_kind: recipe\n  early_stopping: null\n  dataset_id: " +
                run.dataset_id + "\n" + run.more_config);
  Json sessions = Json::array();
  for (int i = 0; i < run.sessions; ++i) {
    sessions.push_back({{"started", run.started}, {"commit", run.commit}});
  }
  if (!run.stop_reason.empty()) sessions.back()["stop_reason"] = run.stop_reason;
  const Json metadata = {{"dataset",
                          {{"rows", 100},
                           {"episodes", 2},
                           {"return_mean", -617.0},
                           {"fingerprint", run.fingerprint},
                           {"warnings", run.dataset_warnings}}},
                         {"sessions", sessions}};
  write_all(path + "/metadata.json", metadata.dump());
  write_all(path + "/metrics.jsonl", rows_of(run.returns, run.validations));
}

// Writes runs of two algorithms with three seeds each.
inline void write_two_algorithms(const TemporaryDirectory& directory,
                                 const std::string& env = "Pendulum-v1") {
  for (int seed = 0; seed < 3; ++seed) {
    write_run(directory / fmt::format("{}-a{}", env, seed),
              {.env_id = env, .seed = seed, .returns = {-900, -600.0, -300.0 + 10 * seed}});
    write_run(
        directory / fmt::format("{}-b{}", env, seed),
        {.algo = "bear", .env_id = env, .seed = seed, .returns = {-900, -700, -315.0 + 20 * seed}});
  }
}

inline Report report_of(const std::string& path, const ReportOptions& options = {}) {
  return make_report(read_runs(posix_file_system(), {path}, [](const std::string&) {}), options);
}

}  // namespace rl_training
