// Tests signals and closed pipes during training.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/tiny_training.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

TEST(Training, AStoppedRunThatGoesOnEqualsOneThatWasNeverStopped) {
  const TemporaryDirectory directory;
  Program program(rare_checkpoints(directory / "stopped", "1e9"));
  const auto run_dir = wait_for_rows(program, directory / "stopped");

  // No other process may resume the run while the program trains it.
  const auto second = run({"resume", run_dir});
  EXPECT_EQ(second.exit_code, 6) << second.err;
  EXPECT_NE(second.err.find("pid " + std::to_string(program.pid()) + " "), std::string::npos)
      << second.err;

  program.send(SIGTERM);
  const auto stopped = program.wait();
  expect_stopped(stopped, SIGTERM);

  const auto end = stopped.json()["update_count"].get<int64_t>() + 37;
  const auto resumed = run({"resume", run_dir, "--total-timesteps", std::to_string(end), "--json"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.json()["update_count"], end);

  const auto straight = run(rare_checkpoints(directory / "straight", std::to_string(end)));
  ASSERT_EQ(straight.exit_code, 0) << straight.err;
  const auto straight_dir = straight.json()["run_dir"].get<std::string>();
  EXPECT_EQ(read_all(run_dir + "/metrics.jsonl"), read_all(straight_dir + "/metrics.jsonl"));
  EXPECT_NE(tensors_at(run_dir, end), "");
  EXPECT_TRUE(tensors_at(run_dir, end) == tensors_at(straight_dir, end));
}

TEST(Training, InterruptSavesToo) {
  const TemporaryDirectory directory;
  Program program(rare_checkpoints(directory / "runs", "1e9"));
  wait_for_rows(program, directory / "runs");
  program.send(SIGINT);
  expect_stopped(program.wait(), SIGINT);
}

// Returns whether the signal is still pending.
bool signal_waits(pid_t pid, int signal) {
  std::istringstream status(read_all("/proc/" + std::to_string(pid) + "/status"));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("ShdPnd:")) continue;
    return (std::stoull(line.substr(8), nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return false;
}

// A pipe that is already full, so that a program that prints to it blocks.
class FullPipe {
 public:
  explicit FullPipe(const std::string& path) : path_(path) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    end_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK);
    const std::vector<char> page(4096);
    while (::write(end_, page.data(), page.size()) > 0) {
    }
  }
  ~FullPipe() { ::close(end_); }
  const std::string& path() const { return path_; }
  void empty() const {
    std::vector<char> page(4096);
    while (::read(end_, page.data(), page.size()) > 0) {
    }
  }

 private:
  std::string path_;
  int end_ = -1;
};

// The signal arrives when all runs are complete and the program is blocked while it prints the
// result.
TEST(Training, ASignalAfterTheLastUpdateIsNoFailure) {
  const TemporaryDirectory directory;
  for (const int runs : {1, 2}) {  // one run, and several runs
    const FullPipe out(directory / ("out" + std::to_string(runs)));
    const auto output_dir = directory / ("runs" + std::to_string(runs));
    Program::Input input;
    input.stdout_file = out.path();
    Program program(tiny_training(output_dir, {"--seeds", runs == 1 ? "1" : "1,2"}), input);
    const auto ended_runs = [&] {
      int count = 0;
      if (!fs::exists(output_dir)) return 0;
      for (const auto& entry : fs::directory_iterator(output_dir)) {
        const auto metadata = read_all((entry.path() / "metadata.json").string());
        count += metadata.find("\"stop_reason\": \"total_timesteps\"") != std::string::npos ? 1 : 0;
      }
      return count;
    };
    ASSERT_TRUE(becomes_true([&] { return program.ended() || ended_runs() == runs; }));
    ASSERT_FALSE(program.ended());
    program.send(SIGTERM);
    ASSERT_TRUE(becomes_true([&] { return !signal_waits(program.pid(), SIGTERM); }));
    out.empty();
    const auto result = program.wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

// SIGUSR1 is the warning signal of batch systems. SIGHUP is sent when a terminal closes.
TEST(Training, OtherSignalsSaveAndTrainingContinues) {
  const TemporaryDirectory directory;
  Program program(rare_checkpoints(directory / "runs", "1e9"));
  const auto checkpoints = wait_for_rows(program, directory / "runs") + "/checkpoints";
  const auto saved = [&] {
    int64_t count = 0;
    if (!fs::exists(checkpoints)) return count;
    for (const auto& entry : fs::directory_iterator(checkpoints)) {
      count += entry.path().filename().string().starts_with("step-") ? 1 : 0;
    }
    return count;
  };
  ASSERT_EQ(saved(), 0);
  for (const int signal : {SIGUSR1, SIGHUP}) {
    const auto before = saved();
    program.send(signal);
    EXPECT_TRUE(becomes_true([&] { return program.ended() || saved() == before + 1; }));
    EXPECT_FALSE(program.ended());
  }
  program.send(SIGTERM);
  expect_stopped(program.wait(), SIGTERM);
}

// Signals have their default effect in commands that do not train.
TEST(Training, ASignalEndsOtherCommands) {
  const TemporaryDirectory directory;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto trained = run(tiny_training(directory / "runs"));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    ::signal(signal, SIG_DFL);  // a background job of a script inherits an ignored SIGINT
    Program::Input input;
    input.stdin_descriptor = ends[0];
    Program program({"predict", trained.json()["run_dir"]}, input);
    program.send(signal);
    EXPECT_EQ(program.wait().exit_code, 128 + signal);
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Training, ContinuesWithoutAReaderOfItsProgress) {
  const TemporaryDirectory directory;
  const std::string pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  Program program(tiny_training(directory / "runs"), {.stderr_file = pipe});
  pollfd waits = {reader, POLLIN, 0};
  ASSERT_EQ(::poll(&waits, 1, 60000), 1);  // waits for the first line that the program prints
  ::close(reader);
  EXPECT_EQ(program.wait().exit_code, 0);
  EXPECT_TRUE(fs::exists(only_run_in(directory / "runs") + "/checkpoints/step-000000060"));
}

}  // namespace
}  // namespace rl_training
