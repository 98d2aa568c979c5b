#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "rl_training/envs/registry.h"
#include "rl_training/envs/vector_env.h"
#include "rl_training/util/error.h"
#include "tests/envs/recordings.h"
#include "tests/support/memory_state.h"

namespace rl_training {
namespace {

constexpr const char* kId = "LunarLanderContinuous-v3";

class LunarLanderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!find_environment(kId)->unavailable.empty()) GTEST_SKIP() << "this build has no Box2D";
  }
};

// A controller that tilts towards the landing pad and brakes the fall. It usually lands.
std::vector<double> pilot(const std::vector<double>& obs) {
  const double lean = std::clamp(0.5 * obs[0] + obs[2], -0.4, 0.4);
  double turn = 0.5 * (lean - obs[4]) - obs[5];
  double lift = 0.5 * (0.55 * std::abs(obs[0]) - obs[1]) - 0.5 * obs[3];
  if (obs[6] != 0 || obs[7] != 0) {
    turn = 0;
    lift = -0.5 * obs[3];
  }
  return {std::clamp(20 * lift - 1, -1.0, 1.0), std::clamp(-20 * turn, -1.0, 1.0)};
}

TEST_F(LunarLanderTest, SizesAndLimit) {
  const EnvSpec spec = make_environment(kId)->spec();
  EXPECT_EQ(spec.observation.size(), 8);
  EXPECT_EQ(spec.action.low, (std::vector<double>{-1, -1}));
  EXPECT_EQ(spec.max_episode_steps, 1000);
  EXPECT_EQ(spec.observation.low[0], -2.5);
}

TEST_F(LunarLanderTest, StartsAtTheTopMiddleWithAPush) {
  const auto env = make_environment(kId);
  std::vector<double> obs(8);
  Rng rng(3);
  env->reset(rng, obs);
  EXPECT_LT(std::abs(obs[0]), 0.02);
  EXPECT_NEAR(obs[1], 1.41, 0.02);  // (start 13.33 - pad 3.33 - legs 0.6) / 6.67, after one step
  // The initial push is a force of up to 1000 N for 1/50 s on about 4.8 kg. The speed is then at
  // most 4.2 m/s, which is 0.83 in the units of the observation.
  EXPECT_GT(std::abs(obs[2]), 0);
  EXPECT_LT(std::abs(obs[2]), 0.9);
  EXPECT_EQ(obs[6], 0);
  // As in Gymnasium, the terrain is drawn before the push. It consists of twelve uniform heights.
  Rng same(3);
  const auto state = env->state();
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(state[18 + i], same.uniform(0, 400.0 / 30 / 2));
}

TEST_F(LunarLanderTest, WindPushesUntilALegIsDown) {
  const auto fall = [](const Json& options) {
    const auto env = make_environment(kId, task_options(options));
    std::vector<double> obs(8);
    Rng rng(3);
    env->reset(rng, obs);
    for (int step = 0; step < 40; ++step) env->step(std::vector<double>{0, 0}, obs);
    return obs;
  };
  const auto calm = fall(Json::object());
  EXPECT_EQ(fall({{"wind_power", 20}}), calm);  // the wind is not enabled
  const auto windy = fall({{"enable_wind", true}});
  EXPECT_NE(windy[2], calm[2]);
  EXPECT_NE(windy[4], calm[4]);
  const auto breeze = fall({{"enable_wind", true}, {"wind_power", 7.5}});
  EXPECT_NEAR(breeze[2] - calm[2], (windy[2] - calm[2]) / 2, 0.05 * std::abs(windy[2] - calm[2]));
  EXPECT_EQ(fall({{"enable_wind", true}, {"wind_power", 0}, {"turbulence_power", 0}}), calm);
  EXPECT_GT(fall({{"gravity", -5}})[1], calm[1]);
  EXPECT_THROW(fall({{"gravity", 1}}), Error);
  // The wind is the same after a saved state is restored.
  const auto env = make_environment(kId, task_options({{"enable_wind", true}}));
  const auto other = make_environment(kId, task_options({{"enable_wind", true}}));
  std::vector<double> a(8), b(8);
  Rng rng(5);
  env->reset(rng, a);
  for (int step = 0; step < 10; ++step) env->step(std::vector<double>{0, 0}, a);
  MemoryState state;
  state.save(*env);
  state.restore(*other);
  env->step(std::vector<double>{0, 0}, a);
  other->step(std::vector<double>{0, 0}, b);
  EXPECT_EQ(a, b);
}

// The reward is the change of the shaping potential minus the cost of the fuel. The potential can
// be computed from the observation.
TEST_F(LunarLanderTest, RewardOfAStep) {
  const auto env = make_environment(kId);
  std::vector<double> obs(8);
  Rng rng(5);
  env->reset(rng, obs);
  const auto shaping = [&] {
    return -100 * std::hypot(obs[0], obs[1]) - 100 * std::hypot(obs[2], obs[3]) -
           100 * std::abs(obs[4]) + 10 * obs[6] + 10 * obs[7];
  };
  const struct {
    std::vector<double> action;
    double fuel;
  } steps[] = {{{0, 0}, 0},        {{1, 0}, 0.3},   {{0.2, 0.5}, 0.3 * 0.6},
               {{-1, 0.8}, 0.024}, {{5, -5}, 0.33}, {{-0.1, -0.51}, 0.03 * 0.51}};
  for (const auto& step : steps) {
    const double before = shaping();
    const auto result = env->step(step.action, obs);
    EXPECT_NEAR(result.reward, shaping() - before - step.fuel, 1e-4) << step.action[0];
    EXPECT_FALSE(result.terminated);
  }
}

TEST_F(LunarLanderTest, EnginesPushTheRightWay) {
  const auto env = make_environment(kId);
  std::vector<double> obs(8);
  const auto change = [&](const std::vector<double>& action) {
    Rng rng(1);
    env->reset(rng, obs);
    const auto first = obs;
    for (int i = 0; i < 10; ++i) env->step(action, obs);
    return std::vector{obs[2] - first[2], obs[3] - first[3], obs[5] - first[5]};
  };
  const auto falling = change({0, 0}), lifting = change({1, 0});
  EXPECT_NEAR(falling[1], -10 * 0.2 * (400.0 / 60) / 50, 2e-3);  // only gravity, for 0.2 s
  EXPECT_GT(lifting[1], falling[1] + 0.1);
  EXPECT_GT(change({0, 1})[0], falling[0]);  // the left engine pushes to the right
  EXPECT_LT(change({0, -1})[0], falling[0]);
  EXPECT_EQ(change({0, 0.5}), falling);  // a side engine starts above half throttle
}

TEST_F(LunarLanderTest, FallingCrashesAndAPilotLands) {
  const auto env = make_environment(kId);
  std::vector<double> obs(8);
  Rng rng(7);
  const auto play = [&](const auto& policy, StepResult& last) {
    env->reset(rng, obs);
    double sum = 0;
    do {
      last = env->step(policy(obs), obs);
      sum += last.reward;
    } while (!last.terminated && !last.truncated);
    return sum;
  };
  StepResult last;
  for (int episode = 0; episode < 3; ++episode) {
    play([](const auto&) { return std::vector{0.0, 0.0}; }, last);
    EXPECT_TRUE(last.terminated);
    EXPECT_EQ(last.reward, -100);
  }
  int landed = 0;
  for (int episode = 0; episode < 20; ++episode) {
    const double sum = play(pilot, last);
    if (last.terminated && last.reward == 100 && sum > 200) ++landed;
  }
  EXPECT_GE(landed, 17);
}

TEST_F(LunarLanderTest, SavedStateGoesOnBitForBit) {
  VectorEnv envs(kId, 2, 9, "env", nullptr), other(kId, 2, 1, "env", nullptr);
  const auto run = [](VectorEnv& some, int from, int steps) {
    std::vector<double> seen;
    for (int step = from; step < from + steps; ++step) {
      const auto wave = [&](double phase) {
        return static_cast<float>(std::sin(0.11 * step + phase));
      };
      some.step(std::vector{wave(0), wave(1), wave(2), wave(3)});
      seen.insert(seen.end(), some.final_obs().begin(), some.final_obs().end());
      seen.insert(seen.end(), some.rewards().begin(), some.rewards().end());
    }
    return seen;
  };
  envs.reset();
  // The state is saved in the air, near the ground and on the ground, over several episodes.
  for (int from = 0; from < 360; from += 45) {
    MemoryState state;
    state.save(envs);
    state.restore(other);
    EXPECT_EQ(run(envs, from, 45), run(other, from, 45)) << from;
    state.restore(other);  // also works when `other` is in a later state
  }
}

TEST_F(LunarLanderTest, StateStartsAnEpisode) {
  const auto env = make_environment(kId);
  std::vector<double> obs(8), again(8);
  Rng rng(2);
  env->reset(rng, obs);
  for (int i = 0; i < 20; ++i) env->step(std::vector{0.3, 0.0}, obs);
  const auto state = env->state();
  env->set_state(state);
  env->observe(again);
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(again[i], obs[i], 1e-5);
  // The environment computes the shaping potential of the new state, so the reward has no jump.
  EXPECT_LT(std::abs(env->step(std::vector{0.0, 0.0}, obs).reward), 5);
  EXPECT_THROW(env->set_state(std::vector{1.0}), Error);
  // A state that is saved afterwards is also restored exactly.
  const auto copy = make_environment(kId);
  MemoryState saved;
  saved.save(*env);
  saved.restore(*copy);
  copy->step(std::vector{1.0, 1.0}, again);
  env->step(std::vector{1.0, 1.0}, obs);
  EXPECT_EQ(obs, again);
}

}  // namespace
}  // namespace rl_training
