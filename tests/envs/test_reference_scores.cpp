#include <gtest/gtest.h>

#include "rl_training/envs/reference_scores.h"

namespace rl_training {
namespace {

TEST(ReferenceScores, AreD4RLs) {
  const struct {
    const char* id;
    double random, expert;
  } expected[] = {
      {"halfcheetah-random-v0", -280.178953, 12135.0},
      {"hopper-medium-replay-v2", -20.272305, 3234.3},
      {"walker2d-full-replay-v1", 1.629008, 4592.3},
      {"ant-medium-expert-v2", -325.6, 3879.7},
      {"pen-human-v1", 96.262799, 3076.8331017826877},
      {"hammer-cloned-v1", -274.856578, 12794.134825156867},
      {"relocate-expert-v0", -6.425911, 4233.877797728884},
      {"door-human-v0", -56.512833, 2880.5693087298737},
      {"antmaze-umaze-diverse-v2", 0, 1},
      {"kitchen-mixed-v0", 0, 4},
      {"maze2d-open-v0", 0.01, 20.66},
      {"maze2d-open-dense-v0", 11.17817, 27.166538620695782},
      {"maze2d-umaze-v1", 23.85, 161.86},
      {"maze2d-umaze-dense-v1", 68.537689, 193.66285642381482},
      {"maze2d-medium-v1", 13.13, 277.39},
      {"maze2d-medium-dense-v1", 44.264742, 297.4552547777125},
      {"maze2d-large-v1", 6.7, 273.99},
      {"maze2d-large-dense-v1", 30.569041, 303.4857382709002},
  };
  for (const auto& row : expected) {
    SCOPED_TRACE(row.id);
    const auto scores = reference_scores(row.id);
    ASSERT_TRUE(scores);
    EXPECT_EQ(scores->random, row.random);
    EXPECT_EQ(scores->expert, row.expert);
    EXPECT_EQ(normalized_score(row.id, row.random), 0.0);
    EXPECT_NEAR(*normalized_score(row.id, row.expert), 100.0, 1e-12);
  }
  EXPECT_NEAR(*normalized_score("hopper-medium-v2", 1607.0138475), 50, 1e-9);
  for (const char* task : {"Hopper-v2", "Hopper-v4"}) {
    EXPECT_EQ(reference_scores(task)->expert, 3234.3) << task;
  }
  EXPECT_EQ(reference_scores("Ant-v2")->random, -325.6);
}

TEST(ReferenceScores, TakeNothingButExactIds) {
  for (const char* id :
       {"", "hopper", "hopper-v2", "Hopper-v3", "hopper-medium-v3", "hopper-medium",
        "hopper-medium-v2 ", "hopper-mediumv2", "antmaze-umaze-v1", "maze2d-open-v1",
        "pen-human-v2", "ant-umaze-v0", "hopper-medium-v22"}) {
    EXPECT_FALSE(reference_scores(id)) << id;
    EXPECT_FALSE(normalized_score(id, 1)) << id;
  }
}

}  // namespace
}  // namespace rl_training
