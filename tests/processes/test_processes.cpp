// Tests runs that several processes train together, connected by the loopback interface. The tests
// at the end of this file need RL_TRAINING_PROCESS_TESTS=all, which `make test-processes` and
// `make reliability` set.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <sstream>

#include "rl_training/util/rng.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

bool all_tests() { return std::getenv("RL_TRAINING_PROCESS_TESTS") != nullptr; }

struct Task {
  const char *name, *config, *length;
  std::vector<const char*> assignments;
};

const Task kOffline = {"Offline", "td3_bc/pendulum-random", "200", {"dataset_size=2000"}};
const Task kLong = {"Long", "td3_bc/pendulum-random", "20000", {"dataset_size=2000"}};
const Task kTasks[] = {
    kOffline,
    {"Online", "sac/pendulum", "400", {"learning_starts=100", "buffer_capacity=150"}},
    {"PriorData",
     "rlpd/pendulum-random",
     "300",
     {"learning_starts=60", "offline_pretrain_updates=60", "dataset_size=2000", "num_critics=3"}},
    {"Goals",
     "sac/pointgoal-her",
     "600",
     {"learning_starts=100", "buffer_capacity=401", "num_envs=2", "her=episode"}},
    {"Choices", "discrete_sac/cartpole", "400", {"learning_starts=100", "n_step=3"}},
    {"BatchRenormalised",
     "crossq/pendulum",
     "300",
     {"learning_starts=60", "critic_hidden_sizes=[32,32]"}},
    {"Sequences",
     "decision_transformer/pendulum-random",
     "100",
     {"dataset_size=2000", "embed_dim=16", "context_length=5"}},
    {"Cql", "cql/pendulum-random", "60", {"dataset_size=2000"}},
    {"CqlLagrange", "cql/pendulum-random", "60", {"dataset_size=2000", "lagrange_gap=5"}},
    {"Bear", "bear/pendulum-random", "60", {"dataset_size=2000"}},
    {"Bcq", "bcq/pendulum-random", "60", {"dataset_size=2000"}},
    {"Iql", "iql/pendulum-random", "100", {"dataset_size=2000"}},
    {"Rebrac", "rebrac/pendulum-random", "100", {"dataset_size=2000"}},
    {"Redq", "redq/pendulum", "200", {"learning_starts=60", "num_critics=3"}},
    {"Tqc", "tqc/pendulum", "200", {"learning_starts=60"}},
};

std::vector<std::string> train_command(const Task& task, const std::string& output_dir,
                                       const std::string& processes) {
  std::vector<std::string> arguments = {
      "train",  "--config",  task.config, "--output-dir",      output_dir,  "--quiet",
      "--json", "--threads", "1",         "--total-timesteps", task.length, "--processes",
      processes};
  std::vector<const char*> assignments = {"batch_size=32", "eval_episodes=3", "eval_interval=70",
                                          "log_interval=7", "checkpoint_interval=20"};
  if (!std::string_view(task.config).starts_with("decision_transformer")) {
    assignments.push_back("hidden_sizes=[32,32]");
  }
  // Later assignments override earlier ones.
  assignments.insert(assignments.end(), task.assignments.begin(), task.assignments.end());
  for (const char* assignment : assignments) {
    arguments.insert(arguments.end(), {"--set", assignment});
  }
  return arguments;
}

std::string only_run_in(const std::string& output_dir) {
  if (!fs::exists(output_dir)) return "";
  for (const auto& entry : fs::directory_iterator(output_dir)) {
    if (!entry.path().filename().string().starts_with(".")) return entry.path().string();
  }
  return "";
}

std::vector<std::string> checkpoints_of(const std::string& run) {
  std::vector<std::string> names;
  if (run.empty() || !fs::exists(run + "/checkpoints")) return names;
  for (const auto& entry : fs::directory_iterator(run + "/checkpoints")) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("step-")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the contents of metrics.jsonl and of all files in checkpoints except manifest.json, which
// contains times and paths.
std::map<std::string, std::string> bytes_of(const std::string& run) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(run + "/checkpoints")) {
    if (!entry.is_regular_file() || entry.path().filename() == "manifest.json") continue;
    files[fs::relative(entry.path(), run).string()] = read_all(entry.path().string());
  }
  files["metrics.jsonl"] = read_all(run + "/metrics.jsonl");
  return files;
}

void expect_equal_runs(const std::string& a, const std::string& b) {
  const auto ours = bytes_of(a), theirs = bytes_of(b);
  ASSERT_GT(ours.size(), 3U);
  for (const auto& [name, bytes] : ours) {
    ASSERT_TRUE(theirs.contains(name)) << name;
    EXPECT_TRUE(theirs.at(name) == bytes) << name << " differs";
  }
  EXPECT_EQ(ours.size(), theirs.size());
}

std::vector<std::string> resume_command(const std::string& run, const std::string& processes) {
  std::vector<std::string> arguments = {"resume", run, "--quiet", "--json", "--threads", "1"};
  if (!processes.empty()) arguments.insert(arguments.end(), {"--processes", processes});
  return arguments;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::istringstream text(read_all("/proc/" + std::to_string(parent) + "/task/" +
                                   std::to_string(parent) + "/children"));
  std::vector<pid_t> children;
  for (pid_t child = 0; text >> child;) children.push_back(child);
  return children;
}

class Processes : public testing::Test {
 protected:
  void SetUp() override {
    static const bool available = [] {
      const auto report = run({"doctor", "--json"}).json();
      for (const auto& part : report["parts"]) {
        if (part["name"] == "Gloo") return part["present"].get<bool>();
      }
      return false;
    }();
    if (!available) GTEST_SKIP() << "built without Gloo";
  }

  // Trains a run without interruption and returns its directory.
  std::string train(const Task& task, const std::string& name, const std::string& processes) {
    const auto result = run(train_command(task, directory_ / name, processes));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return only_run_in(directory_ / name);
  }
  void resume(const std::string& run_directory, const std::string& processes) {
    const auto result = run(resume_command(run_directory, processes));
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  // Starts a run, calls `harm` once the run has `checkpoints` checkpoints, and waits until the
  // program ends.
  ProgramResult train_and(const Task& task, const std::string& name, const std::string& processes,
                          const std::function<void(Program&)>& harm, size_t checkpoints = 2) {
    auto arguments = train_command(task, directory_ / name, processes);
    arguments.insert(arguments.end(), {"--process-timeout", "60"});
    Program program(arguments);
    EXPECT_TRUE(becomes_true([&] {
      return program.ended() ||
             checkpoints_of(only_run_in(directory_ / name)).size() >= checkpoints;
    }));
    harm(program);
    return program.wait();
  }

  TemporaryDirectory directory_;
};

TEST_F(Processes, RepeatBitForBitAndStopAndResumeExactly) {
  const auto once = train(kOffline, "once", "2");
  expect_equal_runs(once, train(kOffline, "again", "2"));
  // A SIGTERM at any time stops both processes at the same step.
  const auto result = train_and(
      kOffline, "stopped", "2", [](Program& p) { p.send(SIGTERM); }, 1);
  const auto stopped = only_run_in(directory_ / "stopped");
  ASSERT_TRUE(result.exit_code == 143 || result.exit_code == 0) << result.err;
  const auto manifest = Json::parse(
      read_all(stopped + "/checkpoints/" + checkpoints_of(stopped).back() + "/manifest.json"));
  EXPECT_EQ(manifest["processes"], 2);
  for (const char* other : {"", "3"}) {
    const auto refused = run(resume_command(stopped, other));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("expected 2, got"), std::string::npos) << refused.err;
  }
  resume(stopped, "2");
  const auto straight = bytes_of(once), resumed = bytes_of(stopped);
  for (const char* file : {"checkpoints/step-000000200/tensors.safetensors", "metrics.jsonl"}) {
    EXPECT_TRUE(straight.at(file) == resumed.at(file)) << file;
  }
}

TEST_F(Processes, AKilledProcessEndsTheRunWithItsCheckpoints) {
  const auto result = train_and(kLong, "killed", "2", [](Program& program) {
    const auto children = children_of(program.pid());
    ASSERT_EQ(children.size(), 1U);
    ::kill(children.front(), SIGKILL);
  });
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_NE(result.err.find("process 1: was ended by signal 9"), std::string::npos) << result.err;
  const auto killed = only_run_in(directory_ / "killed");
  ASSERT_FALSE(checkpoints_of(killed).empty());
  auto further = resume_command(killed, "2");
  const auto done = std::stoll(checkpoints_of(killed).back().substr(std::string("step-").size()));
  // The checkpoint has already reached this length, so the program only loads it.
  further.insert(further.end(), {"--total-timesteps", std::to_string(done)});
  EXPECT_EQ(run(further).exit_code, 0);
}

TEST_F(Processes, WhatCannotBeSharedIsRefused) {
  const auto refused = [&](std::vector<std::string> arguments, const char* expected) {
    const auto result = run(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_NE(result.err.find(expected), std::string::npos) << result.err;
  };
  auto odd = train_command(kOffline, directory_ / "odd", "3");
  refused(odd, "batch_size: 3 processes cannot share it (expected a multiple of 3");
  refused(train_command(kOffline, directory_ / "none", "0"), "--processes: expected a number");
  refused(train_command(kOffline, directory_ / "none", "2/2"), "--processes: expected a number");
  refused(train_command(kOffline, directory_ / "none", "0/2"), "--master");
  EXPECT_FALSE(fs::exists(directory_ / "none"));
}

// A run with `--processes 1` equals a run without the option.
TEST_F(Processes, OneIsTheSameAsNone) {
  auto alone = train_command(kOffline, directory_ / "alone", "1");
  const auto one = train(kOffline, "one", "1");
  alone.erase(std::find(alone.begin(), alone.end(), "--processes"),
              std::find(alone.begin(), alone.end(), "--processes") + 2);
  ASSERT_EQ(run(alone).exit_code, 0);
  expect_equal_runs(one, only_run_in(directory_ / "alone"));
}

// The following tests run only if RL_TRAINING_PROCESS_TESTS is set.

class EveryTask : public Processes, public testing::WithParamInterface<Task> {
 protected:
  void SetUp() override {
    if (!all_tests()) GTEST_SKIP() << "make test-processes";
    Processes::SetUp();
  }
};

// The processes compare their parameters at each checkpoint. A run that finishes therefore has
// equal parameters in all processes.
TEST_P(EveryTask, RepeatsAndResumesExactly) {
  const auto once = train(GetParam(), "once", "2");
  expect_equal_runs(once, train(GetParam(), "again", "2"));
  train_and(
      GetParam(), "stopped", "2", [](Program& p) { p.send(SIGINT); }, 1);
  const auto stopped = only_run_in(directory_ / "stopped");
  resume(stopped, "2");
  EXPECT_EQ(read_all(stopped + "/metrics.jsonl"), read_all(once + "/metrics.jsonl"));
  const auto last = "/checkpoints/" + checkpoints_of(once).back() + "/tensors.safetensors";
  EXPECT_TRUE(read_all(stopped + last) == read_all(once + last));
}
INSTANTIATE_TEST_SUITE_P(Tasks, EveryTask, testing::ValuesIn(kTasks),
                         [](const auto& task) { return std::string(task.param.name); });

class MoreProcesses : public Processes {
 protected:
  void SetUp() override {
    if (!all_tests()) GTEST_SKIP() << "make test-processes";
    Processes::SetUp();
  }
};

// Runs an offline and an online task with four processes.
TEST_F(MoreProcesses, FourRepeatAndResumeExactly) {
  for (const Task& task : {kTasks[0], kTasks[1]}) {
    auto large = task;
    large.assignments.push_back("hidden_sizes=[128,128]");
    const std::string name = task.name;
    const auto once = train(large, name + "once", "4");
    expect_equal_runs(once, train(large, name + "again", "4"));
    train_and(
        large, name + "stopped", "4", [](Program& p) { p.send(SIGTERM); }, 1);
    const auto stopped = only_run_in(directory_ / (name + "stopped"));
    resume(stopped, "4");
    EXPECT_EQ(read_all(stopped + "/metrics.jsonl"), read_all(once + "/metrics.jsonl"));
  }
}

// Up to 20 times, kills one of the two processes with SIGKILL and resumes the run. Then lets the
// run finish.
TEST_F(MoreProcesses, ARunKilledManyTimesEndsWithTheSameBytes) {
  const Task task = {"Killed",
                     "sac/pendulum",
                     "1000",
                     {"learning_starts=200", "buffer_capacity=1000", "hidden_sizes=[32,32]"}};
  const auto straight = train(task, "straight", "2");
  Rng rng(5, "kills");
  std::string killed;
  auto command = train_command(task, directory_ / "killed", "2");
  for (int kill = 0; kill < 20; ++kill) {
    Program program(command);
    const auto before = checkpoints_of(killed);
    const auto wanted = rng.below(3);
    ASSERT_TRUE(becomes_true([&] {
      if (killed.empty()) killed = only_run_in(directory_ / "killed");
      const auto now = checkpoints_of(killed);
      if (program.ended()) return true;
      if (now.empty() || now == before || children_of(program.pid()).empty()) return false;
      return wanted == 0 ||
             std::stoll(now.back().substr(5)) % 3 == static_cast<int64_t>(wanted - 1);
    }));
    const auto children = children_of(program.pid());
    const bool first = rng.below(2) == 0 || children.empty();
    if (!program.ended()) ::kill(first ? program.pid() : children.front(), SIGKILL);
    const auto code = program.wait().exit_code;
    if (code == 0) break;
    EXPECT_EQ(code, first ? 137 : 6);
    killed = only_run_in(directory_ / "killed");
    if (!killed.empty()) command = resume_command(killed, "2");
  }
  if (run(command).exit_code != 0) ADD_FAILURE() << "the last resume failed";
  EXPECT_EQ(read_all(killed + "/metrics.jsonl"), read_all(straight + "/metrics.jsonl"));
  const auto last = "/checkpoints/" + checkpoints_of(straight).back() + "/tensors.safetensors";
  EXPECT_TRUE(read_all(killed + last) == read_all(straight + last));
}

// The signal is sent to a process other than process 0.
TEST_F(MoreProcesses, ASignalToAnyOfThemStopsAll) {
  const auto result = train_and(kLong, "stopped", "4", [](Program& program) {
    const auto children = children_of(program.pid());
    ASSERT_EQ(children.size(), 3U);
    ::kill(children[1], SIGTERM);
  });
  EXPECT_EQ(result.exit_code, 143) << result.err;
  EXPECT_EQ(result.json()["stop_reason"], "signal");
  const auto stopped = only_run_in(directory_ / "stopped");
  EXPECT_EQ(result.json()["checkpoint"],
            stopped + "/checkpoints/" + checkpoints_of(stopped).back());
}

}  // namespace
}  // namespace rl_training
