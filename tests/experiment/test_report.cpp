#include <gtest/gtest.h>

#include "rl_training/experiment/report.h"
#include "rl_training/util/error.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_report {
namespace {

struct Written {
  std::string algo = "bcq", env_id = "Pendulum-v1", data = "dataset_id: pendulum/medium";
  int seed = 0;
  std::vector<double> returns;  // evaluations at steps 0, 10, 20, ...
  std::string commit = "abc1234";
  int rows = 100;  // of the dataset
};

void write_run(const std::string& path, const Written& run) {
  std::filesystem::create_directories(path);
  write_all(path + "/config.yaml", "algo: " + run.algo + "\nenv_id: " + run.env_id +
                                       "\nseed: " + std::to_string(run.seed) +
                                       "\ntotal_timesteps: 20\nalgo_kwargs:\n"
                                       "  dataset_kind: recipe\n  " +
                                       run.data + "\n");
  write_all(path + "/metadata.json",
            R"({"dataset": {"rows": )" + std::to_string(run.rows) +
                R"(, "return_mean": -617.0}, "sessions": [{"commit": "old"}, {"commit": ")" +
                run.commit + R"("}]})");
  std::string rows;
  for (size_t i = 0; i < run.returns.size(); ++i) {
    const Json at = {{"global_step", 10 * i}, {"update_count", 5 * i}};
    Json evaluation = at, losses = at;
    evaluation["eval_return_mean"] = run.returns[i];
    losses["critic_loss"] = 1;
    rows += evaluation.dump() + "\n" + losses.dump() + "\n";
  }
  write_all(path + "/metrics.jsonl", rows);
}

std::vector<ReportGroup> report_of(const std::string& path) {
  std::vector<RunSummary> runs;
  for (const auto& run : find_runs(posix_file_system(), {path})) {
    runs.push_back(summarise_run(posix_file_system(), run));
  }
  return group_runs(runs);
}

TEST(Report, MeanAndDeviationOverSeeds) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.seed = 1, .returns = {-900, -100, -300}});
  write_run(directory / "deep/er/b", {.seed = 0, .returns = {-900, -300, -200}});
  const auto groups = report_of(directory.path());
  ASSERT_EQ(groups.size(), 1u);
  const auto& group = groups[0];
  EXPECT_EQ(group.runs[0].seed, 0);
  EXPECT_EQ(group.runs[1].seed, 1);
  EXPECT_EQ(group.runs[1].commit, "abc1234");  // of the last session
  EXPECT_EQ(group.dataset_return(), -617.0);
  EXPECT_DOUBLE_EQ(group.last()->mean, -250);
  EXPECT_DOUBLE_EQ(group.last()->std, 50);
  EXPECT_DOUBLE_EQ(group.best()->mean, -150);
  EXPECT_DOUBLE_EQ(group.best()->std, 50);
  EXPECT_FALSE(group.normalized(group.last()));

  EXPECT_EQ(report_markdown(groups),
            "| algo | env | dataset | dataset return | seeds | steps | last evaluation | "
            "best evaluation | last by seed | commit |\n"
            "|---|---|---|---|---|---|---|---|---|---|\n"
            "| bcq | Pendulum-v1 | pendulum/medium | -617.0 | 0, 1 | 20 | -250.0 ± 50.0 | "
            "-150.0 ± 50.0 | -200.0, -300.0 | abc1234 |\n");
}

TEST(Report, GroupsByEnvironmentDatasetAndAlgorithm) {
  const TemporaryDirectory directory;
  write_run(directory / "1", {.returns = {-5}});
  write_run(directory / "2", {.algo = "bear", .returns = {-6}, .commit = "def5678"});
  write_run(directory / "3", {.data = "dataset_path: /data/replay.hdf5", .returns = {-7}});
  write_run(directory / "4", {.env_id = "Hopper-v4", .returns = {1600, 800}});
  const auto json = report_json(report_of(directory.path()));
  std::vector<std::string> names;
  for (const auto& group : json["groups"]) {
    names.push_back(group["env_id"].get<std::string>() + " " + group["dataset"].get<std::string>() +
                    " " + group["algo"].get<std::string>());
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "Hopper-v4 pendulum/medium bcq", "Pendulum-v1 pendulum/medium bcq",
                       "Pendulum-v1 pendulum/medium bear", "Pendulum-v1 replay.hdf5 bcq"}));
  // (1600 + 20.272305) / (3234.3 + 20.272305), and half of it and a bit for 800
  EXPECT_NEAR(json["groups"][0]["best_score"]["mean"].get<double>(), 49.7845, 1e-4);
  EXPECT_NEAR(json["groups"][0]["last_score"]["mean"].get<double>(), 25.2037, 1e-4);
  EXPECT_EQ(json["groups"][0]["last_score"]["std"], 0.0);
  EXPECT_TRUE(json["groups"][1]["last_score"].is_null());
  EXPECT_EQ(json["groups"][2]["commits"], Json::array({"def5678"}));
  EXPECT_EQ(json["groups"][3]["runs"][0]["last_return"], -7.0);
}

// The process may be anywhere: in the middle of a row, before its first evaluation.
TEST(Report, RunsThatAreNotFinished) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.returns = {-900, -400}});
  write_all(directory / "a/metrics.jsonl",
            read_all(directory / "a/metrics.jsonl") + R"({"update_count": 20, "eval_retu)");
  auto groups = report_of(directory.path());
  EXPECT_EQ(groups[0].runs[0].update_count, 5);
  EXPECT_EQ(groups[0].runs[0].global_step, 10);
  EXPECT_EQ(groups[0].last()->mean, -400);
  EXPECT_EQ(report_table(groups, "+-").rows[0][5], "10 of 20");

  std::filesystem::remove(directory / "a/metrics.jsonl");
  std::filesystem::remove(directory / "a/metadata.json");
  groups = report_of(directory.path());
  EXPECT_FALSE(groups[0].last());
  EXPECT_EQ(report_table(groups, "+-").rows[0],
            (std::vector<std::string>{"bcq", "Pendulum-v1", "pendulum/medium", "-", "0", "0 of 20",
                                      "-", "-", "-", ""}));
}

TEST(Report, RunsWithoutDataHaveNoReturnOfTheirData) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.algo = "sac", .returns = {-900}, .rows = 0});
  EXPECT_FALSE(report_of(directory.path())[0].dataset_return());
}

TEST(Report, ADirectoryWithoutRunsIsAnError) {
  const TemporaryDirectory directory;
  for (const auto& path : {directory.path(), directory / "nothing"}) {
    try {
      find_runs(posix_file_system(), {path});
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 6);
      EXPECT_EQ(std::string(error.what()),
                path + ": neither a run directory nor one that holds runs");
    }
  }
}

TEST(Report, ARunNamedTwiceCountsOnce) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.returns = {-5}});
  EXPECT_EQ(find_runs(posix_file_system(), {directory.path(), directory / "a", directory / "a/"}),
            std::vector<std::string>{directory / "a"});
}

}  // namespace
}  // namespace rl_training::test_report
