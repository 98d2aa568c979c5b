#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "rl_training/util/rng.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

// A training run whose layers are wide enough for oneDNN's matrix products. A signal handler that
// interrupts such a product can corrupt memory (docs/reliability.md).
struct Training {
  const char *name, *config, *total_timesteps;
  std::vector<const char*> assignments;
};

const Training kTrainings[] = {
    {"Cql", "cql/pendulum-random", "150", {"dataset_size=2000"}},
    {"Td3Bc", "td3_bc/pendulum-random", "400", {"dataset_size=2000"}},
    {"Bear", "bear/pendulum-random", "120", {"dataset_size=2000"}},
    {"Sac", "sac/pendulum", "400", {"learning_starts=200", "hidden_sizes=[256,256]"}},
    {"Rebrac", "rebrac/pendulum-random", "250", {"dataset_size=2000"}},
};

// Further algorithms, tested by `make reliability`.
const Training kMoreTrainings[] = {
    {"Iql", "iql/pendulum-random", "300", {"dataset_size=2000"}},
    {"Bcq", "bcq/pendulum-random", "200", {"dataset_size=2000"}},
    {"Rlpd",
     "rlpd/pendulum-random",
     "260",
     {"learning_starts=200", "dataset_size=2000", "num_critics=3", "gradient_updates_per_step=2"}},
    {"Redq", "redq/pendulum", "260", {"learning_starts=220", "num_critics=3"}},
    {"Tqc", "tqc/pendulum", "300", {"learning_starts=200"}},
    {"CrossQ", "crossq/pendulum", "300", {"learning_starts=200"}},
    {"DiscreteSac", "discrete_sac/cartpole", "400", {"learning_starts=200"}},
    {"Goals", "sac/pointgoal-her", "400", {"learning_starts=200"}},
    {"Sequences",
     "decision_transformer/pendulum-random",
     "60",
     {"dataset_size=2000", "embed_dim=32", "context_length=10"}},
};

// A training run and the set of kernels that it uses. If `kernels` is "", the program selects the
// best set that the processor supports.
struct Case {
  Training training;
  std::string kernels;
};

// Number of signals over all cases. `make reliability` sets a larger number; kMoreTrainings is then
// tested as well.
int signals_wanted() {
  const char* text = std::getenv("RL_TRAINING_SIGNALS");
  return text == nullptr ? 20 : std::atoi(text);
}

std::vector<Case> all_cases() {
  std::vector<Training> trainings(std::begin(kTrainings), std::end(kTrainings));
  if (std::getenv("RL_TRAINING_SIGNALS") != nullptr) {
    trainings.insert(trainings.end(), std::begin(kMoreTrainings), std::end(kMoreTrainings));
  }
  std::vector<Case> cases;
  for (const auto& training : trainings) {
    for (const char* kernels : {"", "avx2"}) cases.push_back({training, kernels});
  }
  return cases;
}

std::vector<std::string> start_command(const Training& training, const std::string& output_dir) {
  std::vector<std::string> arguments = {
      "train",    "--config", training.config,     "--output-dir",
      output_dir, "--json",   "--total-timesteps", training.total_timesteps};
  auto assignments = training.assignments;
  for (const char* more : {"batch_size=256", "eval_episodes=2", "eval_interval=100",
                           "log_interval=7", "checkpoint_interval=100"}) {
    assignments.push_back(more);
  }
  for (const char* assignment : assignments) {
    arguments.insert(arguments.end(), {"--set", assignment});
  }
  return arguments;
}

class Signals : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().kernels.empty()) return;
    std::ifstream file("/proc/cpuinfo");
    std::stringstream text;
    text << file.rdbuf();
    if (text.str().find(GetParam().kernels) == std::string::npos) {
      GTEST_SKIP() << "the processor has no " << GetParam().kernels;
    }
    ::setenv("RL_TRAINING_KERNELS", GetParam().kernels.c_str(), 1);
  }
  void TearDown() override { ::unsetenv("RL_TRAINING_KERNELS"); }
};

INSTANTIATE_TEST_SUITE_P(All, Signals, testing::ValuesIn(all_cases()), [](const auto& tested) {
  const auto& kernels = tested.param.kernels;
  return std::string(tested.param.training.name) + (kernels.empty() ? "Best" : "Avx2");
});

// One session of the program. When the constructor returns, the program is training or has ended.
class Session {
 public:
  Session(const std::vector<std::string>& arguments, const std::string& stderr_file)
      : stderr_file_(stderr_file), program_(arguments, input()) {
    EXPECT_TRUE(becomes_true([&] {
      return program_.ended() || messages().find("run directory: ") != std::string::npos;
    }));
  }
  // Returns false if the program ended before the signal was sent.
  bool send_after(int signal, double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!program_.ended() && std::chrono::steady_clock::now() < end) ::poll(nullptr, 0, 1);
    if (program_.ended()) return false;
    program_.send(signal);
    return true;
  }
  ProgramResult wait() { return program_.wait(); }
  std::string messages() const { return read_all(stderr_file_); }

 private:
  Program::Input input() const {
    Program::Input input;
    std::ofstream(stderr_file_, std::ios::trunc);
    input.stderr_file = stderr_file_;
    return input;
  }

  std::string stderr_file_;
  Program program_;
};

std::string tensors_of(const std::string& checkpoint) {
  return read_all(checkpoint + "/tensors.safetensors");
}

// Sends stop and checkpoint signals at random moments and resumes stopped runs until they are
// complete.
TEST_P(Signals, NoneChangesABit) {
  const auto& training = GetParam().training;
  const TemporaryDirectory directory;
  const auto started = std::chrono::steady_clock::now();
  const auto uninterrupted = run(start_command(training, directory / "straight"));
  ASSERT_EQ(uninterrupted.exit_code, 0) << uninterrupted.err;
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - started;
  const auto straight = uninterrupted.json();
  const auto expected_tensors = tensors_of(straight["checkpoint"]);
  const auto expected_rows = read_all(straight["run_dir"].get<std::string>() + "/metrics.jsonl");
  ASSERT_NE(expected_tensors, "");
  ASSERT_NE(expected_rows, "");

  const int wanted = std::max(1, signals_wanted() / static_cast<int>(all_cases().size()));
  Rng rng(static_cast<uint64_t>(wanted), "signals");
  int sent = 0, stopped = 0;
  for (int round = 0; sent < wanted; ++round) {
    auto command = start_command(training, directory / ("round" + std::to_string(round)));
    Json report;
    for (bool complete = false; !complete;) {
      Session session(command, directory / "stderr");
      const bool saves_only = sent % 4 == 3;
      const int signal = saves_only ? (sent % 8 == 3 ? SIGUSR1 : SIGHUP)
                                    : (rng.uniform() < 0.5 ? SIGINT : SIGTERM);
      const bool was_sent =
          sent < wanted && session.send_after(signal, rng.uniform(0, 0.4) * whole.count());
      const auto result = session.wait();
      sent += was_sent ? 1 : 0;
      complete = result.exit_code == 0;
      // If the signal arrives after the last update, the program ends normally.
      ASSERT_TRUE(complete || (was_sent && !saves_only && result.exit_code == 128 + signal))
          << "exit " << result.exit_code << " after signal " << signal << ": "
          << session.messages();
      report = result.json();
      ASSERT_TRUE(fs::exists(report["checkpoint"].get<std::string>())) << report.dump();
      EXPECT_EQ(report["stop_reason"], complete ? "total_timesteps" : "signal");
      if (complete) break;
      ++stopped;
      command = {"resume", report["run_dir"], "--json"};
    }
    ASSERT_TRUE(tensors_of(report["checkpoint"]) == expected_tensors);
    ASSERT_EQ(read_all(report["run_dir"].get<std::string>() + "/metrics.jsonl"), expected_rows);
    fs::remove_all(directory / ("round" + std::to_string(round)));
  }
  RecordProperty("sent", sent);
  RecordProperty("stopped", stopped);
  std::printf("%d signals, %d of them ended a session\n", sent, stopped);
}

// All threads except the signal thread must block the signals, including threads that libraries
// start before main(). The kernel reports the masks in /proc.
TEST(SignalMasks, OneThreadTakesSignals) {
  const TemporaryDirectory directory;
  auto training = kTrainings[0];
  training.total_timesteps = "100000";
  auto command = start_command(training, directory / "run");
  command.insert(command.end(), {"--threads", "3"});
  Program program(command);
  const auto masks = [&] {
    std::vector<uint64_t> result;
    for (const auto& thread :
         fs::directory_iterator("/proc/" + std::to_string(program.pid()) + "/task")) {
      std::ifstream status(thread.path() / "status");
      for (std::string line; std::getline(status, line);) {
        if (line.starts_with("SigBlk:")) result.push_back(std::stoull(line.substr(8), nullptr, 16));
      }
    }
    return result;
  };
  // Once there are four threads, the thread pool is running: three computing threads and the signal
  // thread.
  ASSERT_TRUE(becomes_true([&] { return program.ended() || masks().size() >= 4; }));
  uint64_t taken = 0;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) taken |= uint64_t{1} << (signal - 1);
  int takers = 0;
  for (const uint64_t mask : masks()) takers += (mask & taken) == taken ? 0 : 1;
  EXPECT_EQ(takers, 1);
}

}  // namespace
}  // namespace rl_training
