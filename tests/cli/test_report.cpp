#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "tests/cli/tiny_training.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

// Trains with three learning rates and three seeds each, as a new user would.
TEST(Report, LearningRatesAreGroupsAndSeedsAreNot) {
  const TemporaryDirectory directory;
  std::vector<double> means;
  for (const char* rate : {"1e-4", "1e-3", "1e-2"}) {
    const auto trained =
        run(tiny_training(directory / "runs", {"--seeds", "0,1,2", "--quiet", "--set",
                                               std::string("learning_rate=") + rate}));
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    double sum = 0;
    const auto runs = trained.json()["runs"];
    for (const auto& one : runs) {
      sum += one["metrics"]["eval_return_mean"].get<double>();
    }
    means.push_back(sum / 3);
  }
  const auto result = run({"report", directory / "runs", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const auto groups = result.json()["groups"];
  ASSERT_EQ(groups.size(), 3u);
  std::vector<double> reported;
  for (const auto& group : groups) {
    EXPECT_EQ(group["seeds"], 3);
    EXPECT_EQ(group["steps"], 60);
    EXPECT_EQ(group["env"], "Pendulum-v1");
    EXPECT_EQ(group["differing_keys"].size(), 1u);
    const auto rate = std::stod(group["differing_keys"]["learning_rate"].get<std::string>());
    const size_t index = rate < 5e-4 ? 0 : rate < 5e-3 ? 1 : 2;
    EXPECT_NEAR(group["mean"].get<double>(), means[index], 1e-9);
    EXPECT_EQ(group["runs"][0]["state"], "finished");
    reported.push_back(group["iqm"].get<double>());
  }
  EXPECT_TRUE(std::is_sorted(reported.rbegin(), reported.rend()));  // best group first

  const auto table = run({"report", directory / "runs"});
  EXPECT_NE(table.out.find("algo    learning_rate  seeds"), std::string::npos) << table.out;
  const auto board = run({"leaderboard", directory / "runs", "--json"});
  EXPECT_EQ(board.json()["methods"].size(), 3u);
}

TEST(Report, WritesAPageAPlotAndTables) {
  const TemporaryDirectory directory;
  const auto runs = directory / "runs", page = directory / "report.html";
  ASSERT_EQ(run(tiny_training(runs, {"--quiet"})).exit_code, 0);
  const auto plot = directory / "curves.svg";
  const auto result = run({"report", runs, "--output", page, "--plot", plot, "--episode"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "report  " + page + "\nplot    " + plot + "\n");
  EXPECT_TRUE(read_all(page).starts_with("<!doctype html>"));
  EXPECT_NE(read_all(page).find("data:image/gif;base64,"), std::string::npos);
  EXPECT_TRUE(read_all(plot).starts_with("<?xml"));
  EXPECT_TRUE(run({"report", runs, "--format", "csv"}).out.starts_with("env,dataset,algo,"));
  EXPECT_NE(run({"report", runs, "--format", "markdown"}).out.find("| td3\\_bc | 1 |"),
            std::string::npos);
  const auto board = directory / "board.html";
  ASSERT_EQ(run({"leaderboard", runs, "--output", board}).exit_code, 0);
  EXPECT_NE(read_all(board).find("<td class=\"method\">td3_bc</td>"), std::string::npos);
}

TEST(Report, WatchesARunUntilItIsDone) {
  const TemporaryDirectory directory;
  const auto trained = run(tiny_training(directory / "runs", {"--quiet"}));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto run_dir = trained.json()["run_dir"].get<std::string>();
  const auto page = directory / "report.html";
  // No run is training, so the page is written once.
  EXPECT_EQ(run({"report", run_dir, "--output", page, "--watch"}).exit_code, 0);
  EXPECT_EQ(read_all(page).find("http-equiv=\"refresh\""), std::string::npos);

  const int lock = ::open((run_dir + "/LOCK").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
  Program watching({"report", run_dir, "--output", page, "--watch"});
  EXPECT_TRUE(becomes_true(
      [&] { return read_all(page).find("http-equiv=\"refresh\"") != std::string::npos; }));
  EXPECT_FALSE(watching.ended());
  ::close(lock);
  EXPECT_EQ(watching.wait().exit_code, 0);
  EXPECT_EQ(read_all(page).find("http-equiv=\"refresh\""), std::string::npos);
}

TEST(Report, TellsHowARunEnded) {
  const TemporaryDirectory directory;
  const auto trained =
      run(tiny_training(directory / "runs", {"--quiet", "--set", "max_updates=20"}));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto metadata =
      Json::parse(read_all(trained.json()["run_dir"].get<std::string>() + "/metadata.json"));
  EXPECT_EQ(metadata["sessions"][0]["stop_reason"], "max_updates");
  const auto group = run({"report", directory / "runs", "--json"}).json()["groups"][0];
  EXPECT_EQ(group["runs"][0]["state"], "finished");
}

TEST(Report, SaysWhichRunOfASeedCounts) {
  const TemporaryDirectory directory;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(run(tiny_training(directory / "runs", {"--set", "total_timesteps=20"})).exit_code, 0);
  }
  const auto result = run({"report", directory / "runs", "--json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.err.starts_with("warning: each seed counts once; for seed 0, ")) << result.err;
  EXPECT_EQ(result.json()["groups"][0]["seeds"], 1);
}

TEST(Report, BadCallsAreOneErrorLine) {
  const TemporaryDirectory directory;
  ASSERT_EQ(
      run(tiny_training(directory / "runs", {"--quiet", "--set", "total_timesteps=20"})).exit_code,
      0);
  const auto fails = [&](const std::vector<std::string>& more, int code) {
    std::vector<std::string> arguments = {"report", directory / "runs"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = run(arguments);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_TRUE(result.one_error_line()) << result.err;
  };
  fails({"--output", "report.pdf"}, 2);
  fails({"--plot", "curves.pdf"}, 2);
  fails({"--watch"}, 2);
  fails({"--filter", "learning_rate"}, 2);
  fails({"--filter", "algo=sac"}, 2);
  fails({"--by", "nonsense"}, 2);
  fails({"--best", "--at", "5"}, 2);
  fails({"--format", "pdf"}, 2);
  fails({"nowhere"}, 6);
}

}  // namespace
}  // namespace rl_training
