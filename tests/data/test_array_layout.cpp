#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "rl_training/data/array_layout.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/data/hdf5_writer.h"
#include "rl_training/data/npz_writer.h"
#include "rl_training/util/error.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

using Values = std::vector<float>;

class ArrayLayoutTest : public testing::Test {
 protected:
  // Adds an array to the npz file and to the hdf5 file. The array is one-dimensional if `columns`
  // is 0.
  void add(const char* key, const Values& values, int64_t columns = 0) {
    const auto rows = static_cast<int64_t>(values.size());
    if (columns == 0) {
      npz_.add(key, std::array{rows}, std::span<const float>(values));
      hdf5_.add(key, std::array{rows}, std::span<const float>(values));
    } else {
      npz_.add(key, std::array{rows / columns, columns}, std::span<const float>(values));
      hdf5_.add(key, std::array{rows / columns, columns}, std::span<const float>(values));
    }
  }
  TransitionDataset load(const std::string& keys, const char* kind = "npz") {
    const auto path = directory_ / (std::string("a.") + kind);
    if (std::string(kind) == "npz") {
      write_all(path, npz_.bytes());
    } else {
      const auto bytes = hdf5_.bytes();
      write_all(path, std::string(bytes.begin(), bytes.end()));
    }
    DatasetReadOptions options;
    options.keys = keys;
    options.timeout_policy = TimeoutPolicy::keep;
    return load_dataset_file(std::string(kind) == "npz" ? "npz" : "d4rl", path, options, &summary_);
  }
  std::string problem(const std::string& keys, const char* kind = "npz") {
    try {
      load(keys, kind);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      const std::string what = error.what();
      return what.substr(what.find(": "));
    }
    return "no error";
  }
  std::vector<std::string> codes() {
    std::vector<std::string> found;
    for (const auto& warning : summary_.warnings) found.push_back(warning.code);
    return found;
  }
  using Codes = std::vector<std::string>;

  TemporaryDirectory directory_;
  NpzWriter npz_;
  Hdf5Writer hdf5_;
  DatasetFileSummary summary_;
};

TEST_F(ArrayLayoutTest, NamesAreMappedInNpzAndHdf5Alike) {
  add("qpos", {1, 2, 3, 4, 5, 6}, 2);
  add("qvel", {10, 20, 30});
  add("ctrl", {0.1f, 0.2f, 0.3f}, 1);
  add("r", {1, 2, 4});
  add("failed", {0, 0, 1});
  for (const char* kind : {"npz", "hdf5"}) {
    const auto data = load("obs=qpos,qvel action=ctrl reward=r terminated=failed", kind);
    ASSERT_EQ(data.rows(), 3) << kind;
    ASSERT_EQ(data.obs_dim(), 3) << kind;
    EXPECT_EQ(Values(data.obs(1), data.obs(1) + 3), (Values{3, 4, 20})) << kind;
    EXPECT_EQ(data.action(2)[0], 0.3f);
    EXPECT_TRUE(data.terminated(2));
  }
  const std::string rest = " action=ctrl reward=r terminated=failed";
  EXPECT_EQ(problem("obs=qpos,qvels" + rest),
            ": qvels: the file has no such array (it has ctrl, failed, qpos, qvel, r; did you mean "
            "`qvel`?)");
  EXPECT_EQ(problem("obs=qpos timeout=cut" + rest),
            ": cut: the file has no such array (it has ctrl, failed, qpos, qvel, r)");
  for (const char* kind : {"npz", "hdf5"}) {
    EXPECT_EQ(problem("obs=qpos action=ctrl reward=r", kind),
              ": terminals: the file has no such array (it has ctrl, failed, qpos, qvel, r); map "
              "one to this role: terminated=..., or terminated=none if the task never terminates");
    EXPECT_EQ(problem("action=ctrl reward=r terminated=failed", kind),
              ": observations: the file has no such array (it has ctrl, failed, qpos, qvel, r); "
              "map one to this role: obs=...");
  }
  EXPECT_NE(problem("obs=qpos reward=r,r action=ctrl").find(": reward: expected one array"),
            std::string::npos);
  EXPECT_NE(problem("ogbanch").find("unknown layout of arrays `ogbanch` (expected ogbench, neorl, "
                                    "exorl, imitation, or role=name,name; did you mean `ogbench`?"),
            std::string::npos);
}

TEST_F(ArrayLayoutTest, EpisodesByNumberAndDones) {
  add("obs", {1, 2, 3, 4}, 1);
  add("actions", {0, 0, 0, 0}, 1);
  add("rewards", {1, 1, 1, 1});
  add("finished", {0, 1, 0, 1});
  add("run", {7, 7, 8, 8});
  const auto data = load("done=finished episode=run");
  EXPECT_EQ(codes(), Codes{"dones"});
  EXPECT_EQ(summary_.terminals, 2);
  EXPECT_EQ(summary_.episodes, 2);
  EXPECT_EQ(data.rows(), 4);
  const auto cut = load("terminated=none episode=run");
  EXPECT_EQ(summary_.terminals, 0);
  EXPECT_EQ(cut.rows(), 2);
  EXPECT_EQ(cut.obs(1)[0], 3);
}

// In OGBench files, `terminals` marks the ends of trajectories, and the last row of each trajectory
// has no successor.
TEST_F(ArrayLayoutTest, OgbenchEndsAreNoTerminations) {
  add("observations", {1, 2, 3, 11, 12, 13}, 1);
  add("actions", {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f}, 1);
  add("terminals", {0, 0, 1, 0, 0, 1});
  add("qpos", {0, 0, 0, 0, 0, 0}, 1);
  for (const char* keys : {"ogbench", ""}) {  // "" detects the layout from the arrays
    const auto data = load(keys);
    EXPECT_EQ(codes(), Codes{"no_rewards"});
    EXPECT_EQ(summary_.terminals, 0);
    EXPECT_EQ(summary_.timeouts, 2);
    EXPECT_EQ(summary_.episodes, 2);
    ASSERT_EQ(data.rows(), 4);
    for (int64_t row = 0; row < 4; ++row) {
      EXPECT_FALSE(data.terminated(row));
      EXPECT_EQ(data.reward(row), 0);
      EXPECT_EQ(data.next_obs(row)[0], data.obs(row)[0] + 1);
    }
    EXPECT_EQ(data.next_action(1)[0], 0.3f);
  }
}

TEST_F(ArrayLayoutTest, OgbenchMasksAreTerminations) {
  add("observations", {1, 2, 3}, 1);
  add("actions", {0, 0, 0}, 1);
  add("rewards", {-1, 0, 0});
  add("masks", {1, 0, 1});
  add("terminals", {0, 0, 1});
  const auto data = load("ogbench");
  EXPECT_TRUE(codes().empty());
  EXPECT_EQ(summary_.terminals, 1);
  EXPECT_TRUE(data.terminated(1));
  EXPECT_EQ(data.reward(0), -1);
}

TEST_F(ArrayLayoutTest, Neorl) {
  add("obs", {1, 2, 3, 11, 12}, 1);
  add("next_obs", {2, 3, 4, 12, 13}, 1);
  add("action", {0, 0, 0, 0, 0.5f}, 1);
  add("reward", {1, 2, 3, 4, 5}, 1);
  add("done", {0, 0, 0, 0, 1}, 1);
  add("index", {3, 5});
  for (const char* keys : {"neorl", ""}) {
    const auto data = load(keys);
    EXPECT_EQ(codes(), Codes{"dones"});
    EXPECT_EQ(summary_.episodes, 2);
    EXPECT_EQ(summary_.terminals, 1);
    ASSERT_EQ(data.rows(), 5);
    EXPECT_EQ(data.next_obs(2)[0], 4);
    EXPECT_FALSE(data.terminated(2));
    EXPECT_EQ(data.following(2), -1);
    EXPECT_EQ(data.action(4)[0], 0.5f);
  }
}

// In ExORL files, row t contains the action and the reward that led to the observation of row t.
TEST_F(ArrayLayoutTest, ExorlEpisodesOfADirectory) {
  add("observation", {1, 2, 3}, 1);
  add("action", {0, 0.5f, 0.75f}, 1);
  add("reward", {0, 7, 8}, 1);
  add("discount", {1, 1, 1}, 1);
  add("physics", {9, 9, 9}, 1);
  const auto one = load("exorl");
  ASSERT_EQ(one.rows(), 2);
  std::filesystem::create_directory(directory_ / "buffer");
  for (const char* name : {"episode_000001_2.npz", "episode_000000_2.npz"}) {
    std::filesystem::copy_file(directory_ / "a.npz", directory_ / (std::string("buffer/") + name));
  }
  const auto data = load_dataset_file("auto", directory_ / "buffer", {}, &summary_);
  EXPECT_TRUE(codes().empty());
  EXPECT_EQ(summary_.rows, 4);
  EXPECT_EQ(summary_.episodes, 2);
  EXPECT_EQ(summary_.terminals, 0);
  ASSERT_EQ(data.rows(), 4);
  for (const int64_t row : {0, 2}) {
    EXPECT_EQ(data.obs(row)[0], 1);
    EXPECT_EQ(data.action(row)[0], 0.5f);
    EXPECT_EQ(data.reward(row), 7);
    EXPECT_EQ(data.next_obs(row)[0], 2);
    EXPECT_EQ(data.action(row + 1)[0], 0.75f);
    EXPECT_EQ(data.reward(row + 1), 8);
    EXPECT_EQ(data.next_obs(row + 1)[0], 3);
  }
}

TEST_F(ArrayLayoutTest, ExorlDiscountZeroIsATermination) {
  add("observation", {1, 2, 3}, 1);
  add("action", {0, 0.5f, 0.75f}, 1);
  add("reward", {0, 7, 8});
  add("discount", {1, 1, 0});
  const auto data = load("exorl");
  ASSERT_EQ(data.rows(), 2);
  EXPECT_FALSE(data.terminated(0));
  EXPECT_TRUE(data.terminated(1));
  EXPECT_EQ(data.next_obs(1)[0], 3);
}

// In files of the `imitation` library, the number of observations of a trajectory is one larger
// than the number of actions.
TEST_F(ArrayLayoutTest, Imitation) {
  add("obs", {1, 2, 3, 11, 12, 13, 14}, 1);
  add("acts", {0.1f, 0.2f, 0.3f, 0.4f, 0.5f}, 1);
  add("rews", {1, 2, 3, 4, 5});
  add("terminal", {1, 0});
  add("indices", {2});
  for (const char* keys : {"imitation", ""}) {
    const auto data = load(keys);
    EXPECT_TRUE(codes().empty());
    EXPECT_EQ(summary_.rows, 5);
    EXPECT_EQ(summary_.episodes, 2);
    EXPECT_EQ(summary_.terminals, 1);
    ASSERT_EQ(data.rows(), 5);
    EXPECT_TRUE(data.terminated(1));
    EXPECT_EQ(data.next_obs(1)[0], 3);
    EXPECT_EQ(data.obs(2)[0], 11);
    EXPECT_EQ(data.action(2)[0], 0.3f);
    EXPECT_EQ(data.reward(4), 5);
    EXPECT_EQ(data.next_obs(4)[0], 14);
    EXPECT_FALSE(data.terminated(4));
  }
}

TEST_F(ArrayLayoutTest, ImitationIndicesThatDoNotFit) {
  add("obs", {1, 2, 3, 11, 12}, 1);
  add("acts", {0.1f, 0.2f, 0.3f}, 1);
  add("rews", {1, 2, 3});
  add("terminal", {1, 0});
  add("indices", {9});
  EXPECT_EQ(problem(""), ": indices: entry 0 does not fit the trajectories in obs");
}

TEST_F(ArrayLayoutTest, ImagesInArraysAreNamed) {
  const Values pixels(2 * 4 * 4 * 3);
  npz_.add("observations", std::array<int64_t, 4>{2, 4, 4, 3}, std::span<const float>(pixels));
  add("actions", {0, 0}, 1);
  add("rewards", {0, 0});
  add("terminals", {0, 0});
  EXPECT_NE(problem("").find(
                ": observations: wrong shape (expected (rows, dims), got (2, 4, 4, 3)); images "
                "and other multidimensional data are not read from files"),
            std::string::npos);
}

}  // namespace
}  // namespace rl_training
