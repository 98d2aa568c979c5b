#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rl_training/envs/env_options.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"
#include "rl_training/envs/vector_env.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

EnvOptions read(const std::string& env_id, const Json& json) {
  const auto node = ConfigNode::from_json(json, "c.yaml");
  EnvOptions options;
  OptionReader reader(node, "env_kwargs");
  options.visit_options(reader, env_id);
  reader.finish({}, env_id);
  return options;
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "no error";
}

bool has_mujoco() { return find_environment("Hopper-v4")->unavailable.empty(); }

TEST(EnvOptions, DefaultsAreTheTaskItself) {
  const auto options = read("Pendulum-v1", Json::object());
  EXPECT_FALSE(options.max_episode_steps);
  EXPECT_TRUE(options.task.empty());
  EXPECT_TRUE(options.reward_transform(nullptr).identity());
  EXPECT_EQ(make_environment("Pendulum-v1", options)->spec().max_episode_steps, 200);
}

TEST(EnvOptions, AnotherTimeLimit) {
  const auto options = read("Pendulum-v1", {{"max_episode_steps", 7}});
  const auto env = make_environment("Pendulum-v1", options);
  EXPECT_EQ(env->spec().max_episode_steps, 7);
  std::vector<double> obs(3);
  Rng rng(0);
  env->reset(rng, obs);
  for (int step = 1; step <= 7; ++step) {
    EXPECT_EQ(env->step(std::vector{0.0}, obs).truncated, step == 7);
  }
  EXPECT_EQ(random_dataset("Pendulum-v1", 21, 0, options).episodes().size(), 3U);
  VectorEnv envs("Pendulum-v1", 2, 0, "env", nullptr, options);
  EXPECT_EQ(envs.spec().max_episode_steps, 7);
}

TEST(EnvOptions, RewardKeysOverrideThePreset) {
  const Json reward = {{"preset", "clip_1"}, {"scale", 2}, {"clip", {nullptr, 5}}};
  auto transform =
      read("Pendulum-v1", {{"wrappers", {{"reward", reward}}}}).reward_transform(nullptr);
  EXPECT_EQ(transform.apply(-3), -1);  // lower bound of the preset
  EXPECT_EQ(transform.apply(2), 4);    // 2 * 2, because the bound 5 replaces the preset's bound 1
  EXPECT_EQ(transform.apply(9), 5);

  transform = read("Pendulum-v1", {{"wrappers", {{"reward", "sign_clip"}}}}).reward_transform({});
  EXPECT_EQ(transform.apply(-3), -1);
  const Json no_sign = {{"preset", "sign_clip"}, {"sign", false}, {"shift", 0.5}};
  transform = read("Pendulum-v1", {{"wrappers", {{"reward", no_sign}}}}).reward_transform({});
  EXPECT_EQ(transform.apply(-3), -2.5);
}

TEST(EnvOptions, RewardErrorsNameTheirKey) {
  const auto with = [](const Json& reward) {
    return error_of([&] {
      read("Pendulum-v1", {{"wrappers", {{"reward", reward}}}}).reward_transform(nullptr);
    });
  };
  EXPECT_EQ(with("standardize"), "env_kwargs.wrappers.reward.preset: standardize needs a dataset");
  EXPECT_EQ(
      with({{"clip", {1, -1}}}),
      "c.yaml: env_kwargs.wrappers.reward.clip: the lower bound is above the upper bound (expected "
      "[low, high] with low <= high, null for no bound, got [1, -1])");
  EXPECT_EQ(with({{"clip", 1}}),
            "c.yaml: env_kwargs.wrappers.reward.clip: not a pair of bounds (expected [low, high] "
            "with low <= high, null for no bound, got 1)");
  EXPECT_EQ(with({{"scal", 1}}),
            "c.yaml: env_kwargs.wrappers.reward.scal: unknown key (did you mean `scale`?)");
}

TEST(EnvOptions, AKeyThatTheTaskDoesNotHave) {
  EXPECT_EQ(error_of([] {
              read("Pendulum-v1", {{"healthy_reward", 1}});
            }),
            "c.yaml: env_kwargs.healthy_reward: unknown key for Pendulum-v1 (expected one of "
            "max_episode_steps, wrappers)");
  EnvOptions options;
  options.task = {{"healthy_reward", 1}};
  EXPECT_EQ(error_of([&] { make_environment("Pendulum-v1", options); }),
            "env_kwargs.healthy_reward: unknown key for Pendulum-v1 (none is known here)");
}

// --- MuJoCo: the arguments of Gymnasium's constructors

class MujocoOptionsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_mujoco()) GTEST_SKIP() << "this build has no MuJoCo";
  }
};

// Takes one step with the action 0.5 from the model's initial pose, raised by `height`.
StepResult one_step(const std::string& id, const Json& json, double height = 0) {
  const auto env = make_environment(id, read(id, json));
  auto state = env->state();
  state[id == "Ant-v4" ? 2 : 1] += height;
  env->set_state(state);
  std::vector<double> obs(static_cast<size_t>(env->spec().observation.size()));
  return env->step(std::vector<double>(static_cast<size_t>(env->spec().action.size()), 0.5), obs);
}

TEST_F(MujocoOptionsTest, WrittenWithTheirDefaults) {
  auto options = read("Hopper-v4", Json::object());
  EXPECT_EQ(options.task["healthy_z_range"], Json::array({0.7, nullptr}));
  EXPECT_EQ(options.task["reset_noise_scale"], 0.005);
  EXPECT_EQ(options.task["ctrl_cost_weight"], 1e-3);
  EXPECT_FALSE(options.task.contains("use_contact_forces"));
  const auto written =
      write_options([&](OptionVisitor& writer) { options.visit_options(writer, "Hopper-v4"); });
  EXPECT_EQ(read("Hopper-v4", written).task, options.task);
  EXPECT_EQ(error_of([] {
              read("Walker2d-v4", {{"healthy_state_range", {-1, 1}}});
            }),
            "c.yaml: env_kwargs.healthy_state_range: unknown key for Walker2d-v4 (did you mean "
            "`healthy_angle_range`?)");
}

TEST_F(MujocoOptionsTest, WeightsOfTheReward) {
  const double plain = one_step("Hopper-v4", Json::object()).reward;
  const double costly = one_step("Hopper-v4", {{"ctrl_cost_weight", 1.001}}).reward;
  EXPECT_NEAR(plain - costly, 3 * 0.25, 1e-12);
  EXPECT_NEAR(one_step("Hopper-v4", {{"healthy_reward", 4}}).reward - plain, 3, 1e-12);
  const double speed = plain - 1 + 1e-3 * 3 * 0.25;
  EXPECT_NEAR(one_step("Hopper-v4", {{"forward_reward_weight", 3}}).reward - plain, 2 * speed,
              1e-12);
}

TEST_F(MujocoOptionsTest, FramesOfAStep) {
  const auto state_after = [](int steps, const Json& json) {
    const auto env = make_environment("Hopper-v5", read("Hopper-v5", json));
    env->set_state(env->state());
    std::vector<double> obs(static_cast<size_t>(env->spec().observation.size()));
    for (int i = 0; i < steps; ++i) env->step(std::vector<double>(3, 0.5), obs);
    return env->state();
  };
  EXPECT_EQ(state_after(2, {{"frame_skip", 2}}), state_after(1, Json::object()));
  EXPECT_NE(state_after(1, {{"frame_skip", 2}}), state_after(1, Json::object()));
  EXPECT_EQ(error_of([] {
              read("Hopper-v4", {{"frame_skip", 2}});
            }).find("c.yaml: env_kwargs.frame_skip: unknown key for Hopper-v4"),
            0U);
}

TEST_F(MujocoOptionsTest, Health) {
  const double lower = -0.6;  // lowers z from 1.25 to 0.65, below the limit of 0.7
  EXPECT_TRUE(one_step("Hopper-v4", Json::object(), lower).terminated);
  EXPECT_FALSE(one_step("Hopper-v4", {{"healthy_z_range", {0.6, nullptr}}}, lower).terminated);
  // If unhealthy states do not terminate the episode, they earn no healthy reward.
  const auto fallen = one_step("Hopper-v4", {{"terminate_when_unhealthy", false}}, lower);
  EXPECT_FALSE(fallen.terminated);
  EXPECT_NEAR(one_step("Hopper-v4", Json::object(), lower).reward - fallen.reward, 1, 1e-12);
  EXPECT_TRUE(one_step("Hopper-v4", {{"healthy_angle_range", {0.1, 0.2}}}).terminated);
  EXPECT_TRUE(one_step("Hopper-v4", {{"healthy_state_range", {-1e-9, 1e-9}}}).terminated);
  EXPECT_TRUE(one_step("Ant-v4", Json::object(), 0.5).terminated);
  EXPECT_FALSE(one_step("Ant-v4", {{"healthy_z_range", {0.2, 2}}}, 0.5).terminated);
}

TEST_F(MujocoOptionsTest, Observations) {
  const auto size = [](const char* id, const Json& json) {
    return make_environment(id, read(id, json))->spec().observation.size();
  };
  const Json all = {{"exclude_current_positions_from_observation", false}};
  EXPECT_EQ(size("Hopper-v4", all), 12);
  EXPECT_EQ(size("Swimmer-v4", all), 10);
  EXPECT_EQ(size("Ant-v4", {{"use_contact_forces", true}}), 111);
  EXPECT_EQ(size("Ant-v4-contact", {{"use_contact_forces", false}}), 27);
  EXPECT_EQ(size("Humanoid-v4", all), 378);

  // The position comes first, followed by the default observation.
  const auto hidden = make_environment("HalfCheetah-v4");
  const auto shown = make_environment("HalfCheetah-v4", read("HalfCheetah-v4", all));
  std::vector<double> a(17), b(18);
  Rng first(1), second(1);
  hidden->reset(first, a);
  shown->reset(second, b);
  EXPECT_EQ(b[0], shown->state()[0]);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin() + 1));
}

TEST_F(MujocoOptionsTest, AntWithContactForcesIsTheContactVariant) {
  const auto ant = make_environment("Ant-v4", read("Ant-v4", {{"use_contact_forces", true}}));
  const auto contact = make_environment("Ant-v4-contact");
  std::vector<double> a(111), b(111);
  Rng first(4), second(4);
  ant->reset(first, a);
  contact->reset(second, b);
  for (int step = 0; step < 40; ++step) {
    const std::vector<double> action(8, std::sin(0.3 * step));
    ASSERT_EQ(ant->step(action, a).reward, contact->step(action, b).reward);
    ASSERT_EQ(a, b);
  }
}

TEST_F(MujocoOptionsTest, NoiseOfTheFirstState) {
  const auto env = make_environment("Swimmer-v4", read("Swimmer-v4", {{"reset_noise_scale", 0}}));
  const auto rest = env->state();
  std::vector<double> obs(8);
  Rng rng(3);
  env->reset(rng, obs);
  EXPECT_EQ(env->state(), rest);
}

}  // namespace
}  // namespace rl_training
