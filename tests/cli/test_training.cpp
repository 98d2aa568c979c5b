#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "tests/cli/tiny_training.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

TEST(Training, ReportsAndGoesOn) {
  const TemporaryDirectory directory;
  const auto trained = run(tiny_training(directory / "runs"));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto report = trained.json();
  const auto run_dir = report["run_dir"].get<std::string>();
  EXPECT_EQ(run_dir, only_run_in(directory / "runs"));
  EXPECT_EQ(report["checkpoint"], run_dir + "/checkpoints/step-000000060");
  EXPECT_EQ(report["update_count"], 60);
  EXPECT_EQ(report["global_step"], 60);
  EXPECT_EQ(report["stop_reason"], "total_timesteps");
  EXPECT_TRUE(report["metrics"]["critic_loss"].is_number());
  EXPECT_TRUE(report["metrics"]["eval_return_mean"].is_number());
  EXPECT_EQ(report["metrics_before"]["update_count"], 0);
  EXPECT_EQ(report["dataset"]["rows"], 500);
  // If stderr is not a terminal, each evaluation prints one line.
  EXPECT_NE(trained.err.find("step 0/60  eval return -"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("step 60/60  "), std::string::npos) << trained.err;
  EXPECT_EQ(trained.err.find('\r'), std::string::npos);

  // Resuming a finished run prints the same result. Without --json, the result is printed as text.
  const auto again = run({"resume", run_dir, "--quiet"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.err, "");
  for (const char* part :
       {"run directory", "dataset return", "before training", "best evaluation", "last evaluation",
        "checkpoint       checkpoints/step-000000060\n", "(checkpoints/step-000000060)",
        "$RUN/checkpoints/best --episodes 100", " report $RUN ", "60 (stopped by total_timesteps)",
        " resume $RUN ", " evaluate ", " predict ", "tensorboard --logdir $RUN/tensorboard"}) {
    EXPECT_NE(again.out.find(part), std::string::npos) << part << "\n" << again.out;
  }

  EXPECT_NE(again.out.find("next:\n  RUN=" + run_dir + "\n"), std::string::npos) << again.out;

  const auto more = run({"resume", run_dir, "--total-timesteps", "8e1", "--json"});
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(more.json()["run_dir"], run_dir);
  EXPECT_EQ(more.json()["update_count"], 80);
  EXPECT_EQ(more.json()["metrics_before"], report["metrics_before"]);
  EXPECT_EQ(more.json()["checkpoint"], run_dir + "/checkpoints/step-000000080");
}

// A finished run cannot be shortened, because its config would then state a length that is not the
// length of the run.
TEST(Training, AFinishedRunStaysAsItIs) {
  const TemporaryDirectory directory;
  const auto run_dir = run(tiny_training(directory / "runs")).json()["run_dir"].get<std::string>();
  const auto config = read_all(run_dir + "/config.yaml");
  const auto shorter = run({"resume", run_dir, "--total-timesteps", "40"});
  EXPECT_EQ(shorter.exit_code, 2);
  EXPECT_EQ(shorter.err,
            "error: --total-timesteps: shorter than the run already is (expected at least 60, got "
            "40)\n");
  EXPECT_EQ(read_all(run_dir + "/config.yaml"), config);
  EXPECT_EQ(run({"resume", run_dir, "--quiet"}).exit_code, 0);
  EXPECT_EQ(Json::parse(read_all(run_dir + "/metadata.json"))["sessions"].size(), 1u);

  const auto parent = run({"resume", directory / "runs"});
  EXPECT_EQ(parent.exit_code, 4);
  EXPECT_NE(
      parent.err.find("expected one of those in it: " + fs::path(run_dir).filename().string()),
      std::string::npos)
      << parent.err;
}

// The summary prints a command that extends the run.
TEST(Training, TheNextCommandFitsTheRun) {
  const TemporaryDirectory directory;
  const auto hint_of = [&](const char* name, const std::vector<std::string>& more) -> std::string {
    auto arguments = tiny_training(directory / name, more);
    std::erase(arguments, "--json");
    const auto result = run(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const auto at = result.out.find(" resume ");
    if (at == std::string::npos) return "";
    const auto line = result.out.substr(at, result.out.find('\n', at) - at);
    return line.substr(line.find("--"));
  };
  EXPECT_EQ(hint_of("offline", {}), "--total-timesteps 120");
  EXPECT_EQ(hint_of("online", {"--set", "online=30"}), "--online 60");
  // max_updates has ended this run, so it cannot be extended.
  EXPECT_EQ(hint_of("limited", {"--set", "max_updates=40"}), "");
}

TEST(Training, OptionsAreNamedInTheirErrors) {
  const TemporaryDirectory directory;
  const auto error_of = [&](const char* option, const char* value) {
    const auto result = run(tiny_training(directory / "runs", {option, value}));
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_TRUE(error_of("--total-timesteps", "0").starts_with("error: --total-timesteps: "));
  EXPECT_TRUE(error_of("--threads", "-1").starts_with("error: --threads: "));
  EXPECT_TRUE(error_of("--seeds", "").starts_with("error: --seeds: no seeds "));
}

TEST(Training, AGoalTaskReportsItsSuccess) {
  const TemporaryDirectory directory;
  const auto made =
      run({"train", "--config", "sac/pointgoal-her", "--output-dir", directory / "runs",
           "--total-timesteps", "100", "--set", "hidden_sizes=[8]", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto report = run({"evaluate", made.json()["run_dir"], "--episodes", "3", "--json"}).json();
  EXPECT_GE(report["success_rate"], 0.0);
  EXPECT_LE(report["success_rate"], 1.0);
  const auto text = run({"evaluate", made.json()["run_dir"], "--episodes", "3"}).out;
  EXPECT_NE(text.find("reached the goal"), std::string::npos) << text;
}

TEST(Training, SeveralSeedsMakeSeveralRuns) {
  const TemporaryDirectory directory;
  const auto result =
      run(tiny_training(directory / "runs", {"--seeds", "3,5", "--threads", "1", "--quiet"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const auto runs = result.json()["runs"];
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_NE(runs[0]["run_dir"].get<std::string>().find("__seed3__"), std::string::npos);
  EXPECT_NE(runs[1]["run_dir"].get<std::string>().find("__seed5__"), std::string::npos);
  EXPECT_NE(runs[0]["metrics"], runs[1]["metrics"]);
}

TEST(Training, SeveralSeedsEndWithTheirComparison) {
  const TemporaryDirectory directory;
  auto arguments = tiny_training(directory / "runs", {"--seeds", "3,5", "--quiet"});
  std::erase(arguments, "--json");
  const auto result = run(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out.find("next:"), std::string::npos) << result.out;
  const auto table = result.out.find("algo    seeds  updates");
  ASSERT_NE(table, std::string::npos) << result.out;
  EXPECT_NE(result.out.find("\ntd3_bc      2       60", table), std::string::npos) << result.out;
  EXPECT_LT(result.out.rfind("last evaluation  "), table) << result.out;
}

// The last checkpoint may lie between two evaluations. The summary then names no checkpoint for the
// last evaluation.
TEST(Training, TheLastEvaluationNamesOnlyItsOwnCheckpoint) {
  const TemporaryDirectory directory;
  auto arguments =
      tiny_training(directory / "runs", {"--pause-at", "25", "--set", "log_interval=10"});
  std::erase(arguments, "--json");
  const auto result = run(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find(" checkpoints/step-000000030\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find(" at update 20\n"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("(checkpoints/step-000000030)"), std::string::npos) << result.out;
}

TEST(Training, WithoutEvaluationsEachTenthIsALine) {
  const TemporaryDirectory directory;
  const auto result = run(tiny_training(directory / "runs", {"--set", "eval_episodes=0"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 11) << result.err;
  EXPECT_NE(result.err.find("\nstep 6/60  "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("  critic_loss "), std::string::npos) << result.err;
}

TEST(Training, DrawsAViewOnATerminalAndTakesItAway) {
  ::setenv("TERM", "xterm", 1);
  ::setenv("LC_ALL", "C", 1);
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "no pseudo-terminal here (is /dev/pts mounted?)";
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  const TemporaryDirectory directory;
  Program::Input input;
  input.stderr_file = input.stdout_file = ::ptsname(terminal);
  const int keep_open = ::open(input.stderr_file.c_str(), O_RDWR | O_NOCTTY);
  const auto result = run(tiny_training(directory / "runs"), input);
  EXPECT_EQ(result.exit_code, 0);
  std::string shown;
  char text[4096];
  pollfd readable{terminal, POLLIN, 0};
  while (::poll(&readable, 1, 0) == 1 && (readable.revents & POLLIN) != 0) {
    const auto count = ::read(terminal, text, sizeof(text));
    ASSERT_GT(count, 0);
    shown.append(text, static_cast<size_t>(count));
  }
  EXPECT_NE(shown.find("%  [####"), std::string::npos) << shown;
  EXPECT_NE(shown.find("/60  "), std::string::npos) << shown;
  EXPECT_NE(shown.find("critic_loss "), std::string::npos) << shown;
  // Lines about evaluations remain above the progress display. The display is erased before the
  // result is printed.
  EXPECT_NE(shown.find("\x1b[Jstep 40/60  "), std::string::npos) << shown;
  EXPECT_NE(shown.find("\x1b[J{\"run_dir\":"), std::string::npos) << shown;
  ::close(keep_open);
  ::close(terminal);
}

std::vector<std::string> rare_checkpoints(const std::string& output_dir,
                                          const std::string& updates) {
  return tiny_training(output_dir,
                       {"--total-timesteps", updates, "--set", "checkpoint_interval=1e9", "--set",
                        "eval_interval=1e9", "--set", "log_interval=10"});
}

// Waits until a run has written some rows. Returns the directory of the run.
std::string wait_for_rows(Program& program, const std::string& output_dir) {
  std::string run_dir;
  EXPECT_TRUE(becomes_true([&] {
    run_dir = only_run_in(output_dir);
    const auto rows = run_dir.empty() ? "" : read_all(run_dir + "/metrics.jsonl");
    return program.ended() || std::count(rows.begin(), rows.end(), '\n') >= 3;
  }));
  return run_dir;
}

void expect_stopped(const ProgramResult& stopped, int signal) {
  EXPECT_EQ(stopped.exit_code, 128 + signal) << stopped.err;
  const auto report = stopped.json();
  EXPECT_EQ(report["stop_reason"], "signal");
  const auto checkpoint = report["checkpoint"].get<std::string>();
  EXPECT_TRUE(fs::exists(checkpoint + "/manifest.json"));
  EXPECT_NE(stopped.err.find("saved " + checkpoint), std::string::npos) << stopped.err;
}

TEST(Training, DivergenceStopsAndKeepsTheLastGoodCheckpoint) {
  const TemporaryDirectory directory;
  const auto result =
      run(tiny_training(directory / "runs", {"--set", "learning_rate=1e30", "--set",
                                             "log_interval=1", "--set", "checkpoint_interval=1"}));
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_EQ(result.json()["error"]["code"], "diverged");
  EXPECT_NE(result.err.find("\nerror: "), std::string::npos) << result.err;
  const auto action = run({"predict", only_run_in(directory / "runs"), "--obs", "[1, 0, 0]"});
  EXPECT_EQ(action.exit_code, 0) << action.err;
  EXPECT_EQ(action.err, "");
}

}  // namespace
}  // namespace rl_training
