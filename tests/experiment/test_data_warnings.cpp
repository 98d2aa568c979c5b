#include <gtest/gtest.h>

#include <filesystem>

#include "rl_training/data/inspect.h"
#include "rl_training/experiment/run.h"
#include "tests/experiment/logged_machine.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_data_warnings {
namespace {

namespace fs = std::filesystem;

class DataWarnings : public testing::Test {
 protected:
  DataWarnings() {
    // One episode whose second observation column never changes. The end of the episode is not
    // marked.
    DatasetBuilder builder(2, 1);
    builder.begin_episode(std::array{0.0f, 7.0f});
    for (int step = 1; step < 40; ++step) {
      const float value = static_cast<float>(step % 5);
      builder.add(std::array{value / 5}, value, std::array{value, 7.0f}, false, false);
    }
    save_npz_dataset(std::move(builder).build(), log_, nullptr);
  }
  std::unique_ptr<rl_training::Run> start(bool strict = false) {
    RunContext context;
    context.warn = [this](const std::string& line) { told_.push_back(line); };
    context.strict_data = strict;
    return rl_training::Run::start(
        machine_config(log_, directory_ / "runs", ", action_low: 0, action_high: 1"), context);
  }

  TemporaryDirectory directory_;
  std::string log_ = directory_ / "log.npz";
  std::vector<std::string> told_;
};

TEST_F(DataWarnings, AreToldAndRecorded) {
  const auto run = start();
  const auto found = Json::parse(read_all(run->path() + "/metadata.json"))["dataset"]["warnings"];
  ASSERT_EQ(told_.size(), found.size());
  ASSERT_GE(told_.size(), 2u);
  bool constant = false;
  for (size_t i = 0; i < told_.size(); ++i) {
    EXPECT_EQ(told_[i], "warning: " + found[i].get<std::string>());
    constant = constant || found[i] == log_ +
                                           ": constant_observation: observation columns that "
                                           "never change: 1";
  }
  EXPECT_TRUE(constant) << found.dump(2);
  // The run reports all warnings of `dataset inspect`.
  const Space bounds = Space::box({0}, {1});
  DatasetReadOptions read;
  read.bounds = &bounds;
  EXPECT_EQ(inspect_dataset("npz", log_, read).warnings.size(), found.size());
}

TEST_F(DataWarnings, StopAStrictRunBeforeItBegins) {
  try {
    start(/*strict=*/true);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_TRUE(std::string(error.what()).starts_with("--strict-data: the dataset has "))
        << error.what();
  }
  EXPECT_GE(told_.size(), 2u);
  EXPECT_FALSE(fs::exists(directory_ / "runs"));
}

TEST_F(DataWarnings, NoneOfGoodData) {
  write_machine_log(log_);
  RunContext context;
  context.strict_data = true;
  const auto run = rl_training::Run::start(
      machine_config(log_, directory_ / "runs", ", action_low: [-3, 0], action_high: [1, 10]"),
      context);
  EXPECT_EQ(Json::parse(read_all(run->path() + "/metadata.json"))["dataset"]["warnings"],
            Json::array());
}

}  // namespace
}  // namespace rl_training::test_data_warnings
