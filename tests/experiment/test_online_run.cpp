// Tests online runs: the contents of their checkpoints, and resuming.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "rl_training/experiment/run.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_config.h"

namespace rl_training::test_online_run {
namespace {

namespace fs = std::filesystem;

std::vector<Json> rows_of(const std::string& run_dir) {
  std::vector<Json> rows;
  std::istringstream lines(read_all(run_dir + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) rows.push_back(Json::parse(line));
  return rows;
}

std::vector<std::string> replay_files(const std::string& checkpoint) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(checkpoint)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("replay-")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns everything that depends only on the seed: the logs, and every file of the last checkpoint
// except its manifest.
std::map<std::string, std::string> outcome(const RunResult& result) {
  std::map<std::string, std::string> content;
  for (const char* name : {"metrics.jsonl", "metrics.csv"}) {
    content[name] = read_all(result.run_dir + "/" + name);
  }
  for (const auto& entry : fs::directory_iterator(result.checkpoint)) {
    const auto name = entry.path().filename().string();
    if (name != "manifest.json") content[name] = read_all(entry.path().string());
  }
  return content;
}

struct Abandoned {};

Callbacks abandon_at(int64_t position) {
  Callbacks callbacks;
  callbacks.on_update_end = [position](const TrainProgress& progress, const Metrics&) {
    if (progress.position >= position) throw Abandoned{};
  };
  return callbacks;
}

ReplayBuffer small_buffer() { return {2000, Space::unbounded(1), Space::unit_box(1)}; }

void add_row(ReplayBuffer& buffer) {
  const auto n = static_cast<float>(buffer.total());
  const float next = n + 1;
  buffer.add(&n, &n, n, &next, false, false);
}

class OnlineRunTest : public testing::Test {
 protected:
  TrainConfig config(const std::string& algo, const std::vector<std::string>& more = {}) const {
    return tiny_config(algo, directory_ / "runs", more);
  }
  RunContext context() {
    RunContext context;
    context.warn = [this](const std::string& line) { warnings_.push_back(line); };
    return context;
  }
  RunResult train(const TrainConfig& config) { return Run::start(config, context())->train(); }
  RunResult resume(const std::string& path, const ResumeChanges& changes = {}) {
    return Run::resume(path, changes, context())->train();
  }
  // Interrupts the run at each of the positions, resumes it each time in a new object, and compares
  // the result with an uninterrupted run.
  void expect_pieces_equal_the_whole(const TrainConfig& config,
                                     const std::vector<int64_t>& positions) {
    const auto whole = outcome(train(config));
    auto run = Run::start(config, context());
    const auto path = run->path();
    for (const int64_t position : positions) {
      EXPECT_THROW(run->train(abandon_at(position)), Abandoned) << position;
      run.reset();
      run = Run::resume(path, {}, context());
    }
    const auto pieces = outcome(run->train());
    ASSERT_EQ(pieces.size(), whole.size());
    for (const auto& [name, bytes] : whole) EXPECT_TRUE(pieces.at(name) == bytes) << name;
  }

  TemporaryDirectory directory_;
  std::vector<std::string> warnings_;
};

// Checkpoints are written at steps 7, 14, ..., at the end, and after an evaluation (steps 20, 40
// and 60) that has the best return so far. The last two checkpoints are those of steps 56 and 60.
TEST_F(OnlineRunTest, EachCheckpointAddsTheRowsSinceTheOneBefore) {
  const auto result = train(config("sac", {"buffer_capacity=1000"}));
  const auto newest = replay_files(result.run_dir + "/checkpoints/step-000000060");
  const auto before = replay_files(result.run_dir + "/checkpoints/step-000000056");
  ASSERT_EQ(newest.size(), before.size() + 1);
  EXPECT_EQ(newest.front(), "replay-000000000000.rows");
  EXPECT_EQ(newest.back(), "replay-000000000056.rows");
  for (const auto& name : before) {
    struct stat first {
    }, second{};
    ::stat((result.run_dir + "/checkpoints/step-000000056/" + name).c_str(), &first);
    ::stat((result.run_dir + "/checkpoints/step-000000060/" + name).c_str(), &second);
    EXPECT_EQ(first.st_ino, second.st_ino) << name;
  }
  uint64_t bytes = 0;
  for (const auto& name : newest) bytes += fs::file_size(result.checkpoint + "/" + name);
  EXPECT_EQ(bytes, 60u * 9 * 4);  // 9 values: two observations of 3, action, reward, flags
}

TEST_F(OnlineRunTest, FilesOfRowsThatWereOverwrittenGo) {
  const auto result = train(config("sac"));  // the capacity is 40, and 60 rows are collected
  const auto names = replay_files(result.checkpoint);
  EXPECT_GT(names.front(), "replay-000000000000.rows");
  EXPECT_LE(names.front(), "replay-000000000020.rows");
}

TEST_F(OnlineRunTest, ADamagedRowsFileLeadsToTheOlderCheckpoint) {
  const auto result = train(config("sac"));
  const auto expected = outcome(result);
  const auto file = result.checkpoint + "/" + replay_files(result.checkpoint).back();
  auto bytes = read_all(file);
  bytes[10] = static_cast<char>(bytes[10] ^ 4);
  write_all(file, bytes);
  const auto again = resume(result.run_dir);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("step-000000060 is damaged"), std::string::npos) << warnings_[0];
  EXPECT_NE(warnings_[0].find("step-000000056"), std::string::npos) << warnings_[0];
  EXPECT_EQ(outcome(again), expected);
}

// The file with the first rows is missing from the checkpoint's list of files, so the buffer would
// be incomplete.
TEST_F(OnlineRunTest, RowsThatAreNotThereAreMissed) {
  auto buffer = small_buffer();
  ReplayFiles rows(buffer, posix_file_system());
  Checkpoint checkpoint;
  for (const char* name : {"first", "second"}) {
    for (int i = 0; i < 3; ++i) add_row(buffer);
    fs::create_directory(directory_ / name);
    checkpoint.files = rows.checkpoint_files();
    for (const auto& file : checkpoint.files) {
      write_all(directory_ / (std::string(name) + "/" + file.name), file.bytes());
    }
    rows.saved_in(directory_ / name);
  }
  ASSERT_EQ(checkpoint.files.size(), 2u);
  auto whole = small_buffer(), part = small_buffer();
  EXPECT_NO_THROW(ReplayFiles(whole, posix_file_system()).load(checkpoint));
  checkpoint.files.erase(checkpoint.files.begin());
  try {
    ReplayFiles(part, posix_file_system()).load(checkpoint);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 4);
  }
}

// The test deletes all checkpoints during training. All rows are also in memory, so the next
// checkpoint contains all of them again.
TEST_F(OnlineRunTest, RowsAreWrittenAnewWhenTheirFilesAreGone) {
  const auto made = config("sac", {"buffer_capacity=1000"});
  const auto expected = read_all(train(made).checkpoint + "/tensors.safetensors");
  auto run = Run::start(made, context());
  Callbacks callbacks;
  callbacks.on_update_end = [&](const TrainProgress& progress, const Metrics&) {
    if (progress.global_step == 45) fs::remove_all(run->path() + "/checkpoints");
  };
  const auto result = run->train(callbacks);
  run.reset();
  EXPECT_EQ(replay_files(result.run_dir + "/checkpoints/step-000000049"),
            std::vector<std::string>{"replay-000000000000.rows"});
  EXPECT_EQ(read_all(result.checkpoint + "/tensors.safetensors"), expected);
  fs::rename(result.run_dir, directory_ / "moved");
  EXPECT_EQ(resume(directory_ / "moved", {80, {}}).summary.global_step, 80);
}

// Every checkpoint adds a file. Without merging, a long run would have thousands of files.
TEST_F(OnlineRunTest, ManyFilesBecomeOne) {
  auto buffer = small_buffer();
  ReplayFiles rows(buffer, posix_file_system());
  const auto place = directory_ / "files";
  fs::create_directory(place);
  size_t most = 0, last = 0;
  for (int i = 0; i < 600; ++i) {
    add_row(buffer);
    const auto files = rows.checkpoint_files();
    for (const auto& file : files) {
      if (file.existing.empty()) write_all(place + "/" + file.name, file.bytes());
    }
    rows.saved_in(place);
    most = std::max(most, files.size());
    last = files.size();
  }
  EXPECT_EQ(most, 500u);
  EXPECT_LE(last, 101u);
  Checkpoint checkpoint;
  checkpoint.files = rows.checkpoint_files();
  EXPECT_EQ(checkpoint.files.front().name, "replay-000000000000.rows");
  auto again = small_buffer();
  ReplayFiles(again, posix_file_system()).load(checkpoint);
  ASSERT_EQ(again.total(), 600);
  EXPECT_EQ(again.encode(0, 600), buffer.encode(0, 600));
}

TEST_F(OnlineRunTest, AnOfflineRunGoesOnInItsEnvironment) {
  const auto whole_config = config("td3_bc", {"online=30"});
  const auto whole = Run::start(whole_config, context());
  const auto planned = whole->train();
  EXPECT_EQ(planned.summary.update_count, 90);
  EXPECT_EQ(planned.summary.global_step, 30);
  EXPECT_EQ(planned.checkpoint, planned.run_dir + "/checkpoints/step-000000090");

  const auto offline = train(config("td3_bc"));
  ResumeChanges changes;
  changes.online_timesteps = 30;
  auto online = Run::resume(offline.run_dir, changes, context());
  const auto result = online->train();
  EXPECT_EQ(result.run_dir, offline.run_dir);
  EXPECT_EQ(result.summary.update_count, 90);
  EXPECT_EQ(result.summary.global_step, 30);
  const std::vector<std::vector<double>> obs = {{1, 0, 0}, {0, 1, -3}, {-1, 0, 5}};
  EXPECT_EQ(online->policy().predict(obs), whole->policy().predict(obs));
  EXPECT_EQ(rows_of(result.run_dir).back(), rows_of(planned.run_dir).back());
  const auto last = rows_of(result.run_dir).back();
  EXPECT_EQ(last["buffer_size"], 30);
  EXPECT_EQ(last["pretrain_updates_done"], 60);
  EXPECT_EQ(last["offline_batch_size"], 16);
  EXPECT_EQ(last["online_batch_size"], 16);
  const auto saved = read_train_config(load_config(result.run_dir + "/config.yaml"));
  EXPECT_TRUE(saved.online.used);
  EXPECT_EQ(saved.online.total_timesteps, 30);

  online.reset();
  changes.online_timesteps = 50;  // a later resume can extend the online phase
  EXPECT_EQ(resume(result.run_dir, changes).summary.global_step, 50);
  EXPECT_EQ(resume(result.run_dir).summary.global_step, 50);
}

TEST_F(OnlineRunTest, GoingOnlineIsForOfflineAlgorithms) {
  const auto result = train(config("sac", {"total_timesteps=12"}));
  ResumeChanges changes;
  changes.online_timesteps = 30;
  try {
    resume(result.run_dir, changes);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_NE(std::string(error.what()).find("--total-timesteps"), std::string::npos);
  }
}

// The run is interrupted twice in the offline phase, in the last offline update (60), in the first
// online update (63, after three environment steps) and twice later.
TEST_F(OnlineRunTest, FineTuningInPiecesEqualsTheWhole) {
  expect_pieces_equal_the_whole(
      config("td3_bc", {"online={total_timesteps: 40, buffer_capacity: 32, train_frequency: 3, "
                        "gradient_updates_per_step: 2}"}),
      {5, 33, 60, 63, 80, 94});
}

TEST_F(OnlineRunTest, PretrainingInPiecesEqualsTheWhole) {
  expect_pieces_equal_the_whole(
      config("rlpd", {"offline_pretrain_updates=25", "gradient_updates_per_step=4"}),
      {3, 24, 36, 50, 70});
}

TEST_F(OnlineRunTest, HindsightInPiecesEqualsTheWhole) {
  for (const char* her : {"her=future", "her=final", "her=episode"}) {
    SCOPED_TRACE(her);
    expect_pieces_equal_the_whole(
        config("sac", {"env_id=RL-PointGoal2D-v0", her, "total_timesteps=160",
                       "buffer_capacity=120", "num_envs=2"}),
        {104, 110, 131, 150});
  }
}

// Returns need complete episodes, so updates start after the first episode has ended. Rows that are
// restored to the buffer retain their returns. The second case has WSRL's settings: no offline
// data, a warm-up, and several critic updates per actor update.
TEST_F(OnlineRunTest, CalibrationInPiecesEqualsTheWhole) {
  for (const char* online : {"offline_batch_ratio: 0.5",
                             "offline_batch_ratio: 0, warmup_steps: 90, "
                             "gradient_updates_per_step: 3"}) {
    SCOPED_TRACE(online);
    expect_pieces_equal_the_whole(
        config("cal_ql", {"env_id=RL-PointGoal2D-v0", "total_timesteps=20", "num_envs=2",
                          "failure_reward=-1", "online_cql_alpha=0", "actor_once_per_block=true",
                          std::string("online={total_timesteps: 160, buffer_capacity: 120, ") +
                              online + "}"}),
        {11, 22, 124, 131, 150, 171});
  }
}

// Every offline algorithm is interrupted in its offline phase, at the end of this phase, and in its
// online phase.
TEST_F(OnlineRunTest, FineTuningOfEachInPiecesEqualsTheWhole) {
  for (const auto& info : algorithms()) {
    const auto defaults = default_config(info.name);
    const auto request = defaults.algorithm->request();
    if (defaults.collects_by_itself() || request.window > 0) continue;
    // Returns, and the updates of TD7, need a finished episode. These few steps do not contain one.
    if (request.has(BatchColumn::return_to_go) || info.name == "td7") continue;
    SCOPED_TRACE(info.name);
    expect_pieces_equal_the_whole(
        config(info.name, {"total_timesteps=20", "learning_rate_schedule=cosine",
                           "online={total_timesteps: 21, learning_starts: 4}", "num_envs=2"}),
        {7, 20, 28, 37});
  }
}

TEST_F(OnlineRunTest, UpdatesAtTheEndsOfEpisodesInPiecesEqualTheWhole) {
  expect_pieces_equal_the_whole(
      config("td7", {"total_timesteps=20", "env_kwargs.max_episode_steps=6",
                     "online={total_timesteps: 60, learning_starts: 4}"}),
      {7, 20, 29, 44, 62});
}

// An online phase that was planned from the start equals an online phase that is added later, even
// with a schedule, a warm-up and limits.
TEST_F(OnlineRunTest, GoingOnlineLaterEqualsHavingPlannedIt) {
  const std::vector<std::string> keys = {"learning_rate_schedule=cosine", "warmup_steps=50",
                                         "min_buffer_size=500", "max_epochs=1000"};
  auto planned_keys = keys;
  planned_keys.emplace_back("online={total_timesteps: 30, buffer_capacity: 100}");
  const auto planned = rows_of(train(config("iql", planned_keys)).run_dir);
  auto changes = ResumeChanges();
  changes.online_timesteps = 30;
  const auto offline = train(config("iql", keys));
  const auto later = rows_of(resume(offline.run_dir, changes).run_dir);
  EXPECT_EQ(later.back(), planned.back());
  EXPECT_EQ(later.back()["update_count"], 90);  // the warm-up applies only to the offline phase
  EXPECT_EQ(later.back()["lr_scale"], 1.0);
  EXPECT_EQ(later.back()["epoch"], 90 / 19);  // 600 rows in batches of 32 are 19 updates
}

TEST_F(OnlineRunTest, UpdatesFromDataEndWithTheFirstStep) {
  const auto result = train(config("td3_bc", {"online=30"}));
  const auto refused = [&](const ResumeChanges& changes) -> std::string {
    try {
      resume(result.run_dir, changes);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 2);
      return error.what();
    }
    return "not refused";
  };
  EXPECT_NE(refused({100, {}}).find("expected --online N"), std::string::npos);
  EXPECT_NE(refused({40, {}, 60}).find("expected --online N"), std::string::npos);
  EXPECT_EQ(resume(result.run_dir, {60, {}, 40}).summary.global_step, 40);

  const auto offline = train(config("td3_bc"));
  try {
    resume(offline.run_dir, {40, {}, 30});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("expected at least 60, got 40"), std::string::npos);
  }
  EXPECT_EQ(resume(offline.run_dir, {70, {}, 30}).summary.update_count, 100);
}

// With 4 environments, 10 steps are rounded up to 12. The extended run equals a run that was
// planned with 50 steps.
TEST_F(OnlineRunTest, ALongerRunOfSeveralEnvironmentsEqualsAStraightOne) {
  const std::vector<std::string> keys = {"num_envs=4", "learning_starts=1"};
  auto shorter = keys, longer = keys;
  shorter.emplace_back("total_timesteps=10");
  longer.emplace_back("total_timesteps=50");
  const auto first = train(config("td3", shorter));
  EXPECT_EQ(first.summary.global_step, 12);
  EXPECT_EQ(first.summary.update_count, 2 * 12);
  const auto whole = Run::start(config("td3", longer), context());
  const auto resumed = Run::resume(first.run_dir, {50, {}}, context());
  EXPECT_EQ(whole->train().summary.update_count, 2 * 52);
  EXPECT_EQ(resumed->train().summary.update_count, 2 * 52);
  const std::vector<std::vector<double>> obs = {{1, 0, 0}, {0, 1, -3}, {-1, 0, 5}};
  EXPECT_EQ(resumed->policy().predict(obs), whole->policy().predict(obs));
}

TEST_F(OnlineRunTest, NothingToLearnFromIsSaid) {
  train(config("sac", {"learning_starts=1000"}));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("learning_starts"), std::string::npos) << warnings_[0];
}

// Applies the transform of collected rewards to three raw rewards.
std::vector<double> collected_rewards(const TrainConfig& config,
                                      std::vector<std::string>* warnings) {
  const auto warn = [&](const std::string& line) { warnings->push_back(line); };
  const auto transform = collected_reward(config, load_run_data(config, {.warn = warn}), warn);
  std::vector<double> rewards;
  for (const double raw : {-0.5, -3.0, -12.0}) rewards.push_back(transform.apply(raw));
  return rewards;
}

TEST_F(OnlineRunTest, RewardKeysHoldForBothSources) {
  const auto raw = collected_rewards(config("rlpd"), &warnings_);
  const auto shifted = collected_rewards(config("rlpd", {"reward_shift=-1"}), &warnings_);
  const auto own =
      collected_rewards(config("rlpd", {"env_kwargs.wrappers.reward.scale=2"}), &warnings_);
  const auto same = collected_rewards(
      config("rlpd", {"reward_scale=2", "env_kwargs.wrappers.reward.scale=2"}), &warnings_);
  for (size_t i = 0; i < raw.size(); ++i) {
    EXPECT_LT(raw[i], 0);
    EXPECT_NEAR(shifted[i], raw[i] - 1, 1e-5);
    EXPECT_NEAR(own[i], 2 * raw[i], 1e-5);
    EXPECT_EQ(same[i], own[i]);
  }
  ASSERT_EQ(warnings_.size(), 1u);  // only `own` changes just one of the two sources
  EXPECT_NE(warnings_[0].find("env_kwargs.wrappers.reward"), std::string::npos);

  const auto data = load_run_data(config("rlpd", {"reward_shift=-1"}), {});
  const auto plain = load_run_data(config("rlpd"), {});
  EXPECT_NEAR(data.rows->reward(7), plain.rows->reward(7) - 1, 1e-5);

  // A preset that depends on the data needs raw rewards, so it is rejected together with another
  // transform.
  try {
    collected_rewards(
        config("rlpd", {"reward_scale=0.1", "env_kwargs.wrappers.reward.preset=standardize"}),
        &warnings_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_EQ(error.place().key, "env_kwargs.wrappers.reward.preset");
  }
}

// Evaluations report raw returns even if rewards are changed. A shift of -1 would change the return
// of a Pendulum episode by 200.
TEST_F(OnlineRunTest, EvaluationsStayRaw) {
  const auto first_return = [&](const std::vector<std::string>& more) {
    return rows_of(train(config("rlpd", more)).run_dir).front()["eval_return_mean"];
  };
  EXPECT_EQ(first_return({"reward_shift=-1"}), first_return({}));
  EXPECT_EQ(first_return({"env_kwargs.wrappers.reward.shift=-1"}), first_return({}));
}

TEST_F(OnlineRunTest, GoalTasksReportTheirSuccess) {
  for (const char* her : {"her=future", "her="}) {
    const auto result = train(config("td3", {"env_id=RL-PointGoal1D-v0", her}));
    EXPECT_TRUE(rows_of(result.run_dir).front().contains("eval_success_rate")) << her;
    const auto csv = read_all(result.run_dir + "/metrics.csv");
    EXPECT_NE(csv.substr(0, csv.find('\n')).find("eval_success_rate"), std::string::npos) << her;
  }
}

TEST_F(OnlineRunTest, NoUpdateBeforeTheWarmUp) {
  auto made = config("sac", {"learning_starts=10", "warmup_steps=25"});
  EXPECT_EQ(UpdateRhythm(made.phases().front()).first_update_step, 25);
  EXPECT_EQ(train(made).summary.update_count, 2 * (60 - 24));
  made = config("sac", {"learning_starts=10", "min_buffer_size=31"});
  EXPECT_EQ(train(made).summary.update_count, 2 * (60 - 30));
  made = config("td3_bc", {"online={total_timesteps: 40, warmup_steps: 25}"});
  EXPECT_EQ(train(made).summary.update_count, 60 + (40 - 24));
}

}  // namespace
}  // namespace rl_training::test_online_run
