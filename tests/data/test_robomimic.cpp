#include <gtest/gtest.h>

#include <array>

#include "rl_training/data/dataset_file.h"
#include "rl_training/data/hdf5_writer.h"
#include "rl_training/util/error.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

using Values = std::vector<float>;

class RobomimicTest : public testing::Test {
 protected:
  void add(const std::string& key, const Values& values, int64_t columns) {
    const auto rows = static_cast<int64_t>(values.size()) / std::max<int64_t>(columns, 1);
    if (columns == 0) {
      file_.add(key, std::array{rows}, std::span<const float>(values));
    } else {
      file_.add(key, std::array{rows, columns}, std::span<const float>(values));
    }
  }
  // Adds a demonstration with one step per entry of `dones`. Its observations start at `first`.
  void add_demo(const std::string& name, float first, const Values& dones, bool next_obs) {
    Values arm, object, next_arm, next_object, actions, rewards;
    for (size_t t = 0; t < dones.size(); ++t) {
      const float at = first + static_cast<float>(t);
      for (const float part : {at, at + 0.5f}) arm.push_back(part);
      for (const float part : {at + 1, at + 1.5f}) next_arm.push_back(part);
      object.push_back(-at);
      next_object.push_back(-at - 1);
      actions.push_back(at / 100);
      rewards.push_back(dones[t]);
    }
    const auto group = "data/" + name + "/";
    add(group + "actions", actions, 1);
    add(group + "rewards", rewards, 0);
    add(group + "dones", dones, 0);
    add(group + "obs/robot0_eef_pos", arm, 2);
    add(group + "obs/object", object, 1);
    if (!next_obs) return;
    add(group + "next_obs/robot0_eef_pos", next_arm, 2);
    add(group + "next_obs/object", next_object, 1);
  }
  TransitionDataset load(const std::string& keys = "") {
    const auto bytes = file_.bytes();
    write_all(directory_ / "low_dim.hdf5", std::string(bytes.begin(), bytes.end()));
    DatasetReadOptions options;
    options.keys = keys;
    return load_dataset_file("auto", directory_ / "low_dim.hdf5", options, &summary_);
  }

  TemporaryDirectory directory_;
  Hdf5Writer file_;
  DatasetFileSummary summary_;
};

TEST_F(RobomimicTest, DemonstrationsInTheOrderOfTheirNumbers) {
  add_demo("demo_10", 50, {0, 0}, true);
  add_demo("demo_2", 10, {0, 0, 1, 1}, true);  // the file has no group `mask`
  const auto data = load();
  EXPECT_EQ(detect_dataset_kind(directory_ / "low_dim.hdf5"), "robomimic");
  EXPECT_EQ(summary_.episodes, 2);
  EXPECT_EQ(summary_.terminals, 1);
  EXPECT_EQ(summary_.timeouts, 1);
  ASSERT_EQ(summary_.warnings.size(), 1u);
  EXPECT_EQ(summary_.warnings[0].code, "dones");
  EXPECT_NE(summary_.warnings[0].message.find("1 later steps are omitted"), std::string::npos);
  ASSERT_EQ(data.rows(), 5);
  EXPECT_EQ(data.observation_names(),
            (std::vector<std::string>{"object", "robot0_eef_pos[0]", "robot0_eef_pos[1]"}));
  EXPECT_EQ(Values(data.obs(0), data.obs(0) + 3), (Values{-10, 10, 10.5f}));
  EXPECT_EQ(Values(data.next_obs(2), data.next_obs(2) + 3), (Values{-13, 13, 13.5f}));
  EXPECT_TRUE(data.terminated(2));
  EXPECT_EQ(data.reward(2), 1);
  EXPECT_EQ(data.obs(3)[1], 50);
  EXPECT_EQ(data.action(4)[0], 0.51f);
  EXPECT_TRUE(data.truncated(4));
  EXPECT_EQ(data.next_obs(4)[1], 52);
}

TEST_F(RobomimicTest, ChosenObservationsAndMissingSuccessors) {
  add_demo("demo_0", 10, {0, 0, 0}, false);
  const auto data = load("obs=robot0_eef_pos");
  EXPECT_EQ(data.obs_dim(), 2);
  ASSERT_EQ(data.rows(), 2);  // the last step has no successor
  EXPECT_EQ(data.next_obs(1)[0], 12);
  try {
    load("obs=robot0_eef_quat");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("data/demo_0/obs/robot0_eef_quat: the file has no"),
              std::string::npos);
  }
}

TEST_F(RobomimicTest, RawDemonstrationsHaveStatesAlone) {
  add("data/demo_1/states", {1, 2, 3, 4}, 2);
  add("data/demo_1/actions", {0.5f, 0.5f}, 1);
  const auto data = load();
  std::vector<std::string> codes;
  for (const auto& warning : summary_.warnings) codes.push_back(warning.code);
  EXPECT_EQ(codes, (std::vector<std::string>{"states", "no_rewards"}));
  ASSERT_EQ(data.rows(), 1);
  EXPECT_EQ(data.next_obs(0)[1], 4);
}

// The group next_obs has no counterpart of `states`, so the next rows are the successors.
TEST_F(RobomimicTest, StatesAreNotJoinedWithNextObservations) {
  add("data/demo_1/states", {1, 2, 3, 4}, 2);
  add("data/demo_1/actions", {0.5f, 0.5f}, 1);
  add("data/demo_1/next_obs/object", {7, 8}, 1);
  const auto data = load();
  ASSERT_EQ(data.rows(), 1);
  EXPECT_EQ(data.next_obs(0)[1], 4);
}

}  // namespace
}  // namespace rl_training
