#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rl_training/report/tables.h"
#include "rl_training/util/error.h"
#include "tests/report/written_run.h"

namespace rl_training {
namespace {

std::vector<std::string> labels_of(const Report& report) {
  std::vector<std::string> labels;
  for (const auto& task : report.tasks) {
    for (const auto& group : task.groups) labels.push_back(group.label());
  }
  return labels;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// There are nine runs: three learning rates with three seeds each. They form three groups.
TEST(Groups, RunsThatDifferInMoreThanTheirSeedStayApart) {
  const TemporaryDirectory directory;
  const double rates[] = {0.001, 0.0003, 0.0001};
  for (int i = 0; i < 9; ++i) {
    WrittenRun run{.seed = i % 3};
    run.returns = {-1500, -900.0 + 100 * (i / 3) + 10 * (i % 3)};
    run.more_config = fmt::format("  learning_rate: {}\n", rates[i / 3]);
    write_run(directory / fmt::format("run{}", i), run);
  }
  const auto report = report_of(directory.path());
  ASSERT_EQ(report.tasks.size(), 1u);
  EXPECT_EQ(labels_of(report),
            (std::vector<std::string>{"bcq learning_rate=0.0001", "bcq learning_rate=0.0003",
                                      "bcq learning_rate=0.001"}));
  const auto& groups = report.tasks[0].groups;
  EXPECT_DOUBLE_EQ(groups[0].figures->mean, -690);
  EXPECT_DOUBLE_EQ(groups[1].figures->mean, -790);
  EXPECT_DOUBLE_EQ(groups[2].figures->mean, -890);
  EXPECT_EQ(groups[0].figures->interval->low, -700);
  EXPECT_EQ(groups[0].figures->interval->high, -680);
  EXPECT_EQ(groups[1].best_wins, 1.0);
  EXPECT_FALSE(groups[0].best_wins);
  EXPECT_NE(groups[0].config_hash, groups[1].config_hash);
  EXPECT_TRUE(report.notes.empty());
}

TEST(Groups, WhatDecidesNoValueDoesNotPartRuns) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.seed = 0, .returns = {-9, -5}});
  write_run(directory / "b", {.seed = 1, .returns = {-9, -7}});
  auto config = read_all(directory / "b/config.yaml");
  config.replace(config.find("threads: 1"), 10, "threads: 4");
  config.replace(config.find("log_interval: 5"), 15, "log_interval: 7");
  write_all(directory / "b/config.yaml", config + "output_dir: elsewhere\n");
  EXPECT_EQ(report_of(directory.path()).tasks[0].groups.size(), 1u);
  // With early stopping, log_interval separates groups, because it affects the step at which a run
  // stops.
  for (const char* name : {"a", "b"}) {
    auto text = read_all(directory / (std::string(name) + "/config.yaml"));
    text.replace(text.find("early_stopping: null"), 20, "early_stopping: {patience: 3}");
    write_all(directory / (std::string(name) + "/config.yaml"), text);
  }
  EXPECT_EQ(report_of(directory.path()).tasks[0].groups.size(), 2u);
}

TEST(Groups, OtherDataIsAnotherTask) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.returns = {-5}});
  write_run(directory / "b", {.seed = 1, .returns = {-6}, .fingerprint = "beef"});
  write_run(directory / "c", {.env_id = "Hopper-v4", .returns = {1600}});
  const auto report = report_of(directory.path());
  ASSERT_EQ(report.tasks.size(), 3u);
  EXPECT_EQ(report.tasks[0].env_id, "Hopper-v4");
  EXPECT_EQ(report.tasks[0].name(), "Hopper-v4, pendulum/medium");
  EXPECT_EQ(report.tasks[1].name(), "Pendulum-v1, pendulum/medium beef");
  EXPECT_EQ(report.tasks[2].name(), "Pendulum-v1, pendulum/medium f00d");
  // The normalised score is 100 * (1600 + 20.272305) / (3234.3 + 20.272305).
  EXPECT_NEAR(*report.tasks[0].normalized(1600), 49.7845, 1e-4);
  EXPECT_FALSE(report.tasks[1].normalized(-5));
}

TEST(Groups, TheSameDataUnderAnotherNameIsTheSameTask) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.seed = 0, .returns = {-5}, .dataset_id = "z/copy"});
  write_run(directory / "b", {.seed = 1, .returns = {-7}});
  auto config = read_all(directory / "b/config.yaml");
  config.replace(config.find("dataset_kind: recipe"), 20, "dataset_kind: hdf5");
  write_all(directory / "b/config.yaml", config);
  const auto report = report_of(directory.path());
  ASSERT_EQ(report.tasks.size(), 1u);
  EXPECT_EQ(report.tasks[0].name(), "Pendulum-v1, pendulum/medium");
  ASSERT_EQ(report.tasks[0].groups.size(), 1u);
  EXPECT_DOUBLE_EQ(report.tasks[0].groups[0].figures->mean, -6);
}

// Tables show shortened values of config keys; data files contain the full values.
TEST(Groups, ValuesOfKeysAreShortenedOnlyForDisplay) {
  const TemporaryDirectory directory;
  const char* const rates[] = {"0.12345678", "0.12345999", "0.5"};
  for (int i = 0; i < 3; ++i) {
    write_run(directory / std::to_string(i),
              {.returns = {-1.0 - i}, .more_config = fmt::format("  rate: {}\n", rates[i])});
  }
  const auto report = report_of(directory.path());
  EXPECT_EQ(labels_of(report),
            (std::vector<std::string>{"bcq rate=0.123457", "bcq rate=0.12346", "bcq rate=0.5"}));
  EXPECT_EQ(report_json(report)["groups"][0]["differing_keys"]["rate"], "0.12345678");
}

TEST(Groups, ASeedCountsOnce) {
  const TemporaryDirectory directory;
  write_run(directory / "old", {.returns = {-9, -5, -4}, .started = "2025-01-01T00:00:00Z"});
  write_run(directory / "new", {.returns = {-9, -5, -3}, .started = "2025-02-01T00:00:00Z"});
  write_run(directory / "cut", {.returns = {-9}, .started = "2025-03-01T00:00:00Z"});
  const auto report = report_of(directory.path());
  ASSERT_EQ(report.tasks[0].groups[0].runs.size(), 1u);
  EXPECT_EQ(report.tasks[0].groups[0].figures->mean, -3);  // the newest finished run
  ASSERT_EQ(report.notes.size(), 2u);
  EXPECT_EQ(report.notes[0], "warning: each seed counts once; for seed 0, " + (directory / "old") +
                                 " is ignored in favour of " + (directory / "new"));
}

TEST(Groups, LastBestAndAt) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.seed = 0, .returns = {-9, -1, -5}});
  write_run(directory / "b", {.seed = 1, .returns = {-9, -8}});  // stopped at step 10 of 20
  const auto mean = [&](EvaluationChoice choice) {
    return report_of(directory.path(), {choice, {}, {}}).tasks[0].groups[0].figures->mean;
  };
  using Pick = EvaluationChoice::Pick;
  EXPECT_DOUBLE_EQ(mean({Pick::last}), -6.5);
  EXPECT_DOUBLE_EQ(mean({Pick::best}), -4.5);
  EXPECT_DOUBLE_EQ(mean({Pick::at, 0}), -9);
  EXPECT_DOUBLE_EQ(mean({Pick::at, 10}), -4.5);
  EXPECT_DOUBLE_EQ(mean({Pick::at, 19}), -1);  // the other run did not reach this step
  const auto group = report_of(directory.path()).tasks[0].groups[0];
  EXPECT_EQ(group.count(RunState::unfinished), 1u);
  EXPECT_EQ(group.count(RunState::finished), 1u);
  EXPECT_EQ(steps_text(group), "10 of 20");
}

// If there was no evaluation at the requested step, the report names the step of the evaluation
// that it shows.
TEST(Groups, AStepWithoutAnEvaluationNamesTheOneThatIsUsed) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.seed = 0, .returns = {-9, -1, -5}});
  const auto at = [&](int64_t step) {
    return choice_name(report_of(directory.path(), {{EvaluationChoice::Pick::at, step}, {}, {}}));
  };
  EXPECT_EQ(at(10), "evaluation at step 10");
  EXPECT_EQ(at(19), "last evaluation up to step 19 (step 10)");
  EXPECT_EQ(
      message_of([&] { at(21); }),
      "--at: no run reached this step (expected at most 20, where the longest ended, got 21)");
  write_all(directory / "a/metrics.jsonl",
            R"({"global_step":12,"update_count":12,"eval_return_mean":-9})"
            "\n"
            R"({"global_step":20,"update_count":20})"
            "\n");
  write_run(directory / "b", {.seed = 1, .returns = {-9, -1, -5}});
  EXPECT_EQ(at(19), "last evaluation up to step 19 (steps 10 to 12)");
}

// The length of a run decides which of its evaluations is the last, so runs of different lengths
// are separate groups. The length does not affect the evaluation at step 10, so with `--at 10` runs
// of both lengths form one group.
TEST(Groups, LengthsStayApartUnlessAStepIsAskedFor) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.seed = 0, .returns = {-9, -5}, .length = 10});
  write_run(directory / "b", {.seed = 1, .returns = {-9, -6, -3}, .length = 20});
  EXPECT_EQ(labels_of(report_of(directory.path())),
            (std::vector<std::string>{"bcq total_timesteps=20", "bcq total_timesteps=10"}));
  const ReportOptions at{{EvaluationChoice::Pick::at, 10}, {}, {}};
  const auto report = report_of(directory.path(), at);
  ASSERT_EQ(report.tasks[0].groups.size(), 1u);
  EXPECT_DOUBLE_EQ(report.tasks[0].groups[0].figures->mean, -5.5);
}

// The weight of ReBRAC's cloning term declines over the online phase, so the length of that phase
// affects every online evaluation.
TEST(Groups, OnlineLengthsOfRebracStayApart) {
  const TemporaryDirectory directory;
  const auto write = [&](const std::string& algo, int64_t online) {
    const auto path = directory / fmt::format("{}{}", algo, online);
    write_run(path, {.algo = algo, .returns = {-9, -6, -3}});
    auto config = read_all(path + "/config.yaml");
    const std::string none = "online: null";
    config.replace(config.find(none), none.size(),
                   fmt::format("online:\n  total_timesteps: {}", online));
    write_all(path + "/config.yaml", config);
  };
  for (const char* algo : {"rebrac", "td3_bc"}) {
    for (const int64_t online : {100, 200}) write(algo, online);
  }
  const ReportOptions at{{EvaluationChoice::Pick::at, 10}, {}, {}};
  const auto labels = labels_of(report_of(directory.path(), at));
  EXPECT_EQ(std::set<std::string>(labels.begin(), labels.end()),
            (std::set<std::string>{"rebrac online.total_timesteps=100",
                                   "rebrac online.total_timesteps=200", "td3_bc"}));
}

TEST(Groups, ByAKeyAndFilters) {
  const TemporaryDirectory directory;
  int number = 0;
  for (const char* rate : {"0.001", "0.0003"}) {
    for (const char* size : {"64", "256"}) {
      WrittenRun run{.returns = {-10.0 + number}};
      run.more_config = fmt::format("  learning_rate: {}\n  batch_size: {}\n", rate, size);
      write_run(directory / fmt::format("run{}", number++), run);
    }
  }
  const auto by = report_of(directory.path(), {{}, {"learning_rate"}, {}});
  EXPECT_EQ(labels_of(by),
            (std::vector<std::string>{"bcq learning_rate=0.0003", "bcq learning_rate=0.001"}));
  EXPECT_DOUBLE_EQ(by.tasks[0].groups[0].figures->mean, -7.5);  // seed 0 of both batch sizes
  EXPECT_EQ(by.notes,
            std::vector<std::string>{"warning: --by merges runs that differ in batch_size"});
  const auto filtered =
      report_of(directory.path(), {{}, {}, {"learning_rate=3e-4", "batch_size=64"}});
  ASSERT_EQ(filtered.tasks[0].groups.size(), 1u);
  EXPECT_DOUBLE_EQ(filtered.tasks[0].groups[0].figures->mean, -8);

  const auto with = [&](const ReportOptions& options) {
    return message_of([&] { report_of(directory.path(), options); });
  };
  EXPECT_EQ(with({{}, {"learnin_rate"}, {}}),
            "--by: no run has a key `learnin_rate`; did you mean `learning_rate`?");
  EXPECT_EQ(with({{}, {}, {"batch_size=7"}}),
            "--filter: no run has batch_size=7 (they have 256, 64)");
  EXPECT_EQ(with({{}, {}, {"batch_size"}}),
            "--filter: not a condition (expected key=value, got batch_size)");
}

// A run with an offline and an online phase has two kinds of steps: updates and environment steps.
TEST(Groups, OfflineAndOnlineStepsStayApart) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.returns = {}});
  auto config = read_all(directory / "a/config.yaml");
  config.replace(config.find("online: null"), 12, "online:\n  total_timesteps: 30");
  write_all(directory / "a/config.yaml", config);
  write_all(directory / "a/metrics.jsonl",
            R"({"global_step":0,"update_count":0,"eval_return_mean":-9})"
            "\n"
            R"({"global_step":0,"update_count":20,"eval_return_mean":-8,"buffer_size":0})"
            "\n"
            R"({"global_step":15,"update_count":35,"eval_return_mean":-7,"buffer_size":15})"
            "\n"
            R"({"global_step":30,"update_count":50,"eval_return_mean":-6,"buffer_size":30})"
            "\n");
  const auto report = report_of(directory.path());
  const auto& group = report.tasks[0].groups[0];
  EXPECT_EQ(group.runs[0].state, RunState::finished);
  EXPECT_EQ(steps_text(group), "20+30");
  const auto steps = [&](bool online) {
    std::vector<int64_t> list;
    for (const auto& point : learning_curve(group, online)) list.push_back(point.step);
    return list;
  };
  EXPECT_EQ(steps(false), (std::vector<int64_t>{0, 20}));
  EXPECT_EQ(steps(true), (std::vector<int64_t>{15, 30}));
}

TEST(Groups, StatesOfRuns) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.seed = 0, .returns = {-9, -5}, .stop_reason = "early_stopping"});
  write_run(directory / "b", {.seed = 1, .returns = {-9}, .stop_reason = "diverged"});
  write_run(directory / "c", {.seed = 2, .returns = {-9}, .stop_reason = "signal", .sessions = 2});
  write_run(directory / "d", {.seed = 3, .returns = {-9}, .stop_reason = "paused"});
  const auto group = report_of(directory.path()).tasks[0].groups[0];
  EXPECT_EQ(group.runs[0].state, RunState::finished);
  EXPECT_EQ(group.runs[3].state, RunState::paused);
  EXPECT_EQ(group.runs[1].state, RunState::failed);
  EXPECT_EQ(group.runs[2].state, RunState::unfinished);
  EXPECT_EQ(group.resumed(), 1u);
  const auto table = group_table(report_of(directory.path()).tasks[0]);
  EXPECT_EQ(table.back().cells[0], "1 paused, 1 unfinished, 1 failed, 1 resumed");
}

TEST(Groups, CurvesAreThinnedEvenlyAndKeepTheirEnds) {
  const TemporaryDirectory directory;
  std::vector<double> returns(1001);
  for (size_t i = 0; i < returns.size(); ++i) returns[i] = static_cast<double>(i);
  write_run(directory / "a", {.seed = 0, .returns = returns, .length = 10000});
  for (auto& value : returns) value += 2;
  write_run(directory / "b", {.seed = 1, .returns = returns, .length = 10000});
  const auto curve = learning_curve(report_of(directory.path()).tasks[0].groups[0], false, 101);
  ASSERT_EQ(curve.size(), 101u);
  EXPECT_EQ(curve.front().step, 0);
  EXPECT_EQ(curve[50].step, 5000);
  EXPECT_DOUBLE_EQ(curve[50].iqm, 501);
  EXPECT_DOUBLE_EQ(curve[50].low, 500);
  EXPECT_DOUBLE_EQ(curve[50].high, 502);
  EXPECT_EQ(curve.back().step, 10000);
  EXPECT_EQ(curve.back().runs, 2u);
}

}  // namespace
}  // namespace rl_training
