#include <gtest/gtest.h>

#include "rl_training/envs/paint.h"
#include "rl_training/envs/pendulum.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/vector_env.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_pixels {
namespace {

EnvOptions pixels(int64_t size = 16, int64_t frame_stack = 3, int64_t action_repeat = 2) {
  EnvOptions options;
  options.pixels.used = true;
  options.pixels.size = size;
  options.pixels.frame_stack = frame_stack;
  options.pixels.action_repeat = action_repeat;
  return options;
}

std::vector<uint8_t> image_of(const Environment& env) {
  std::vector<uint8_t> image(static_cast<size_t>(env.spec().observation.size()));
  env.observe_pixels(image);
  return image;
}

std::vector<uint8_t> frame_of(const Environment& env, size_t place, size_t stack = 3) {
  const auto image = image_of(env);
  const auto bytes = static_cast<int64_t>(image.size() / stack);
  const auto first = image.begin() + static_cast<int64_t>(place) * bytes;
  return {first, first + bytes};
}

// Returns the pixels of the scene of `env`: three planes of size x size.
std::vector<uint8_t> painted(Environment& env, int64_t size) {
  std::vector<uint8_t> planes(static_cast<size_t>(3 * size * size));
  paint_scene(env.scene(), size, planes);
  return planes;
}

// The scene is a black square from (1, 0) to (2, 1) in a view of 4 x 2. The view is centred in 4 x
// 4 pixels.
TEST(Paint, FillsPolygons) {
  const Scene scene{{0, 0}, {4, 2}, {{{{1, 0}, {2, 0}, {2, 1}, {1, 1}}, {0, 0, 0}}}};
  std::vector<uint8_t> planes(48, 7);
  paint_scene(scene, 4, planes);
  for (size_t row = 0; row < 4; ++row) {
    for (size_t column = 0; column < 4; ++column) {
      const bool black = row == 2 && column == 1;
      EXPECT_EQ(planes[4 * row + column], black ? 0 : 250) << row << " " << column;
      EXPECT_EQ(planes[32 + 4 * row + column], black ? 0 : 247) << row << " " << column;
    }
  }
}

// A pixel that is half covered has the mean of both colours: 250 + (255 - 250) / 2 in red. A line
// thinner than a pixel colours the pixel in proportion to its width.
TEST(Paint, SharesPixelsByTheirCoverage) {
  std::vector<uint8_t> planes(48);
  paint_scene({{0, 0}, {4, 4}, {{{{-9, -9}, {1.5, -9}, {1.5, 9}, {-9, 9}}, {1, 0, 0}}}}, 4, planes);
  EXPECT_EQ(planes[0], 255);
  EXPECT_EQ(planes[1], 253);
  EXPECT_EQ(planes[2], 250);
  EXPECT_EQ(planes[16 + 1], 125);  // green
  paint_scene({{0, 0}, {4, 4}, {{{{-9, 0.5}, {9, 0.5}}, {0, 0, 0}, 0.2}}}, 4, planes);
  EXPECT_EQ(planes[12], 200);
  EXPECT_EQ(planes[8], 250);
  paint_scene({{0, 0}, {4, 4}, {{{{1.5, 1.5}}, {0, 0, 0}, 1}}}, 4, planes);  // a disc
  EXPECT_EQ(planes[4 * 2 + 1], 0);
  EXPECT_EQ(planes[4 * 1 + 1], 250);
}

TEST(Paint, PhotographsBecomePlanes) {
  std::vector<uint8_t> planes(6);
  paint_photo({2, 1, {1, 2, 3, 4, 5, 6}}, planes);
  EXPECT_EQ(planes, (std::vector<uint8_t>{1, 4, 2, 5, 3, 6}));
}

TEST(Pixels, StacksFramesAndRepeatsActions) {
  const auto env = make_environment("Pendulum-v1", pixels());
  EXPECT_EQ(env->spec().observation, Space::image(9, 16, 16, 3));
  EXPECT_EQ(env->spec().max_episode_steps, 100);
  Pendulum plain;
  Rng rng(1), same(1);
  std::vector<double> obs(3);
  env->reset(rng, {});
  plain.reset(same, obs);
  std::vector<std::vector<uint8_t>> seen(3, painted(plain, 16));
  for (int step = 0; step < 4; ++step) {
    for (size_t place = 0; place < 3; ++place) {
      EXPECT_EQ(frame_of(*env, place), seen[seen.size() - 3 + place]) << step << " " << place;
    }
    const double action[] = {1.5};
    const auto result = env->step(action, {});
    const double first = plain.step(action, obs).reward;
    EXPECT_EQ(result.reward, plain.step(action, obs).reward + first);
    EXPECT_EQ(env->state(), plain.state());
    seen.push_back(painted(plain, 16));
  }
  EXPECT_NE(seen[3], seen[4]);
}

// Each action lasts for two steps of the task, and the time limit is three steps. The second action
// therefore ends after one step.
TEST(Pixels, EndsWithTheTask) {
  auto options = pixels();
  options.max_episode_steps = 3;
  const auto env = make_environment("Pendulum-v1", options);
  EXPECT_EQ(env->spec().max_episode_steps, 2);
  Pendulum plain;
  Rng rng(1), same(1);
  std::vector<double> obs(3);
  env->reset(rng, {});
  plain.reset(same, obs);
  const double action[] = {0.5};
  EXPECT_FALSE(env->step(action, {}).truncated);
  plain.step(action, obs);
  plain.step(action, obs);
  const auto last = env->step(action, {});
  EXPECT_TRUE(last.truncated);
  EXPECT_EQ(last.reward, plain.step(action, obs).reward);
}

TEST(Pixels, SettingTheStateBeginsAnEpisode) {
  const auto env = make_environment("Pendulum-v1", pixels());
  Rng rng(1);
  env->reset(rng, {});
  const double action[] = {1.0}, state[] = {0.5, 0.0};
  env->step(action, {});
  env->set_state(state);
  Pendulum plain;
  plain.set_state(state);
  for (size_t place = 0; place < 3; ++place) EXPECT_EQ(frame_of(*env, place), painted(plain, 16));
}

TEST(Pixels, TheStackIsPartOfTheState) {
  VectorEnv envs("Pendulum-v1", 2, 5, "env", nullptr, pixels());
  envs.reset();
  const std::vector<float> actions = {0.3f, -0.7f};
  for (int i = 0; i < 3; ++i) envs.step(actions);
  MemoryState saved;
  saved.save(envs);
  VectorEnv again("Pendulum-v1", 2, 9, "env", nullptr, pixels());
  again.reset();
  saved.restore(again);
  const auto images = [](const VectorEnv& all) {
    return std::vector<uint8_t>(all.obs_of(0), all.obs_of(0) + 2 * 9 * 16 * 16);
  };
  EXPECT_EQ(images(again), images(envs));
  envs.step(actions);
  again.step(actions);
  EXPECT_EQ(images(again), images(envs));
}

std::string refusal(const std::string& id, const EnvOptions& options) {
  try {
    make_environment(id, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
  return "no error";
}

TEST(Pixels, TasksWithoutAPictureAreRefused) {
  auto options = pixels();
  options.pixels.renderer = PixelOptions::Renderer::photo;
  EXPECT_EQ(refusal("Pendulum-v1", options),
            "env_kwargs.wrappers.pixels.renderer: `Pendulum-v1` cannot be rendered by MuJoCo here "
            "(expected a MuJoCo task and libosmesa6, or renderer: drawing)");
}

// Every task with a scene can be observed as pixels, and its image is not a single colour. Tasks
// without a scene are skipped; other tests register such tasks.
TEST(Pixels, EveryTaskCanBeSeen) {
  int64_t seen = 0;
  for (const EnvInfo& info : environments()) {
    if (!info.unavailable.empty() || info.make()->scene().shapes.empty()) continue;
    SCOPED_TRACE(info.id);
    ++seen;
    const auto env = make_environment(info.id, pixels(32, 1, 1));
    Rng rng(1);
    env->reset(rng, {});
    const auto image = image_of(*env);
    EXPECT_NE(std::count(image.begin(), image.end(), image.front()),
              static_cast<int64_t>(image.size()));
    EXPECT_EQ(env->goal_task(), nullptr);
  }
  EXPECT_GE(seen, 8);
}

}  // namespace
}  // namespace rl_training::test_pixels
