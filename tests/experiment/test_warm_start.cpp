#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "rl_training/experiment/run.h"
#include "tests/experiment/logged_machine.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_config.h"

namespace rl_training::test_warm_start {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class WarmStartTest : public testing::Test {
 protected:
  TrainConfig config(const std::string& kwargs = "", const std::string& algo = "td3_bc",
                     const std::string& top = "") const {
    return machine_config(log_, directory_ / "runs", kwargs, algo, top);
  }
  std::unique_ptr<rl_training::Run> start(const TrainConfig& config, const std::string& from = "") {
    RunContext context;
    context.warn = [this](const std::string& line) { warnings_.push_back(line); };
    return rl_training::Run::start(config, context, from);
  }
  std::string problem(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  static Json metadata_of(const std::string& run_dir) {
    return Json::parse(read_all(run_dir + "/metadata.json"));
  }
  // Returns the bytes of an array of a checkpoint.
  static std::string array(const std::string& checkpoint, const std::string& name) {
    for (const auto& entry : load_checkpoint(posix_file_system(), checkpoint).entries) {
      if (entry.name == name) return entry.bytes;
    }
    return "no such array";
  }

  TemporaryDirectory directory_;
  std::string log_ = write_machine_log(directory_ / "log.npz");
  std::vector<std::string> warnings_;
};

constexpr char kActorWeight[] = "algorithm.actor.member0.layer0.weight";

TEST_F(WarmStartTest, NetworksAndNormaliserAreTaken) {
  const auto first = start(config())->train();
  log_ = write_machine_log(directory_ / "other.npz", 6);
  warnings_.clear();
  const auto second = start(config("", "td3_bc", "seed: 9\n"), first.run_dir);
  const auto zero = second->path() + "/checkpoints/step-000000000";
  for (const char* name : {kActorWeight, "algorithm.critics.member1.layer1.bias",
                           "algorithm.critics_target.member0.layer0.weight", "normalizer.mean"}) {
    EXPECT_EQ(array(zero, name), array(first.checkpoint, name)) << name;
    EXPECT_NE(array(zero, name), "no such array") << name;
  }
  // Optimisers and random streams are not copied.
  EXPECT_NE(array(zero, "algorithm.actor_optimizer.steps"),
            array(first.checkpoint, "algorithm.actor_optimizer.steps"));
  EXPECT_EQ(second->policy().predict({{0.3, -0.1}}),
            load_policy(first.run_dir).predict({{0.3, -0.1}}));
  EXPECT_EQ(warnings_.front(), "from " + first.checkpoint +
                                   ": actor, actor_target, critics, critics_target, normalizer");
  const auto from = metadata_of(second->path())["from"];
  EXPECT_EQ(from["checkpoint"], first.checkpoint);
  EXPECT_EQ(from["taken"],
            Json(Names{"actor", "actor_target", "critics", "critics_target", "normalizer"}));
  EXPECT_EQ(from["left"], Json::array());
}

TEST_F(WarmStartTest, TheBoundsOfTheNetworksHoldUnlessKeysSayOtherwise) {
  const auto first = start(config(", action_low: -20, action_high: 20"))->train();
  warnings_.clear();
  EXPECT_EQ(start(config(), first.run_dir)->policy().env().action,
            Space::box({-20, -20}, {20, 20}));
  EXPECT_EQ(warnings_.size(), 1u);  // lists the copied parts; there is no warning about bounds
  warnings_.clear();
  EXPECT_EQ(
      start(config(", action_low: -30, action_high: 30"), first.run_dir)->policy().env().action,
      Space::box({-30, -30}, {30, 30}));
  EXPECT_TRUE(warnings_.back().starts_with("warning: the action bounds differ from those of "));
}

TEST_F(WarmStartTest, OfAnotherAlgorithmWhatFits) {
  const auto cloned = start(config("", "bc"))->train();
  const auto run = start(config("", "awac"), cloned.run_dir);
  const auto from = metadata_of(run->path())["from"];
  EXPECT_NE(std::find(from["taken"].begin(), from["taken"].end(), "normalizer"),
            from["taken"].end());
  EXPECT_EQ(from["left"], Json(Names{"critics", "critics_target"}));
}

TEST_F(WarmStartTest, ARunOfWhichNothingFitsIsRefusedAndLeavesNothing) {
  const auto first = start(config())->train();
  auto wide = config();
  wide.algorithm->hidden_sizes = {9};
  const auto before = std::distance(fs::directory_iterator(directory_ / "runs"), {});
  const auto text = problem([&] { start(wide, first.run_dir); });
  EXPECT_EQ(text, "--from: no network of " + first.checkpoint +
                      " fits this config (it needs actor, actor_target, critics, critics_target "
                      "in its own sizes)");
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_ / "runs"), {}), before);
  EXPECT_TRUE(problem([&] {
                start(config(), directory_ / "nowhere");
              }).ends_with("no such run or checkpoint directory"));
}

// The run is killed before its first update. The checkpoint of step 0 already exists.
TEST_F(WarmStartTest, AKilledRunGoesOnFromItsStart) {
  const auto first = start(config())->train();
  const auto straight = start(config("", "td3_bc", "seed: 4\n"), first.run_dir)->train();
  const auto killed = start(config("", "td3_bc", "seed: 4\n"), first.run_dir)->path();
  const auto resumed = rl_training::Run::resume(killed, {}, {})->train();
  EXPECT_EQ(read_all(resumed.checkpoint + "/tensors.safetensors"),
            read_all(straight.checkpoint + "/tensors.safetensors"));
}

TEST_F(WarmStartTest, ResumeFindsMovedDataAndGoesElsewhere) {
  const auto first = start(config())->train();
  fs::create_directories(directory_ / "archive");
  fs::rename(log_, directory_ / "archive/moved.npz");
  const auto resume = [&](const std::string& path) {
    return rl_training::Run::resume(first.run_dir,
                                    {.total_timesteps = 40,
                                     .threads = {},
                                     .dataset_path = path,
                                     .output_dir = directory_ / "elsewhere"},
                                    {});
  };
  EXPECT_THROW(rl_training::Run::resume(first.run_dir, {.total_timesteps = 40, .threads = {}}, {}),
               Error);
  const auto moved = resume(directory_ / "archive/moved.npz")->train();
  EXPECT_TRUE(moved.run_dir.starts_with(directory_ / "elsewhere"));
  EXPECT_EQ(moved.summary.update_count, 40);
  EXPECT_EQ(load_policy(moved.run_dir).config().dataset.source.path,
            directory_ / "archive/moved.npz");
  // The first run is unchanged.
  EXPECT_EQ(load_policy(first.run_dir).checkpoint(), first.checkpoint);
  // Different data is rejected, and no files are written.
  write_machine_log(directory_ / "archive/other.npz", 8);
  const auto text = problem([&] { resume(directory_ / "archive/other.npz"); });
  EXPECT_NE(text.find("the dataset is not the one this run was trained on"), std::string::npos);
  // The moved run can be resumed without the new paths.
  EXPECT_EQ(rl_training::Run::resume(moved.run_dir, {.total_timesteps = 50, .threads = {}}, {})
                ->train()
                .summary.update_count,
            50);
}

TEST_F(WarmStartTest, PathsAreStoredInFull) {
  const auto here = fs::current_path();
  fs::current_path(directory_.path());
  log_ = "log.npz";
  auto relative = config();
  relative.output_dir = "runs";
  const auto first = start(relative)->train();
  const auto path = fs::absolute(first.run_dir).string();
  fs::current_path(here);
  EXPECT_EQ(load_policy(path).config().dataset.source.path,
            fs::path(directory_.path()) / "log.npz");
  EXPECT_EQ(load_policy(path).config().output_dir, fs::path(directory_.path()) / "runs");
  EXPECT_EQ(rl_training::Run::resume(path, {.total_timesteps = 40, .threads = {}}, {})
                ->train()
                .summary.update_count,
            40);
}

TEST_F(WarmStartTest, TheEndOfAPhaseIsKept) {
  const auto result = start(tiny_config("td3_bc", directory_ / "runs",
                                        {"online={total_timesteps: 40}", "checkpoint_interval=10"}))
                          ->train();
  const auto end =
      load_checkpoint(posix_file_system(), result.run_dir + "/checkpoints/phase-offline");
  EXPECT_EQ(end.step, 60);
  // The checkpoint of step 60 was removed when newer checkpoints were written.
  EXPECT_FALSE(fs::exists(result.run_dir + "/checkpoints/step-000000060"));
  // A run with one phase has no copy `phase-offline` until another phase is added.
  const auto offline = start(tiny_config("td3_bc", directory_ / "runs"))->train();
  const auto copy = offline.run_dir + "/checkpoints/phase-offline";
  EXPECT_FALSE(fs::exists(copy));
  ResumeChanges changes;
  changes.online_timesteps = 5;
  rl_training::Run::resume(offline.run_dir, changes, {})->train();
  EXPECT_EQ(load_checkpoint(posix_file_system(), copy).step, 60);
}

}  // namespace
}  // namespace rl_training::test_warm_start
