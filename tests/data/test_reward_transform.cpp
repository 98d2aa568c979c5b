#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/data/reward_transform.h"
#include "rl_training/util/error.h"
#include "tests/data/small_dataset.h"

namespace rl_training {
namespace {

double apply(const std::string& preset, double reward) {
  const auto data = small_dataset();
  return resolve_reward_transform({preset, {}, {}, {}, {}, {}}, &data).apply(reward);
}

TEST(RewardTransform, Presets) {
  EXPECT_EQ(apply("", 3.5), 3.5);
  EXPECT_EQ(apply("sign_clip", 3.5), 1);
  EXPECT_EQ(apply("sign_clip", -0.1), -1);
  EXPECT_EQ(apply("atari_clip", 0), 0);
  EXPECT_EQ(apply("clip_1", 3.5), 1);
  EXPECT_EQ(apply("clip_1", -0.25), -0.25);
  EXPECT_EQ(apply("sparse_goal_zero_one", -1), 0);
  EXPECT_EQ(apply("sparse_goal_zero_one", 0), 1);
  EXPECT_EQ(apply("survival_penalty", 1), 0.99);
  EXPECT_EQ(apply("antmaze_minus_one", 1), 0);
  EXPECT_EQ(apply("antmaze_ten_minus_five", 1), 5);
  EXPECT_EQ(apply("antmaze_hundred", 0.5), 50);
  // The returns of the two episodes are 6 and 9, so the scale is 1000 / (9 - 6).
  EXPECT_DOUBLE_EQ(apply("d4rl_locomotion_return_range", 3), 1000);
  // The rewards are 1 to 5, so their mean is 3 and their variance is 2.
  EXPECT_DOUBLE_EQ(apply("standardize", 5), std::sqrt(2.0));
  for (const auto& preset : reward_presets()) EXPECT_TRUE(std::isfinite(apply(preset.name, 1)));
}

TEST(RewardTransform, ExplicitPartsOverrideThePreset) {
  RewardTransformSpec spec;
  spec.preset = "sparse_goal_zero_one";
  spec.shift = 2;
  spec.clip_max = 1.5;
  EXPECT_EQ(resolve_reward_transform(spec, nullptr).apply(-1), 1);
  EXPECT_EQ(resolve_reward_transform(spec, nullptr).apply(0), 1.5);
  // The order is sign, scale, shift, clip.
  const RewardTransform all{true, 10, 1, std::nullopt, 8};
  EXPECT_EQ(all.apply(0.2), 8);
  EXPECT_EQ(all.apply(-0.2), -9);
}

TEST(RewardTransform, ChangesRewardsAndNothingElse) {
  const auto data = small_dataset().with_next_actions();
  const auto shifted = transform_rewards(data, {false, 2, -1, {}, {}});
  for (int64_t row = 0; row < data.rows(); ++row) {
    EXPECT_EQ(shifted.reward(row), 2 * data.reward(row) - 1);
    EXPECT_EQ(shifted.obs(row), data.obs(row));  // the same memory
    EXPECT_EQ(shifted.terminated(row), data.terminated(row));
    EXPECT_EQ(shifted.next_action_valid(row), data.next_action_valid(row));
  }
  EXPECT_NE(shifted.fingerprint(), data.fingerprint());
  EXPECT_EQ(transform_rewards(data, {}).fingerprint(), data.fingerprint());
}

TEST(RewardTransform, RefusesNonsense) {
  RewardTransformSpec unknown, range, infinite, no_data;
  unknown.preset = "sign_klip";
  range.clip_min = 1;
  range.clip_max = 0;
  infinite.scale = INFINITY;
  no_data.preset = "standardize";
  for (const auto& spec : {unknown, range, infinite, no_data}) {
    EXPECT_THROW(resolve_reward_transform(spec, nullptr), Error);
  }
  try {
    resolve_reward_transform(unknown, nullptr);
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean `sign_clip`"), std::string::npos);
  }
}

}  // namespace
}  // namespace rl_training
