#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numbers>

#include "rl_training/envs/acrobot.h"
#include "rl_training/envs/cart_pole.h"
#include "rl_training/envs/mountain_car.h"
#include "rl_training/envs/replay.h"
#include "rl_training/util/error.h"
#include "tests/envs/recordings.h"
#include "tests/support/memory_state.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

// Returns the states after a reset with `seed` and after each action.
std::vector<std::vector<double>> states_of(Environment& env, uint64_t seed,
                                           const std::vector<double>& actions) {
  std::vector<double> obs(static_cast<size_t>(env.spec().observation.size()));
  Rng rng(seed);
  env.reset(rng, obs);
  std::vector<std::vector<double>> states = {env.state()};
  for (const double action : actions) {
    env.step(std::vector{action}, obs);
    states.push_back(env.state());
  }
  return states;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 6e-11) << i;
}

TEST(CartPole, RecordingsAreBitEqual) {
  const auto paths = recordings("cartpole");
  ASSERT_GE(paths.size(), 2u);
  int64_t ends = 0;
  for (const auto& path : paths) {
    SCOPED_TRACE(path);
    const auto report = replay_trajectory("CartPole-v1", path);
    EXPECT_GT(report.steps, 5);
    EXPECT_EQ(report.max_obs_diff, 0.0);
    EXPECT_EQ(report.max_reward_diff, 0.0);
    EXPECT_EQ(report.flag_mismatches, 0);
    const CsvTable table(path);
    ends += table.at(table.rows() - 1, table.find("terminated")) == 1 ? 1 : 0;
  }
  EXPECT_GT(ends, 0);
}

TEST(CartPole, InnerStatesAreBitEqual) {
  const CsvTable table(std::string(SOURCE_DIR) + "/tests/envs/fixtures/cartpole_traj0.csv");
  const auto row_of = [&](int64_t row, const char* name) {
    std::vector<double> values;
    for (const int64_t column : table.find_numbered(name)) values.push_back(table.at(row, column));
    return values;
  };
  CartPole env;
  std::vector<double> obs(4);
  env.set_state(row_of(0, "state"));
  for (int64_t row = 0; row < table.rows(); ++row) {
    env.step(row_of(row, "action"), obs);
    ASSERT_EQ(env.state(), row_of(row, "next_state")) << row;
  }
}

TEST(CartPole, SeededResetsEqualGymnasium) {
  EXPECT_EQ(seeded_reset_difference("CartPole-v1", "cartpole"), 0.0);
}

TEST(CartPole, EndsStrictlyBeyondItsBoundsAndPaysForThatStep) {
  CartPole env;
  std::vector<double> obs(4);
  // A step adds 0.02 times the old velocity to the position. The episode ends if the position is
  // outside [-2.4, 2.4].
  env.set_state(std::vector{2.4, 0.0, 0.0, 0.0});
  EXPECT_FALSE(env.step(std::vector{1.0}, obs).terminated);
  env.set_state(std::vector{-2.4, -0.001, 0.0, 0.0});
  auto result = env.step(std::vector{0.0}, obs);
  EXPECT_TRUE(result.terminated);
  EXPECT_EQ(result.reward, 1.0);
  result = env.step(std::vector{0.0}, obs);
  EXPECT_TRUE(result.terminated);
  EXPECT_EQ(result.reward, 0.0) << "after the end";
  const double tilt = 12 * 2 * std::numbers::pi / 360;
  env.set_state(std::vector{0.0, 0.0, tilt, 0.0});
  EXPECT_FALSE(env.step(std::vector{1.0}, obs).terminated);
  env.set_state(std::vector{0.0, 0.0, std::nextafter(tilt, 1.0), 0.0});
  EXPECT_TRUE(env.step(std::vector{1.0}, obs).terminated);
}

TEST(CartPole, StateCarriesOverWithTheEndOfTheEpisode) {
  CartPole env, other;
  std::vector<double> obs(4);
  env.set_state(std::vector{2.4, 1.0, 0.0, 0.0});
  ASSERT_TRUE(env.step(std::vector{1.0}, obs).terminated);
  MemoryState state;
  state.save(env);
  state.restore(other);
  EXPECT_EQ(other.state(), env.state());
  EXPECT_EQ(other.step(std::vector{0.0}, obs).reward, 0.0);
}

TEST(CartPole, SpecIsGymnasiums) {
  const auto env = make_environment("CartPole-v1");
  const EnvSpec& spec = env->spec();
  EXPECT_EQ(spec.action, Space::discrete(2));
  EXPECT_EQ(spec.max_episode_steps, 500);
  EXPECT_FLOAT_EQ(static_cast<float>(spec.observation.high[0]), 4.8f);
  EXPECT_FLOAT_EQ(static_cast<float>(spec.observation.high[2]), 0.41887903f);
  EXPECT_TRUE(std::isinf(spec.observation.low[1]) && std::isinf(spec.observation.high[3]));
}

TEST(MountainCarDiscrete, FollowsGymnasium) {
  DiscreteMountainCar env;
  EXPECT_EQ(env.spec().id, "MountainCar-v0");
  EXPECT_EQ(env.spec().max_episode_steps, 200);
  const auto states = states_of(env, 0, {2, 2, 0});
  EXPECT_EQ(states[0], (std::vector{-0.4726076625357092, 0.0}));
  expect_near(states[1], {-0.4719886061, 0.0006190565});
  expect_near(states[2], {-0.4707550812, 0.0012335249});
  expect_near(states[3], {-0.4709162261, -0.0001611448});
}

TEST(MountainCarDiscrete, EndsAtItsFlagAndAlwaysPaysOne) {
  DiscreteMountainCar env;
  std::vector<double> obs(2);
  const auto at = [&](double position, double speed, double action) {
    env.set_state(std::vector{position, speed});
    return env.step(std::vector{action}, obs);
  };
  EXPECT_FALSE(at(0.46, 0.01, 1).terminated) << "the flag of the continuous task is at 0.45";
  const auto end = at(0.48, 0.03, 2);
  EXPECT_TRUE(end.terminated);
  EXPECT_EQ(end.reward, -1.0);
  EXPECT_EQ(at(-1.19, -0.07, 0).reward, -1.0);
  EXPECT_EQ(env.state(), (std::vector{-1.2, 0.0})) << "the wall stops it, in double";
}

TEST(Acrobot, FollowsGymnasium) {
  Acrobot env;
  EXPECT_EQ(env.spec().action, Space::discrete(3));
  EXPECT_EQ(env.spec().max_episode_steps, 500);
  const auto states = states_of(env, 0, {2, 2, 0});
  expect_near(states[0], {.0273923371, -.0460426584, -.0918052942, -.0966944695});
  for (const double value : states[0]) EXPECT_EQ(value, static_cast<float>(value));
  expect_near(states[1], {-.0077642801, -.0237410620, -.2516967651, .3100071869});
  expect_near(states[2], {-.0683773309, .0704934320, -.3390108158, .6062498485});
  expect_near(states[3], {-.1097799018, .1375677156, -.0651500309, .0478175571});
}

TEST(Acrobot, EndsAboveTheLineWithoutCost) {
  Acrobot env;
  std::vector<double> obs(6);
  env.set_state(std::vector{std::numbers::pi, 0.0, 0.0, 0.0});  // upright
  const auto end = env.step(std::vector{1.0}, obs);
  EXPECT_TRUE(end.terminated);
  EXPECT_EQ(end.reward, 0.0);
  env.set_state(std::vector{0.0, 0.0, 0.0, 0.0});
  const auto rest = env.step(std::vector{1.0}, obs);
  EXPECT_FALSE(rest.terminated);
  EXPECT_EQ(rest.reward, -1.0);
  EXPECT_NEAR(env.state()[0], 0.0, 1e-12) << "hanging at rest it stays there";
}

TEST(Acrobot, WrapsAnglesAndBoundsSpeeds) {
  Acrobot env;
  std::vector<double> obs(6);
  env.set_state(std::vector{3.0, -3.0, 12.5, -28.2});
  env.step(std::vector{1.0}, obs);
  const auto state = env.state();
  EXPECT_LE(std::abs(state[0]), std::numbers::pi);
  EXPECT_LE(std::abs(state[1]), std::numbers::pi);
  EXPECT_LE(std::abs(state[2]), 4 * std::numbers::pi);
  EXPECT_LE(std::abs(state[3]), 9 * std::numbers::pi);
}

TEST(DiscreteReplay, RefusesWhatIsNoChoice) {
  const TemporaryDirectory directory;
  const std::string path = directory / "t.csv";
  for (const char* action : {"2", "-1", "0.5"}) {
    std::ofstream(path) << "state0,state1,state2,state3,action0,obs0,obs1,obs2,obs3,reward,"
                           "terminated\n0,0,0,0,"
                        << action << ",0,0,0,0,1,0\n";
    try {
      replay_trajectory("CartPole-v1", path);
      ADD_FAILURE() << action;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      EXPECT_EQ(std::string(error.what()),
                path + ":2: action0: no such action (expected a whole number from 0 to 1, got " +
                    action + ")");
    }
  }
}

class DiscreteLander : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_environment("LunarLander-v3")->unavailable.empty()) {
      GTEST_SKIP() << "this build has no Box2D";
    }
  }
};

// The four actions (no engine, left, main, right) correspond to these throttles of the continuous
// task.
TEST_F(DiscreteLander, IsTheContinuousTaskAtFullThrottle) {
  const std::vector<std::vector<double>> throttles = {{0, 0}, {0, -1}, {1, 0}, {0, 1}};
  const auto discrete = make_environment("LunarLander-v3");
  const auto continuous = make_environment("LunarLanderContinuous-v3");
  EXPECT_EQ(discrete->spec().action, Space::discrete(4));
  EXPECT_EQ(discrete->spec().max_episode_steps, 1000);
  Rng rng(7), same(7), choices(1);
  std::vector<double> obs(8), other(8);
  discrete->reset(rng, obs);
  continuous->reset(same, other);
  for (int step = 0; step < 60; ++step) {
    ASSERT_EQ(obs, other) << step;
    const auto choice = choices.below(4);
    const auto result = discrete->step(std::vector{static_cast<double>(choice)}, obs);
    const auto expected = continuous->step(throttles[choice], other);
    ASSERT_EQ(result.reward, expected.reward) << step;
    ASSERT_EQ(result.terminated, expected.terminated);
    if (result.terminated) break;
  }
  // The terrain heights of seed 0, as Gymnasium draws them.
  Rng first(0);
  discrete->reset(first, obs);
  const auto state = discrete->state();
  EXPECT_NEAR(state[18], 4.246411, 1e-6);
  EXPECT_NEAR(state[19], 1.798578, 1e-6);
  EXPECT_NEAR(state[20], 0.273157, 1e-6);
}

TEST_F(DiscreteLander, StateCarriesOver) {
  const auto env = make_environment("LunarLander-v3"), other = make_environment("LunarLander-v3");
  Rng rng(5);
  std::vector<double> obs(8), copy(8);
  env->reset(rng, obs);
  for (int step = 0; step < 30; ++step) env->step(std::vector{double(step % 4)}, obs);
  MemoryState state;
  state.save(*env);
  state.restore(*other);
  for (int step = 0; step < 30; ++step) {
    env->step(std::vector{2.0}, obs);
    other->step(std::vector{2.0}, copy);
    ASSERT_EQ(obs, copy);
  }
}

TEST(DiscreteTasks, HaveDrawings) {
  for (const char* id : {"CartPole-v1", "MountainCar-v0", "Acrobot-v1"}) {
    EXPECT_GE(make_environment(id)->scene().shapes.size(), 4u) << id;
  }
}

}  // namespace
}  // namespace rl_training
