#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "rl_training/data/d4rl.h"
#include "rl_training/data/minari_writer.h"
#include "rl_training/data/npz.h"
#include "rl_training/envs/recipes.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"
#include "rl_training/experiment/dataset_source.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_dataset_source {
namespace {

DatasetSource recipe(const std::string& id, int64_t size, double weight = 1) {
  DatasetSource source;
  source.kind = "recipe";
  source.id = id;
  source.size = size;
  source.weight = weight;
  return source;
}

TEST(DatasetSource, MixesByWeight) {
  DatasetOptions options;
  options.mix = {recipe("pendulum/expert", 800, 3), recipe("pendulum/random", 800, 1)};
  options.mix_size = 1200;
  const auto mixed = load_transition_dataset(options, "Pendulum-v1");
  EXPECT_EQ(mixed.rows(), 1200);
  // The mean return of 900 expert rows and 300 random rows is between the returns of both sources.
  const double expert = recipe_dataset("pendulum/expert", 800, 0).mean_return();
  const double random = recipe_dataset("pendulum/random", 800, 0).mean_return();
  EXPECT_LT(mixed.mean_return(), expert);
  EXPECT_GT(mixed.mean_return(), random);
  EXPECT_EQ(load_transition_dataset(options, "Pendulum-v1").fingerprint(), mixed.fingerprint());
  options.mix_seed = 1;
  EXPECT_NE(load_transition_dataset(options, "Pendulum-v1").fingerprint(), mixed.fingerprint());
}

TEST(DatasetSource, TransformsRewards) {
  DatasetOptions options;
  options.source = recipe("pendulum/medium", 400);
  const auto raw = load_transition_dataset(options, "Pendulum-v1");
  options.reward.scale = 0.5;
  options.reward.shift = 1.0;
  options.reward.clip_min = -2.0;
  const auto changed = load_transition_dataset(options, "Pendulum-v1");
  for (int64_t row = 0; row < raw.rows(); ++row) {
    const double expected = std::max(raw.reward(row) * 0.5 + 1.0, -2.0);
    EXPECT_NEAR(changed.reward(row), expected, 1e-6) << row;
  }
}

// The best episodes are selected by their discounted raw rewards, before rewards are transformed.
TEST(DatasetSource, KeepsTheBestEpisodes) {
  DatasetOptions options;
  options.source = recipe("pendulum/medium", 1600);
  const auto all = load_transition_dataset(options, "Pendulum-v1");
  ASSERT_EQ(all.episodes().size(), 8u);
  options.top_fraction = 0.25;
  options.reward.scale = -1;
  const auto kept = load_transition_dataset(options, "Pendulum-v1", {.gamma = 0.9});
  ASSERT_EQ(kept.episodes().size(), 2u);
  std::vector<double> returns, kept_returns;
  for (int64_t i = 0; i < 8; ++i) returns.push_back(all.episode_return(i, 0.9));
  for (int64_t i = 0; i < 2; ++i) kept_returns.push_back(-kept.episode_return(i, 0.9));
  std::sort(returns.rbegin(), returns.rend());
  std::sort(kept_returns.rbegin(), kept_returns.rend());
  EXPECT_DOUBLE_EQ(kept_returns[0], returns[0]);
  EXPECT_DOUBLE_EQ(kept_returns[1], returns[1]);
}

TEST(DatasetSource, ActionsOfAFileAreInTheSaidUnits) {
  const TemporaryDirectory directory;
  const auto path = directory.path() + "/medium.npz";
  const auto made = recipe_dataset("pendulum/medium", 400, 0);
  save_npz_dataset(made, path);
  DatasetOptions options;
  options.source.kind = "auto";
  options.source.path = path;
  options.actions = "unit";
  EXPECT_EQ(load_transition_dataset(options, "Pendulum-v1").fingerprint(), made.fingerprint());
  options.actions = "environment";  // Pendulum's torque limit is 2
  const auto halved = load_transition_dataset(options, "Pendulum-v1");
  for (int64_t row = 0; row < made.rows(); ++row) {
    EXPECT_FLOAT_EQ(halved.action(row)[0], made.action(row)[0] / 2);
  }
}

TEST(DatasetSource, JoinsSeveralMinariDatasets) {
  const TemporaryDirectory directory;
  const auto first = recipe_dataset("pendulum/medium", 400, 0);
  const auto second = recipe_dataset("pendulum/random", 600, 0);
  save_minari_dataset(first, directory / "a-v0");
  save_minari_dataset(second, directory / "b-v0");
  ASSERT_EQ(::setenv("MINARI_DATASETS_PATH", directory.path().c_str(), 1), 0);
  DatasetOptions options;
  options.source.kind = "minari";
  options.source.id = "a-v0, b-v0";
  options.actions = "unit";
  const auto both = load_transition_dataset(options, "Pendulum-v1");
  options.source.id = "b-v0";
  EXPECT_EQ(load_transition_dataset(options, "Pendulum-v1").mean_return(), second.mean_return());
  options.source.id = ",";
  EXPECT_THROW(load_transition_dataset(options, "Pendulum-v1"), Error);
  ::unsetenv("MINARI_DATASETS_PATH");
  EXPECT_EQ(both.rows(), 1000);
  EXPECT_EQ(both.episodes().size(), first.episodes().size() + second.episodes().size());
  const auto sum = [](const TransitionDataset& data) {
    return data.mean_return() * static_cast<double>(data.episodes().size());
  };
  EXPECT_NEAR(sum(both), sum(first) + sum(second), 1e-6 * std::abs(sum(both)));
}

TEST(DatasetSource, AD4rlFileOfAnotherVersionOfTheTaskGivesAWarning) {
  if (!find_environment("Hopper-v4")->unavailable.empty()) GTEST_SKIP() << "no MuJoCo";
  const TemporaryDirectory directory;
  DatasetOptions options;
  options.source.kind = "d4rl";
  options.source.path = directory / "hopper.hdf5";
  save_d4rl_dataset(random_dataset("Hopper-v2", 300, 0), options.source.path);
  const auto warns = [&](const char* env_id) {
    for (const auto& warning : load_dataset(options, env_id).warnings) {
      if (warning.starts_with(options.source.path + ": env_version: Hopper-v2")) return true;
    }
    return false;
  };
  EXPECT_FALSE(warns("Hopper-v2"));
  EXPECT_TRUE(warns("Hopper-v4"));
}

TEST(DatasetSource, AMinariDatasetNamesItsTaskAndScores) {
  const TemporaryDirectory directory;
  const auto path = directory / "pendulum-v0";
  save_minari_dataset(recipe_dataset("pendulum/medium", 400, 0), path);
  DatasetOptions options;
  options.source.kind = "minari";
  options.source.path = path;
  options.actions = "unit";
  const auto silent = load_dataset(options, "Pendulum-v1");
  EXPECT_FALSE(silent.reference);
  const auto file = path + "/data/metadata.json";
  auto metadata = Json::parse(read_all(file));
  metadata["env_spec"] = R"({"id": "Pendulum-v0", "kwargs": {}})";
  metadata["ref_min_score"] = -1200.5;
  metadata["ref_max_score"] = -150;
  std::ofstream(file) << metadata.dump();
  const auto loaded = load_dataset(options, "Pendulum-v1");
  ASSERT_TRUE(loaded.reference);
  EXPECT_EQ(loaded.reference->random, -1200.5);
  EXPECT_EQ(loaded.reference->expert, -150);
  ASSERT_EQ(loaded.warnings.size(), silent.warnings.size() + 1);
  EXPECT_EQ(loaded.warnings.back(),
            path + ": env_spec: recorded in Pendulum-v0, and the config's env_id is Pendulum-v1");
  EXPECT_DOUBLE_EQ(*normalized_score("Pendulum-v1", -675.25, loaded.reference), 50);
  EXPECT_FALSE(normalized_score("Pendulum-v1", -675.25));
  EXPECT_NEAR(*normalized_score("Hopper-v4", 3234.3, loaded.reference), 100, 1e-9);
  metadata["env_spec"] = R"({"id": "Pendulum-v1"})";
  std::ofstream(file) << metadata.dump();
  EXPECT_EQ(load_dataset(options, "Pendulum-v1").warnings.size(), silent.warnings.size());
}

TEST(DatasetSource, RefusesDataOfAnotherTask) {
  DatasetOptions options;
  options.source = recipe("pendulum/medium", 400);
  try {
    load_transition_dataset(options, "MountainCarContinuous-v0");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    EXPECT_EQ(error.place().key, "observations");
    EXPECT_NE(error.message().find("expected width 2, got 3"), std::string::npos);
  }
}

}  // namespace
}  // namespace rl_training::test_dataset_source
