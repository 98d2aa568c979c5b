#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <chrono>
#include <set>

#include "rl_training/util/rng.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

// A training run that takes a few seconds. The test suite kills it `kills` times.
// `make reliability` kills it RL_TRAINING_KILLS times.
struct Task {
  const char *name, *config, *total_timesteps;
  int kills;
  std::vector<const char*> assignments;
  size_t phase_ends = 0;  // additional checkpoints, retained at the ends of phases
};

const Task kTasks[] = {
    {"Offline", "td3_bc/pendulum-random", "7000", 20, {"batch_size=64", "dataset_size=2000"}},
    // The replay buffer becomes full, so new rows overwrite old ones. Checkpoints share the files
    // of the buffer's rows.
    {"Online",
     "sac/pendulum",
     "3000",
     20,
     {"batch_size=32", "learning_starts=200", "buffer_capacity=1000"}},
    // This run is also killed during its offline updates.
    {"PriorData",
     "rlpd/pendulum-random",
     "1200",
     10,
     {"batch_size=32", "learning_starts=200", "offline_pretrain_updates=400", "dataset_size=2000",
      "num_critics=3", "gradient_updates_per_step=2"},
     1},
    {"Goals",
     "sac/pointgoal-her",
     "3000",
     10,
     {"batch_size=32", "learning_starts=200", "buffer_capacity=1001", "num_envs=2", "her=episode"}},
    {"Choices",
     "discrete_sac/cartpole",
     "3000",
     10,
     {"batch_size=32", "learning_starts=200", "buffer_capacity=1000", "n_step=3"}},
    {"BatchRenormalised",
     "crossq/pendulum",
     "1500",
     10,
     {"batch_size=32", "learning_starts=200", "buffer_capacity=1000",
      "critic_hidden_sizes=[64,64]"}},
    {"Sequences",
     "decision_transformer/pendulum-random",
     "1500",
     10,
     {"batch_size=16", "dataset_size=2000", "embed_dim=16", "context_length=5"}},
    {"Cql", "cql/pendulum-random", "300", 0, {"batch_size=16", "dataset_size=2000"}},
    {"Bear", "bear/pendulum-random", "400", 0, {"batch_size=16", "dataset_size=2000"}},
    {"Bcq", "bcq/pendulum-random", "1500", 0, {"batch_size=16", "dataset_size=2000"}},
    {"Iql", "iql/pendulum-random", "3000", 0, {"batch_size=32", "dataset_size=2000"}},
    {"Rebrac", "rebrac/pendulum-random", "1500", 0, {"batch_size=32", "dataset_size=2000"}},
    {"Redq",
     "redq/pendulum",
     "600",
     0,
     {"batch_size=16", "learning_starts=200", "buffer_capacity=500", "num_critics=3"}},
    {"Tqc", "tqc/pendulum", "1200", 0, {"batch_size=16", "learning_starts=200"}},
};

int kills_of(const Task& task) {
  const char* kills = std::getenv("RL_TRAINING_KILLS");
  return kills != nullptr ? std::atoi(kills) : task.kills;
}

std::vector<Task> killed_tasks() {
  std::vector<Task> tasks;
  for (const Task& task : kTasks) {
    if (kills_of(task) > 0) tasks.push_back(task);
  }
  return tasks;
}

std::vector<std::string> train_command(const Task& task, const std::string& output_dir,
                                       const char* threads) {
  std::vector<std::string> arguments = {
      "train",     "--config", task.config, "--output-dir",      output_dir,
      "--threads", threads,    "--quiet",   "--total-timesteps", task.total_timesteps};
  auto assignments = task.assignments;
  for (const char* more :
       {"eval_episodes=2", "eval_interval=150", "log_interval=7", "checkpoint_interval=40"}) {
    assignments.push_back(more);
  }
  if (!std::string_view(task.config).starts_with("decision_transformer")) {
    assignments.push_back("hidden_sizes=[64,64]");
  }
  for (const char* assignment : assignments) {
    arguments.insert(arguments.end(), {"--set", assignment});
  }
  return arguments;
}

std::string only_run_in(const std::string& output_dir) {
  if (!fs::exists(output_dir)) return "";
  std::string found;
  for (const auto& entry : fs::directory_iterator(output_dir)) {
    if (entry.path().filename().string().starts_with("."))
      continue;  // left by a program that was killed while it created the run
    EXPECT_EQ(found, "") << "a second run directory";
    found = entry.path().string();
  }
  return found;
}

// Returns the command that starts the run, or resumes it if its directory exists.
std::vector<std::string> next_command(const Task& task, const std::string& output_dir) {
  const auto run_dir = only_run_in(output_dir);
  if (run_dir.empty()) return train_command(task, output_dir, "2");
  return {"resume", run_dir, "--threads", "2", "--quiet"};
}

// Kills the program after `seconds`. Returns true if the program was still running.
bool kill_after(Program& program, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!program.ended() && std::chrono::steady_clock::now() < end) ::poll(nullptr, 0, 1);
  program.send(SIGKILL);
  const auto result = program.wait();
  if (result.exit_code == 128 + SIGKILL) return true;
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return false;
}

std::set<std::string> names_in(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

void expect_same_run(const Task& task, const std::string& run_dir, const std::string& straight) {
  for (const char* file : {"metrics.jsonl", "metrics.csv"}) {
    EXPECT_NE(read_all(straight + "/" + file), "");
    EXPECT_TRUE(read_all(run_dir + "/" + file) == read_all(straight + "/" + file)) << file;
  }
  const auto checkpoints = names_in(straight + "/checkpoints");
  EXPECT_EQ(checkpoints.size(), 4u + task.phase_ends);  // the last three and the best
  EXPECT_EQ(names_in(run_dir + "/checkpoints"), checkpoints);
  for (const auto& name : checkpoints) {
    const auto checkpoint = "/checkpoints/" + name + "/";
    const auto files = names_in(straight + checkpoint);
    EXPECT_TRUE(files.contains("tensors.safetensors"));
    EXPECT_EQ(names_in(run_dir + checkpoint), files);
    for (const auto& file : files) {
      if (file == "manifest.json") continue;  // contains the date and the training time
      EXPECT_NE(read_all(straight + checkpoint + file), "") << file;
      EXPECT_TRUE(read_all(run_dir + checkpoint + file) == read_all(straight + checkpoint + file))
          << checkpoint << file;
    }
  }
}

// Kills the program at random moments: while it starts, trains, or writes logs and checkpoints. If
// a run completes before the required number of kills, another run with the same config follows.
class Kill : public testing::TestWithParam<Task> {};

INSTANTIATE_TEST_SUITE_P(All, Kill, testing::ValuesIn(killed_tasks()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(Kill, AResumedRunEqualsOneThatWasNeverKilled) {
  const Task& task = GetParam();
  const TemporaryDirectory directory;
  const auto started = std::chrono::steady_clock::now();
  const auto uninterrupted = run(train_command(task, directory / "straight", "1"));
  ASSERT_EQ(uninterrupted.exit_code, 0) << uninterrupted.err;
  const std::chrono::duration<double> straight_time = std::chrono::steady_clock::now() - started;
  const auto straight = only_run_in(directory / "straight");

  Rng rng(17, "kill");
  const int wanted = kills_of(task);
  int kills = 0, sessions = 0;
  for (int round = 0; kills < wanted; ++round) {
    const auto output_dir = directory / ("killed" + std::to_string(round));
    bool complete = false;
    while (!complete && kills < wanted) {
      Program program(next_command(task, output_dir));
      ++sessions;
      // Most delays are shorter than the run, so that a run is killed several times. Every fifth
      // delay is so short that the program may still be starting.
      const double delay = kills % 5 == 0 ? rng.uniform(0, 0.3) : rng.uniform(0.2, 1.0);
      if (kill_after(program, delay * straight_time.count())) {
        ++kills;
      } else {
        complete = true;
      }
    }
    if (!complete) {
      const auto last = run(next_command(task, output_dir));
      ASSERT_EQ(last.exit_code, 0) << last.err;
    }
    expect_same_run(task, only_run_in(output_dir), straight);
  }
  EXPECT_EQ(kills, wanted);
  RecordProperty("sessions", sessions);
}

}  // namespace
}  // namespace rl_training
