#include <gtest/gtest.h>

#include "rl_training/experiment/run.h"
#include "tests/experiment/logged_machine.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_config.h"

namespace rl_training::test_no_environment {
namespace {

class NoEnvironment : public testing::Test {
 protected:
  TrainConfig config(const std::string& more = "", const std::string& algo = "td3_bc",
                     const std::string& top = "") const {
    return machine_config(log_, directory_ / "runs", more, algo, top);
  }
  std::unique_ptr<rl_training::Run> start(const TrainConfig& config) {
    RunContext context;
    context.warn = [this](const std::string& line) { warnings_.push_back(line); };
    return rl_training::Run::start(config, context);
  }
  std::string problem(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryDirectory directory_;
  std::string log_ = write_machine_log(directory_ / "log.npz");
  std::vector<std::string> warnings_;
};

TEST_F(NoEnvironment, BoundsComeFromTheDataWithAWarning) {
  const auto run = start(config());
  const auto& env = run->policy().env();
  EXPECT_EQ(env.observation, Space::unbounded(2));
  EXPECT_EQ(env.action, Space::box({-3, 0}, {1, 10}));
  EXPECT_EQ(warnings_, std::vector<std::string>{
                           "warning: action_low and action_high are not given: actions are "
                           "bounded by those in the data, [-3, 1], [0, 10]"});
}

TEST_F(NoEnvironment, BoundsComeFromKeys) {
  EXPECT_EQ(start(config(", action_low: [-4, -1], action_high: 12"))->policy().env().action,
            Space::box({-4, -1}, {12, 12}));
  EXPECT_TRUE(warnings_.empty());
  EXPECT_EQ(start(config(", action_low: -5"))->policy().env().action,
            Space::box({-5, -5}, {1, 10}));
  EXPECT_EQ(warnings_.size(), 1u);
  EXPECT_TRUE(warnings_[0].starts_with("warning: action_high is not given: ")) << warnings_[0];
}

TEST_F(NoEnvironment, ActionsOfTheDataAreScaledByTheBounds) {
  const auto narrow = load_run_data(config(", action_low: [-3, 0], action_high: [1, 10]"), {});
  const auto wide = load_run_data(config(", action_low: [-7, -10], action_high: [5, 20]"), {});
  EXPECT_EQ(narrow.rows->action(0)[0], -1.0f);    // -3 in [-3, 1]
  EXPECT_EQ(wide.rows->action(0)[0], -1.0f / 3);  // -3 in [-7, 5]
  EXPECT_EQ(wide.rows->action(3)[1], 1.0f / 3);   // 10 in [-10, 20]
  const auto unit = load_run_data(config(", dataset_actions: unit, action_high: 3"), {});
  EXPECT_EQ(unit.rows->action(0)[0], -3.0f);
  EXPECT_EQ(unit.env.action, Space::box({-1, -1}, {3, 3}));
}

TEST_F(NoEnvironment, PolicyIsLoadedResumedAndAsksForNoEnvironment) {
  const auto first = start(config())->train();
  EXPECT_EQ(first.summary.update_count, 30);
  EXPECT_FALSE(first.summary.metrics.contains("eval_return_mean"));
  auto policy = load_policy(first.run_dir);
  EXPECT_EQ(policy.env().action, Space::box({-3, 0}, {1, 10}));
  EXPECT_EQ(policy.checkpoint(), first.checkpoint);
  const auto action = policy.predict({{0.5, 1.0}}).front();
  ASSERT_EQ(action.size(), 2u);
  EXPECT_TRUE(action[0] >= -3 && action[0] <= 1 && action[1] >= 0 && action[1] <= 10);
  EXPECT_EQ(problem([&] { policy.evaluate(1, 0); }),
            first.checkpoint +
                ": env_id: an evaluation needs an environment, and this run was trained without "
                "one (expected a run whose config has env_id)");

  // A resumed run equals an uninterrupted run.
  const auto longer =
      rl_training::Run::resume(first.run_dir, {.total_timesteps = 50, .threads = {}}, {})->train();
  auto fifty = config();
  fifty.total_timesteps = 50;
  const auto whole = start(fifty)->train();
  EXPECT_EQ(read_all(longer.checkpoint + "/tensors.safetensors"),
            read_all(whole.checkpoint + "/tensors.safetensors"));
}

// The checkpoint may come from another program whose environment is unknown here.
TEST_F(NoEnvironment, APolicyActsWhereItsEnvironmentIsNotKnown) {
  auto config = tiny_config("td3_bc", directory_ / "runs", {"total_timesteps=5"});
  const auto trained = start(config)->train();
  auto checkpoint = load_checkpoint(posix_file_system(), trained.checkpoint);
  checkpoint.manifest["config"]["env_id"] = "Somewhere-v9";
  checkpoint.manifest["config"]["env_kwargs"]["gravity"] = 3;
  const auto copy = directory_ / "copy";
  copy_checkpoint(posix_file_system(), checkpoint, copy);
  auto policy = load_policy(copy);
  EXPECT_EQ(policy.env().action, Space::box({-2}, {2}));
  EXPECT_EQ(policy.predict({{1, 0, 0}}), load_policy(trained.checkpoint).predict({{1, 0, 0}}));
  EXPECT_NE(problem([&] { policy.evaluate(1, 0); }).find("unknown environment"), std::string::npos);
}

TEST_F(NoEnvironment, SpacesThatCannotBelongToACheckpointAreRefused) {
  const auto trained = start(config())->train();
  const auto refused = [&](const char* space, const Json& value) {
    auto checkpoint = load_checkpoint(posix_file_system(), trained.checkpoint);
    checkpoint.manifest["spaces"][space] = value;
    copy_checkpoint(posix_file_system(), checkpoint, directory_ / "copy");
    return problem([&] { load_policy(directory_ / "copy"); });
  };
  const auto path = directory_ / "copy";
  EXPECT_EQ(refused("observation", {{"kind", "box"}, {"shape", {200000000}}}),
            path + ": spaces.observation: does not fit the tensors of the checkpoint");
  EXPECT_EQ(refused("observation", 3),
            path + ": spaces.observation: not the description of a space");
  EXPECT_EQ(refused("action", {{"kind", "box"}, {"shape", {2}}}),
            path + ": spaces.action: has no bounds to scale actions to");
  EXPECT_EQ(refused("action", {{"kind", "discrete"}, {"shape", Json::array()}, {"categories", 4}}),
            path + ": spaces: not what td3_bc learns to act on");
  // The tensors of the checkpoint are for two observation values, not three.
  EXPECT_NE(refused("observation", {{"kind", "box"}, {"shape", {3}}}).find("wrong array"),
            std::string::npos);
}

TEST_F(NoEnvironment, KeysThatNeedOneAreRefused) {
  const auto refused = [&](const std::string& algo, const std::string& top,
                           const std::string& more = "") {
    return problem([&] { config(more, algo, top); });
  };
  EXPECT_EQ(refused("td3_bc", "eval_episodes: 5\n"),
            "c.yaml:5: eval_episodes: episodes are played in an environment (expected env_id: ID "
            "of an environment; it is none)");
  EXPECT_TRUE(refused("td3_bc", "online: 100\n").starts_with("c.yaml:5: online: "));
  EXPECT_TRUE(refused("rlpd", "").starts_with("c.yaml:1: algo: rlpd learns in an environment"));
  EXPECT_TRUE(refused("td3_bc", "num_envs: 4\n").starts_with("c.yaml:5: num_envs: "));
  EXPECT_TRUE(refused("td3_bc", "env_kwargs: {wrappers: {reward: {scale: 2}}}\n")
                  .starts_with("c.yaml:5: env_kwargs.wrappers.reward: no rewards are collected"));
  EXPECT_TRUE(refused("td3_bc", "env_kwargs: {wrappers: {pixels: {size: 84}}}\n")
                  .starts_with("c.yaml:5: env_kwargs.wrappers.pixels: there is nothing to draw"));
  EXPECT_EQ(refused("td3_bc", "env_id: Pendulum-v1\n", ", action_low: -1"),
            "c.yaml:7: algo_kwargs.action_low: Pendulum-v1 has its own bounds (expected this "
            "key only with env_id: none)");
  EXPECT_EQ(refused("td3_bc", "env_id: none\n"), "no error");
  EXPECT_TRUE(problem([] {
                read_train_config(read_yaml("algo: td3_bc\n", "c.yaml"));
              }).starts_with("c.yaml:1: env_id: missing (expected for example env_id: "));
  EXPECT_TRUE(refused("td3_bc", "", ", dataset_kind: random")
                  .ends_with("random data is generated in an environment (expected a file, or "
                             "env_id: ID)"));
}

TEST_F(NoEnvironment, EarlyStoppingCannotWatchReturns) {
  EXPECT_TRUE(problem([&] { config(", early_stopping: {}"); })
                  .starts_with("c.yaml:6: algo_kwargs.early_stopping.metric: no such metric: "
                               "eval_return_mean (expected one of "));
}

TEST_F(NoEnvironment, KeysMustFitTheData) {
  EXPECT_EQ(problem([&] { start(config(", action_low: [0, 0, 0]")); }),
            "algo_kwargs.action_low: does not fit the actions (expected one number or 2, got 3)");
  EXPECT_EQ(problem([&] { start(config(", action_low: 5, action_high: [6, 4]")); }),
            "algo_kwargs.action_low: above action_high in column 1 (expected low <= high, got 5 "
            "and 4)");
  EXPECT_EQ(problem([&] { start(config(", learn_from: data", "discrete_sac")); }),
            log_ + ": actions: the environment has other actions (expected 1 columns, got 2)");
}

TEST_F(NoEnvironment, ChoicesAreCounted) {
  DatasetBuilder builder(Space::unbounded(1), Space::discrete(3));
  for (int episode = 0; episode < 6; ++episode) {
    builder.begin_episode(std::array{0.0f});
    for (int64_t step = 0; step < 12; ++step) {
      builder.add(std::array<int64_t, 1>{(step + episode) % 3}, 1,
                  std::array{static_cast<float>(step)}, step == 11, false);
    }
  }
  save_npz_dataset(std::move(builder).build(), log_, nullptr);
  const auto data = load_run_data(config(", learn_from: data, action_high: 4", "discrete_sac"), {});
  EXPECT_EQ(data.env.action, Space::discrete(5));
  EXPECT_EQ(data.rows->choice(2), 2);
  const auto run = start(config(", learn_from: data", "discrete_sac"));
  EXPECT_EQ(run->policy().env().action, Space::discrete(3));
  EXPECT_EQ(warnings_.front(),
            "warning: action_high is not given: assuming 3 discrete actions, 0 to 2, "
            "because 2 is the largest in the data");
  EXPECT_TRUE(problem([&] {
                start(config(", learn_from: data, action_high: 1", "discrete_sac"));
              }).starts_with("algo_kwargs.action_high: not the index of the last action"));
}

}  // namespace
}  // namespace rl_training::test_no_environment
