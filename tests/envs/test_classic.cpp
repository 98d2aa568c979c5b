#include <gtest/gtest.h>

#include "rl_training/envs/mountain_car.h"
#include "rl_training/envs/point_goal.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/replay.h"
#include "rl_training/envs/time_limit.h"
#include "rl_training/util/error.h"
#include "tests/envs/recordings.h"
#include "tests/support/memory_state.h"

namespace rl_training {
namespace {

void expect_exact(const std::string& env_id, const std::string& name) {
  const auto paths = recordings(name);
  EXPECT_GE(paths.size(), 2u);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const auto report = replay_trajectory(env_id, path);
    EXPECT_GT(report.steps, 5);
    EXPECT_EQ(report.max_obs_diff, 0.0);
    EXPECT_EQ(report.max_reward_diff, 0.0);
    EXPECT_EQ(report.flag_mismatches, 0);
  }
}

TEST(MountainCar, RecordingsAreBitEqual) {
  expect_exact("MountainCarContinuous-v0", "mountaincarcontinuous");
}

TEST(MountainCar, SeededResetsAreBitEqual) {
  EXPECT_EQ(seeded_reset_difference("MountainCarContinuous-v0", "mountaincarcontinuous"), 0.0);
}

TEST(MountainCar, TheWallStopsTheCarAndTheCostIsNotClipped) {
  MountainCar car;
  std::vector<double> obs(2);
  car.set_state(std::vector{-1.19, -0.07});
  const auto result = car.step(std::vector{-3.0}, obs);
  EXPECT_EQ(obs, (std::vector<double>{static_cast<float>(-1.2), 0}));
  EXPECT_NEAR(result.reward, -0.9, 1e-15);
  EXPECT_FALSE(result.terminated);
}

TEST(MountainCar, TheGoalEndsTheTask) {
  const auto env = make_environment("MountainCarContinuous-v0");
  std::vector<double> obs(2);
  env->set_state(std::vector{0.44, 0.05});
  const auto result = env->step(std::vector{0.5}, obs);
  EXPECT_TRUE(result.terminated);
  EXPECT_FALSE(result.truncated);
  EXPECT_NEAR(result.reward, 100 - 0.025, 1e-12);
  // Reaching the goal position while moving backwards does not end the episode.
  env->set_state(std::vector{0.5, -0.02});
  EXPECT_FALSE(env->step(std::vector{0.0}, obs).terminated);
}

TEST(PointGoal, RecordingsAreBitEqual) { expect_exact("RL-PointGoal1D-v0", "pointgoal1d"); }

TEST(PointGoal, EndsAtTheGoalOrAfterFiftySteps) {
  const auto env = make_environment("RL-PointGoal2D-v0");
  ASSERT_EQ(env->spec().observation.size(), 4);
  ASSERT_EQ(env->spec().action.size(), 2);
  std::vector<double> obs(4);
  env->set_state(std::vector{0.0, 0.0, 1.0, -1.0});
  for (int step = 1; step <= 50; ++step) {
    const auto result = env->step(std::vector{0.0, 0.0}, obs);
    ASSERT_EQ(result.truncated, step == 50) << step;
    ASSERT_FALSE(result.terminated);
    ASSERT_EQ(result.reward, -1);
  }
  // Both dimensions count: a distance of 0.04 in each is a distance of 0.057, which is beyond the
  // goal's radius of 0.05.
  env->set_state(std::vector{0.46, 0.46, 0.5, 0.5});
  EXPECT_FALSE(env->step(std::vector{0.0, 0.0}, obs).terminated);
  const auto there = env->step(std::vector{0.2, 0.0}, obs);
  EXPECT_TRUE(there.terminated);
  EXPECT_EQ(there.reward, 0);
  // An episode that reaches the goal in its last step terminates and is not truncated.
  env->set_state(std::vector{-2.0, 0.0, 2.0, 0.0});
  for (int step = 1; step < 50; ++step) env->step(std::vector{step <= 10 ? 0.0 : 1.0, 0.0}, obs);
  const auto last = env->step(std::vector{1.0, 0.0}, obs);
  EXPECT_TRUE(last.terminated);
  EXPECT_FALSE(last.truncated);
}

TEST(PointGoal, ResetsKeepAwayFromTheGoal) {
  const auto env = make_environment("RL-PointGoal1D-v0");
  Rng rng(1);
  std::vector<double> obs(2);
  double low = 1, high = -1;
  for (int i = 0; i < 2000; ++i) {
    env->reset(rng, obs);
    ASSERT_GT(std::abs(obs[0] - obs[1]), 0.05);
    low = std::min(low, obs[1]);
    high = std::max(high, obs[1]);
  }
  EXPECT_LT(low, -0.99);
  EXPECT_GT(high, 0.99);
  EXPECT_LE(high, 1.0);
}

TEST(PointGoal, HindsightSeesGoalsAndTheirReward) {
  const auto env = make_environment("RL-PointGoal3D-v0");
  const GoalTask* task = env->goal_task();
  ASSERT_NE(task, nullptr);
  std::vector<double> obs(6);
  env->set_state(std::vector{0.1, 0.2, 0.3, -0.5, 0.5, 1.0});
  env->observe(obs);
  const std::span<const double> seen(obs);
  const auto achieved = seen.subspan(task->achieved_goal_at(), task->goal_dim());
  const auto desired = seen.subspan(task->desired_goal_at(), task->goal_dim());
  EXPECT_FLOAT_EQ(achieved[2], 0.3);
  EXPECT_FLOAT_EQ(desired[0], -0.5);
  EXPECT_EQ(task->compute_reward(achieved, desired), -1);
  EXPECT_FALSE(task->compute_terminated(achieved, desired));
  EXPECT_EQ(task->compute_reward(achieved, achieved), 0);
  EXPECT_TRUE(task->compute_terminated(achieved, achieved));

  EXPECT_EQ(make_environment("Pendulum-v1")->goal_task(), nullptr);
  const TimeLimit limited(std::make_unique<PointGoal>(1), 10);
  ASSERT_NE(limited.goal_task(), nullptr);
  EXPECT_EQ(limited.goal_task()->goal_dim(), 1);
}

TEST(Classic, StateCarriesOver) {
  for (const std::string id : {"MountainCarContinuous-v0", "RL-PointGoal2D-v0"}) {
    SCOPED_TRACE(id);
    const auto env = make_environment(id), other = make_environment(id);
    const std::vector<double> action(static_cast<size_t>(env->spec().action.size()), 0.01);
    std::vector<double> a(static_cast<size_t>(env->spec().observation.size())), b(a.size());
    Rng rng(3);
    other->reset(rng, b);
    env->reset(rng, a);
    for (int step = 0; step < 20; ++step) env->step(action, a);
    MemoryState state;
    state.save(*env);
    state.restore(*other);
    for (int step = 0; step < 40; ++step) {
      const auto first = env->step(action, a), second = other->step(action, b);
      ASSERT_EQ(a, b);
      ASSERT_EQ(first.reward, second.reward);
      ASSERT_EQ(first.truncated, second.truncated);
    }
    EXPECT_THROW(env->set_state(std::vector{1.0}), Error);
  }
}

}  // namespace
}  // namespace rl_training
