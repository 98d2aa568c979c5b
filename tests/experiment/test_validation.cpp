#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "rl_training/experiment/run.h"
#include "tests/experiment/logged_machine.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_validation {
namespace {

namespace fs = std::filesystem;

std::vector<Json> rows_of(const std::string& run_dir) {
  std::vector<Json> rows;
  std::istringstream lines(read_all(run_dir + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
  return rows;
}

class Validation : public testing::Test {
 protected:
  TrainConfig config(const std::string& kwargs = "", const std::string& algo = "td3_bc",
                     const std::string& top = "validation: {episodes: 3, seed: 2}\n") const {
    return machine_config(log_, directory_ / "runs", kBounds + kwargs, algo,
                          "eval_interval: 10\n" + top);
  }
  RunResult train(const TrainConfig& config) {
    return rl_training::Run::start(config, {})->train();
  }
  std::string problem(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const std::string kBounds = ", action_low: [-3, 0], action_high: [1, 10]";
  TemporaryDirectory directory_;
  std::string log_ = write_machine_log(directory_ / "log.npz");
};

TEST_F(Validation, EpisodesAreHeldOutAndRecorded) {
  const auto data = load_run_data(config(), {});
  EXPECT_EQ(data.rows->rows(), 7 * 20);
  EXPECT_EQ(data.held_out->rows(), 3 * 20);
  EXPECT_EQ(data.held_out_episodes.size(), 3u);
  const auto all = load_run_data(config("", "td3_bc", ""), {});
  EXPECT_EQ(data.fingerprint, all.fingerprint);
  EXPECT_EQ(all.held_out, nullptr);
  // The held-out rows are the rows of the held-out episodes.
  for (size_t i = 0; i < 3; ++i) {
    const int64_t row = 20 * data.held_out_episodes[i] + 7;
    EXPECT_EQ(data.held_out->reward(static_cast<int64_t>(i) * 20 + 7), all.rows->reward(row));
  }
  const auto result = train(config());
  const auto metadata = Json::parse(read_all(result.run_dir + "/metadata.json"));
  EXPECT_EQ(metadata["validation"]["episodes"], Json(data.held_out_episodes));
  EXPECT_EQ(metadata["validation"]["rows"], 60);
  EXPECT_EQ(metadata["dataset"]["rows"], 140);
  EXPECT_EQ(metadata["dataset"]["fingerprint"], all.fingerprint);
}

TEST_F(Validation, RowsHoldTheMetricsAtTheEvaluationInterval) {
  const auto result = train(config());
  std::vector<int64_t> measured;
  for (const auto& row : rows_of(result.run_dir)) {
    if (row.contains("validation_td_error")) measured.push_back(row["update_count"]);
  }
  EXPECT_EQ(measured, (std::vector<int64_t>{0, 10, 20, 30}));
  for (const char* name : {"validation_td_error", "validation_action_error",
                           "validation_initial_value", "validation_advantage"}) {
    EXPECT_TRUE(result.summary.metrics[name].is_number()) << name;
    EXPECT_NE(read_all(result.run_dir + "/metrics.csv").find(name), std::string::npos);
  }
  // Without returns and early stopping, no metric decides which checkpoint is the best.
  EXPECT_FALSE(fs::exists(result.run_dir + "/checkpoints/best"));

  const auto cloned = train(config("", "bc"));
  EXPECT_TRUE(cloned.summary.metrics["validation_action_error"].is_number());
  EXPECT_FALSE(cloned.summary.metrics.contains("validation_td_error"));
  EXPECT_EQ(read_all(cloned.run_dir + "/metrics.csv").find("validation_td_error"),
            std::string::npos);
}

// BCQ and the Decision Transformer are difficult cases: BCQ draws random candidates when it acts,
// and the Decision Transformer has memory.
TEST_F(Validation, IsExactOnResumeAndChangesNothingInTraining) {
  for (const char* algo : {"td3_bc", "bcq", "decision_transformer"}) {
    SCOPED_TRACE(algo);
    const bool sequence = std::string(algo) == "decision_transformer";
    const std::string keys =
        sequence ? ", target_return: 0, embed_dim: 8, num_heads: 1, context_length: 4" : "";
    auto whole_config = machine_config(log_, directory_ / "runs", kBounds + keys, algo,
                                       "eval_interval: 10\nvalidation: 0.3\n");
    const auto whole = train(whole_config);
    auto half_config = whole_config;
    half_config.total_timesteps = 10;
    const auto half = train(half_config);
    const auto resumed =
        rl_training::Run::resume(half.run_dir, {.total_timesteps = 30, .threads = {}}, {})->train();
    EXPECT_EQ(read_all(resumed.run_dir + "/metrics.jsonl"),
              read_all(whole.run_dir + "/metrics.jsonl"));
    EXPECT_EQ(read_all(resumed.checkpoint + "/tensors.safetensors"),
              read_all(whole.checkpoint + "/tensors.safetensors"));
    // More frequent measurements do not change the networks.
    auto often = whole_config;
    often.eval_interval = 3;
    const auto measured = train(often);
    EXPECT_EQ(load_policy(measured.run_dir).predict({{0.1, 0.2}}),
              load_policy(whole.run_dir).predict({{0.1, 0.2}}));
  }
}

TEST_F(Validation, EpisodesLongerThanAPolicyRemembersAreRefused) {
  EXPECT_EQ(problem([&] {
              train(config(", target_return: 0, max_episode_length: 19", "decision_transformer"));
            }),
            "algo_kwargs.max_episode_length: less than the longest episode of the dataset "
            "(expected at least 20, got 19)");
}

TEST_F(Validation, StopsEarlyAndDecidesTheBest) {
  const auto result =
      train(config(", early_stopping: {metric: validation_action_error, mode: min, patience: 1, "
                   "min_delta: 1000}"));
  // The measurement before training does not count. From update 10 to update 20, the metric does
  // not improve by more than min_delta, so training stops.
  EXPECT_EQ(result.summary.stop_reason, "early_stopping");
  EXPECT_EQ(result.summary.update_count, 20);
  const auto patient = train(
      config(", early_stopping: {metric: validation_action_error, mode: min, patience: 100}"));
  double least = 1e9;
  int64_t step = 0;
  for (const auto& row : rows_of(patient.run_dir)) {
    if (!row.contains("validation_action_error") || row["update_count"] == 0) continue;
    if (row["validation_action_error"] >= least) continue;
    least = row["validation_action_error"];
    step = row["update_count"];
  }
  const auto best = load_checkpoint(posix_file_system(), patient.run_dir + "/checkpoints/best");
  EXPECT_EQ(best.step, step);
}

TEST_F(Validation, WrongKeysAreRefused) {
  const auto refused = [&](const std::string& kwargs, const std::string& algo,
                           const std::string& top) {
    return problem([&] { train(config(kwargs, algo, top)); });
  };
  EXPECT_EQ(
      refused(", early_stopping: {metric: validation_td_error}", "td3_bc", "validation: 0.2\n"),
      "c.yaml:8: algo_kwargs.early_stopping.mode: smaller errors are better (expected min, got "
      "max)");
  const std::string no_such = "c.yaml:8: algo_kwargs.early_stopping.metric: no such metric: ";
  EXPECT_TRUE(refused(", early_stopping: {metric: validation_td_error, mode: min}", "bc",
                      "validation: 0.2\n")
                  .starts_with(no_such + "validation_td_error"));
  EXPECT_TRUE(refused(", early_stopping: {metric: validation_td_error, mode: min}", "td3_bc", "")
                  .starts_with("c.yaml:7: algo_kwargs.early_stopping.metric: no such metric"));
  EXPECT_TRUE(refused("", "td3_bc", "validation: {episodes: 10}\n")
                  .starts_with("validation: no episodes would remain for training"));
  EXPECT_TRUE(
      refused("", "td3_bc", "validation: 1\n").starts_with("c.yaml:6: validation.fraction"));
  EXPECT_EQ(
      problem([&] {
        read_train_config(read_yaml("algo: sac\nenv_id: Pendulum-v1\nvalidation: 0.1\n", "c.yaml"));
      }),
      "c.yaml:3: validation: sac does not learn from a dataset, so no episodes can be held out");
}

}  // namespace
}  // namespace rl_training::test_validation
