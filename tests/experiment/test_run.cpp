#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <sstream>

#include "build_info.h"
#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/npz.h"
#include "rl_training/envs/rollout.h"
#include "rl_training/experiment/run.h"
#include "rl_training/util/file_system.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_config.h"

namespace rl_training::test_run {
namespace {

namespace fs = std::filesystem;

std::vector<Json> rows_of(const std::string& run_dir) {
  std::vector<Json> rows;
  std::istringstream lines(read_all(run_dir + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
  return rows;
}

// Returns the paths and contents of all files below a directory.
std::map<std::string, std::string> content_of(const std::string& directory) {
  std::map<std::string, std::string> content;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) content[entry.path().string()] = read_all(entry.path().string());
  }
  return content;
}

std::string tensors_of(const std::string& checkpoint) {
  const auto bytes = read_all(checkpoint + "/tensors.safetensors");
  EXPECT_NE(bytes, "") << checkpoint;
  return bytes;
}

class RunTest : public testing::Test {
 protected:
  TrainConfig config(const std::vector<std::string>& more = {}) const {
    return tiny_config("td3_bc", directory_ / "runs", more);
  }
  RunContext context() {
    RunContext context;
    context.command = "the command";
    context.warn = [this](const std::string& line) { warnings_.push_back(line); };
    return context;
  }
  RunResult train(const std::vector<std::string>& more = {}) {
    return Run::start(config(more), context())->train();
  }

  TemporaryDirectory directory_;
  std::vector<std::string> warnings_;
};

// The data has three episodes of 200 steps that end by a time limit, so their last rows have no
// next action.
TEST_F(RunTest, RowsWithoutANextActionAreLeftOutWhereTheyAreNeeded) {
  const auto start = [&](const std::vector<std::string>& more) {
    warnings_.clear();
    return Run::start(tiny_config("rebrac", directory_ / "runs", more), context());
  };
  EXPECT_EQ(start({})->dataset().rows, 597);
  EXPECT_EQ(warnings_, std::vector<std::string>{"warning: 3 of 600 rows have no next action and "
                                                "are left out (next_action_fallback: none)"});
  EXPECT_EQ(start({"next_action_fallback=zero_penalty"})->dataset().rows, 600);
  EXPECT_EQ(start({"critic_bc_weight=0"})->dataset().rows, 600);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(RunTest, ADatasetWithoutAnyNextActionIsRefusedUnlessAFallbackIsChosen) {
  DatasetBuilder builder(3, 1);
  for (int i = 0; i < 40; ++i) {
    builder.begin_episode(std::array{1.0f, 0.0f, 0.1f * static_cast<float>(i)});
    builder.add(std::array{0.5f}, -1, std::array{0.0f, 1.0f, 0.0f}, false, true);
  }
  const auto path = directory_ / "loose.npz";
  save_npz_dataset(std::move(builder).build(), path);
  const auto start = [&](const std::string& fallback) {
    Run::start(tiny_config("rebrac", directory_ / "runs",
                           {"dataset_kind=npz", "dataset_path=" + path, "dataset_size=0",
                            "next_action_fallback=" + fallback}),
               context());
  };
  try {
    start("none");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_EQ(error.place().key, "next_action_fallback");
    EXPECT_NE(error.message().find("no row of the dataset has a next action"), std::string::npos);
  }
  EXPECT_FALSE(fs::exists(directory_ / "runs"));  // no files are left on disk
  start("zero_penalty");
  start("current_action");
}

TEST_F(RunTest, RowsStartAndEndWithAnEvaluation) {
  const auto result = train({"total_timesteps=33"});
  const auto rows = rows_of(result.run_dir);
  std::vector<int64_t> logged, evaluated;
  for (const auto& row : rows) {
    logged.push_back(row["update_count"]);
    if (row.contains("eval_return_mean")) evaluated.push_back(row["update_count"]);
    EXPECT_EQ(row["dataset_size"], 600);
    EXPECT_EQ(row["lr_scale"], 1.0);
    EXPECT_EQ(row.contains("critic_loss"), row["update_count"] > 0);
  }
  EXPECT_EQ(logged, (std::vector<int64_t>{0, 5, 10, 15, 20, 25, 30, 33}));
  EXPECT_EQ(evaluated, (std::vector<int64_t>{0, 20, 33}));
  EXPECT_EQ(rows.back()["epoch"], 33 / 19);  // 600 rows in batches of 32 are 19 updates
  EXPECT_EQ(rows.back()["eval_length_mean"], 200.0);
  EXPECT_EQ(result.summary.metrics["eval_return_mean"], rows.back()["eval_return_mean"]);
  EXPECT_EQ(result.checkpoint, result.run_dir + "/checkpoints/step-000000033");
}

TEST_F(RunTest, TheReturnOfTheDataIsThatOfItsOwnRewards) {
  const auto mean_of = [&](const char* setting) {
    const auto result = train({setting, "total_timesteps=1"});
    const auto metadata = Json::parse(read_all(result.run_dir + "/metadata.json"));
    return metadata["dataset"]["return_mean"].get<double>();
  };
  EXPECT_EQ(mean_of("reward_scale=0.01"), mean_of("reward_scale=1"));
}

TEST_F(RunTest, MetadataSaysHowItCameToBe) {
  const auto result = train({"seed=4", "threads=2"});
  Run::resume(result.run_dir, {70, 1}, context())->train();
  const auto metadata = Json::parse(read_all(result.run_dir + "/metadata.json"));
  EXPECT_EQ(metadata["algo"], "td3_bc");
  EXPECT_EQ(metadata["env_id"], "Pendulum-v1");
  EXPECT_EQ(metadata["seed"], 4);
  EXPECT_EQ(metadata["config_hash"], config_hash(config({"seed=4"})));
  const auto data = random_dataset("Pendulum-v1", 600, 0);
  EXPECT_EQ(metadata["dataset"]["kind"], "random");
  EXPECT_EQ(metadata["dataset"]["rows"], 600);
  EXPECT_EQ(metadata["dataset"]["fingerprint"], data.fingerprint());
  ASSERT_EQ(metadata["sessions"].size(), 2u);
  const auto& first = metadata["sessions"][0];
  EXPECT_EQ(first["version"], RL_TRAINING_VERSION);
  EXPECT_EQ(first["commit"], RL_TRAINING_COMMIT);
  EXPECT_EQ(first["build"], RL_TRAINING_BUILD_TYPE);
  EXPECT_EQ(first["command"], "the command");
  EXPECT_EQ(first["from_update"], 0);
  EXPECT_EQ(first["threads"], 2);
  EXPECT_NE(first["instruction_set"], "");
  EXPECT_EQ(metadata["sessions"][1]["from_update"], 60);
  EXPECT_EQ(metadata["sessions"][1]["threads"], 1);
  const auto manifest = Json::parse(read_all(result.checkpoint + "/manifest.json"));
  EXPECT_EQ(manifest["dataset_fingerprint"], data.fingerprint());
  EXPECT_EQ(manifest["config"]["algo_kwargs"]["batch_size"], 32);
}

TEST_F(RunTest, AnOlderCheckpointGoesOnInANewDirectory) {
  const auto old = train({"checkpoint_interval=20"});
  for (const char* name : {"step-000000020", "step-000000040", "best"}) {
    const auto before = content_of(old.run_dir);
    const auto fork = Run::resume(old.run_dir + "/checkpoints/" + name, {}, context())->train();
    EXPECT_NE(fork.run_dir, old.run_dir);
    EXPECT_EQ(fs::path(fork.run_dir).parent_path(), fs::path(old.run_dir).parent_path());
    EXPECT_TRUE(content_of(old.run_dir) == before) << name;
    // The metrics are copied too, as if the branch had trained from the start.
    EXPECT_EQ(read_all(fork.run_dir + "/metrics.jsonl"), read_all(old.run_dir + "/metrics.jsonl"));
    EXPECT_EQ(read_all(fork.run_dir + "/metrics.csv"), read_all(old.run_dir + "/metrics.csv"));
    // The best checkpoint may be that of the last step. The branch then performs no updates, so its
    // tensors are not compared.
    if (std::string(name) == "best") continue;
    EXPECT_TRUE(tensors_of(fork.checkpoint) == tensors_of(old.checkpoint)) << name;
  }
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

TEST_F(RunTest, TheNewestCheckpointGoesOnInPlace) {
  const auto whole = train({"total_timesteps=80"});
  for (const char* end : {"", "/"}) {
    const auto first = train();
    const auto more = Run::resume(first.checkpoint + end, {80, {}}, context())->train();
    EXPECT_EQ(more.run_dir, first.run_dir);
    EXPECT_EQ(more.summary.update_count, 80);
    EXPECT_EQ(read_all(more.run_dir + "/metrics.jsonl"),
              read_all(whole.run_dir + "/metrics.jsonl"));
    EXPECT_TRUE(tensors_of(more.checkpoint) == tensors_of(whole.checkpoint));
    const auto config_file = more.run_dir + "/config.yaml";
    EXPECT_EQ(read_train_config(load_config(config_file)).total_timesteps, 80);
  }
}

struct Killed {};

Callbacks kill_at(int64_t update) {
  Callbacks callbacks;
  callbacks.on_update_end = [update](const TrainProgress& progress, const Metrics&) {
    if (progress.update_count >= update) throw Killed{};
  };
  return callbacks;
}

// If an extended run is killed before its next checkpoint, the new length of the run is not lost.
TEST_F(RunTest, AKilledExtensionIsNotForgotten) {
  const auto whole = train({"total_timesteps=80"});
  const auto first = train();
  EXPECT_THROW(Run::resume(first.run_dir, {80, {}}, context())->train(kill_at(62)), Killed);
  const auto more = Run::resume(first.run_dir, {}, context())->train();
  EXPECT_EQ(more.summary.update_count, 80);
  EXPECT_TRUE(tensors_of(more.checkpoint) == tensors_of(whole.checkpoint));
  EXPECT_EQ(read_all(more.run_dir + "/metrics.jsonl"), read_all(whole.run_dir + "/metrics.jsonl"));
}

// A killed branch resumes from the checkpoint at which it started. The branch also has a copy of
// the best checkpoint, unless the best checkpoint is newer than that checkpoint.
TEST_F(RunTest, AKilledBranchGoesOnFromWhereItBranchedOff) {
  const auto old = train({"checkpoint_interval=20"});
  auto branch = Run::resume(old.run_dir + "/checkpoints/step-000000040", {}, context());
  const auto path = branch->path();
  EXPECT_THROW(branch->train(kill_at(42)), Killed);
  branch.reset();
  const auto best = Json::parse(read_all(old.run_dir + "/checkpoints/best/manifest.json"));
  EXPECT_EQ(fs::exists(path + "/checkpoints/best"), best["step"] <= 40);
  const auto more = Run::resume(path, {}, context())->train();
  EXPECT_EQ(more.run_dir, path);
  EXPECT_TRUE(tensors_of(more.checkpoint) == tensors_of(old.checkpoint));
  EXPECT_EQ(read_all(path + "/metrics.jsonl"), read_all(old.run_dir + "/metrics.jsonl"));
  EXPECT_TRUE(tensors_of(path + "/checkpoints/best") ==
              tensors_of(old.run_dir + "/checkpoints/best"));

  const auto of_best = Run::resume(old.run_dir + "/checkpoints/best", {}, context());
  EXPECT_TRUE(tensors_of(of_best->path() + "/checkpoints/best") ==
              tensors_of(old.run_dir + "/checkpoints/best"));
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

TEST_F(RunTest, WithoutAnyCheckpointItSaysThatItStartsAgain) {
  const auto result = train();
  fs::remove_all(result.run_dir + "/checkpoints");
  EXPECT_EQ(Run::resume(result.run_dir, {}, context())->train().summary.update_count, 60);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("has no checkpoint"), std::string::npos) << warnings_[0];
}

// The run has ended because of a limit other than total_timesteps, so an online phase would have no
// updates. The request is rejected and nothing is written.
TEST_F(RunTest, AnEndedRunDoesNotGoOnline) {
  for (const char* limit :
       {"max_updates=30", "early_stopping={metric: critic_loss, target_value: -1000}"}) {
    const auto result = train({limit});
    EXPECT_LT(result.summary.update_count, 60);
    const auto before = read_all(result.run_dir + "/config.yaml");
    try {
      Run::resume(result.run_dir, {{}, {}, 20}, context());
      FAIL() << limit;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 2);
      EXPECT_NE(std::string(error.what()).find(result.summary.stop_reason), std::string::npos);
    }
    EXPECT_EQ(read_all(result.run_dir + "/config.yaml"), before);

    // A failed branch leaves no directory behind.
    const auto copy = directory_ / "copy";
    fs::create_directories(copy);
    fs::copy(result.run_dir + "/checkpoints", copy + "/checkpoints", fs::copy_options::recursive);
    const auto runs = content_of(directory_ / "runs");
    const auto newest = copy + "/checkpoints/" + fs::path(result.checkpoint).filename().string();
    EXPECT_THROW(Run::resume(newest, {{}, {}, 20}, context()), Error);
    EXPECT_TRUE(content_of(directory_ / "runs") == runs);
    fs::remove_all(copy);
  }
}

TEST_F(RunTest, CheckpointsThatWereCopiedElsewhereGoOn) {
  const auto result = train();
  fs::create_directories(directory_ / "backup");
  fs::copy(result.run_dir + "/checkpoints", directory_ / "backup/checkpoints",
           fs::copy_options::recursive);
  const auto newest = directory_ / "backup/checkpoints/step-000000060";
  const auto more = Run::resume(newest, {80, {}}, context())->train();
  EXPECT_EQ(more.summary.update_count, 80);
  EXPECT_TRUE(tensors_of(newest) == tensors_of(result.checkpoint));
  EXPECT_EQ(fs::path(more.run_dir).parent_path(), fs::path(result.run_dir).parent_path());
}

TEST_F(RunTest, ASavedStateGoesOnWithoutItsRun) {
  const auto run = Run::start(config(), context());
  run->train();
  run->save(directory_ / "saved");
  fs::rename(run->path(), directory_ / "gone");
  const auto more = Run::resume(directory_ / "saved", {80, {}}, context())->train();
  EXPECT_EQ(rows_of(more.run_dir).front()["update_count"], 65);
  const auto whole = train({"total_timesteps=80", "checkpoint_interval=80"});
  const auto last = rows_of(whole.run_dir).back();
  EXPECT_EQ(rows_of(more.run_dir).back(), last);
}

TEST_F(RunTest, AnotherDatasetIsRefused) {
  const auto file = directory_ / "data.npz";
  save_npz_dataset(random_dataset("Pendulum-v1", 300, 1), file);
  auto root = load_config("td3_bc/pendulum-random");
  for (const auto& assignment : {std::string("total_timesteps=10"), std::string("eval_episodes=0"),
                                 std::string("dataset_kind=npz"), std::string("dataset_size=0"),
                                 std::string("hidden_sizes=[8]"), "dataset_path=" + file,
                                 "output_dir=" + (directory_ / "runs")}) {
    set_config_value(root, assignment);
  }
  const auto made = read_train_config(root);
  const auto result = Run::start(made, context())->train();
  EXPECT_EQ(Run::resume(result.run_dir, {12, {}}, context())->train().summary.update_count, 12);

  save_npz_dataset(random_dataset("Pendulum-v1", 300, 2), file);
  try {
    Run::resume(result.run_dir, {20, {}}, context());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_EQ(error.place().key, "dataset_fingerprint");
    const auto present = load_transition_dataset(made.dataset, made.env_id).fingerprint();
    EXPECT_NE(error.message().find("got " + present), std::string::npos) << error.message();
  }
}

TEST_F(RunTest, TrainsAlikeFromAFileAndFromItsCache) {
  const auto file = directory_ / "data.npz";
  save_npz_dataset(random_dataset("Pendulum-v1", 45'000, 1), file);  // large enough to be cached
  // A file that has just been changed is not cached.
  fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(1));
  ASSERT_EQ(::setenv("RL_TRAINING_CACHE", (directory_ / "cache").c_str(), 1), 0);
  std::vector<std::string> metrics, tensors;
  for (const char* cache : {"off", "auto", "auto", "auto"}) {
    const auto result = train({"dataset_kind=npz", "dataset_size=0", "dataset_path=" + file,
                               std::string("dataset_cache=") + cache, "reward_scale=0.5"});
    metrics.push_back(read_all(result.run_dir + "/metrics.jsonl"));
    tensors.push_back(tensors_of(result.checkpoint));
    if (std::string(cache) == "off") {
      EXPECT_FALSE(fs::exists(directory_ / "cache"));
    }
  }
  ::unsetenv("RL_TRAINING_CACHE");
  EXPECT_TRUE(fs::exists(directory_ / "cache"));
  EXPECT_TRUE(warnings_.empty());
  for (size_t i = 1; i < metrics.size(); ++i) {
    EXPECT_EQ(metrics[i], metrics[0]);
    EXPECT_EQ(tensors[i], tensors[0]);
  }
}

TEST_F(RunTest, ThatCannotStartLeavesNothing) {
  auto absent = config({"dataset_kind=npz", "dataset_size=0", "dataset_path=/absent.npz"});
  EXPECT_THROW(Run::start(absent, context()), Error);
  EXPECT_FALSE(fs::exists(directory_ / "runs"));
}

// Simulates a failing disk: a file takes the place of the checkpoint directory.
class FailingSaves : public RunTest {
 protected:
  std::unique_ptr<rl_training::Run> start(const std::vector<std::string>& more = {}) {
    auto run = Run::start(config(more), context());
    blocker_ = run->path() + "/checkpoints";
    write_all(blocker_, "in the way");
    return run;
  }
  Callbacks unblock_at(int64_t update) const {
    Callbacks callbacks;
    callbacks.on_update_end = [=, this](const TrainProgress& progress, const Metrics&) {
      if (progress.update_count == update) fs::remove(blocker_);
    };
    return callbacks;
  }
  std::string blocker_;
};

TEST_F(FailingSaves, AreTriedAgain) {
  const auto run = start({"eval_episodes=0"});
  // The saves at updates 7 and 14 fail, and the save at update 21 succeeds.
  const auto result = run->train(unblock_at(20));
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_TRUE(warnings_[0].starts_with("warning: checkpoint of step 7 failed (")) << warnings_[0];
  EXPECT_TRUE(warnings_[1].starts_with("warning: checkpoint of step 14 failed (")) << warnings_[1];
  EXPECT_NE(warnings_[0].find(run->path()), std::string::npos) << warnings_[0];
  EXPECT_EQ(result.checkpoint, run->path() + "/checkpoints/step-000000060");
  const auto whole = train({"eval_episodes=0"});
  EXPECT_TRUE(tensors_of(result.checkpoint) == tensors_of(whole.checkpoint));
}

TEST_F(FailingSaves, ThreeInARowEndTheRun) {
  const auto run = start({"eval_episodes=0"});
  int64_t last = 0;
  Callbacks callbacks;
  callbacks.on_update_end = [&](const TrainProgress& progress, const Metrics&) {
    last = progress.update_count;
  };
  try {
    run->train(callbacks);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
  EXPECT_EQ(last, 21);
  EXPECT_EQ(warnings_.size(), 2u);
}

// If the last checkpoint cannot be saved, training fails. Otherwise, the work since the last good
// checkpoint would be lost silently.
TEST_F(FailingSaves, TheLastOneMustSucceed) {
  const auto run = start({"eval_episodes=0", "checkpoint_interval=40"});
  try {
    run->train();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
  EXPECT_EQ(warnings_.size(), 2u);  // at updates 40 and 60
}

}  // namespace
}  // namespace rl_training::test_run
