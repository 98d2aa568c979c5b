#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "rl_training/envs/registry.h"
#include "rl_training/render/film.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

uint32_t big_endian(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Scenes, EveryTaskOfOursHasADrawing) {
  for (const auto& info : environments()) {
    if (!info.unavailable.empty()) continue;
    const auto env = make_environment(info.id);
    std::vector<double> obs(static_cast<size_t>(env->spec().observation.size()));
    Rng rng(1);
    env->reset(rng, obs);
    const Scene scene = env->scene();
    EXPECT_FALSE(scene.shapes.empty()) << info.id;
    EXPECT_LT(scene.low.x, scene.high.x) << info.id;
    EXPECT_LT(scene.low.y, scene.high.y) << info.id;
    for (const Shape& shape : scene.shapes) {
      ASSERT_FALSE(shape.points.empty()) << info.id;
      for (const Point& point : shape.points) ASSERT_TRUE(std::isfinite(point.x + point.y));
      if (shape.width > 0) continue;
      EXPECT_GE(shape.points.size(), 3U) << info.id;
    }
  }
}

TEST(Scenes, ThePendulumPointsWhereItsAngleSays) {
  const auto env = make_environment("Pendulum-v1");
  env->set_state(std::vector{0.0, 0.0});  // upright
  EXPECT_NEAR(env->scene().shapes[0].points[1].y, 1, 1e-12);
  env->set_state(std::vector{0.5 * std::numbers::pi, 0.0});
  EXPECT_NEAR(env->scene().shapes[0].points[1].x, -1, 1e-12);
}

// MuJoCo's own renderer shows the sky at the top, the floor at the bottom, and the coloured hopper
// between them.
TEST(Scenes, APhotoShowsTheBodyOnItsFloor) {
  const auto* info = find_environment("Hopper-v4");
  if (info == nullptr || !info->unavailable.empty()) GTEST_SKIP() << "built without MuJoCo";
  const auto env = make_environment("Hopper-v4");
  std::vector<double> obs(static_cast<size_t>(env->spec().observation.size()));
  Rng rng(1);
  env->reset(rng, obs);
  const Photo photo = env->photo(120, 90);
  if (photo.rgb.empty()) GTEST_SKIP() << "no off-screen Mesa (libosmesa6) on this machine";
  ASSERT_EQ(photo.width, 120);
  ASSERT_EQ(photo.height, 90);
  ASSERT_EQ(photo.rgb.size(), 120U * 90 * 3);
  const auto pixel = [&](size_t row, size_t column) {
    return &photo.rgb[(row * 120 + column) * 3];
  };
  const auto colourful = [](const uint8_t* p) {
    return std::max({p[0], p[1], p[2]}) - std::min({p[0], p[1], p[2]}) > 40;
  };
  EXPECT_EQ(pixel(0, 0)[0], 250);   // sky
  EXPECT_LT(pixel(89, 5)[0], 200);  // floor
  EXPECT_FALSE(colourful(pixel(89, 5)));
  EXPECT_TRUE(colourful(pixel(30, 60)));  // the hopper is in the middle
  EXPECT_EQ(env->photo(120, 90).rgb, photo.rgb);
  EXPECT_TRUE(make_environment("Pendulum-v1")->photo(120, 90).rgb.empty());
}

class FilmTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!film_unavailable().empty()) GTEST_SKIP() << film_unavailable();
  }
  FilmReport film(const std::string& id, const FilmOptions& options, const std::string& name) {
    EnvOptions short_episode;
    short_episode.max_episode_steps = 21;
    const auto env = make_environment(id, short_episode);
    return film_episodes(*env, random_policy(env->spec().action), options,
                         directory_.path() + "/" + name);
  }
  std::string bytes(const std::string& name) {
    return posix_file_system().read_file(directory_.path() + "/" + name);
  }

  TemporaryDirectory directory_;
};

TEST_F(FilmTest, AStripOfEightPictures) {
  FilmOptions options;
  options.width = 100;
  const auto report = film("Pendulum-v1", options, "strip.png");
  EXPECT_EQ(report.pictures, 8);
  EXPECT_EQ(report.lengths, std::vector<int64_t>{21});
  const auto png = bytes("strip.png");
  ASSERT_EQ(png.substr(1, 3), "PNG");
  EXPECT_EQ(big_endian(png, 16), 4 * 104 - 4U);        // four pictures per row
  EXPECT_EQ(big_endian(png, 20), 2 * (126 + 4) - 4U);  // two rows of square pictures with captions
}

TEST_F(FilmTest, AnAnimation) {
  FilmOptions options;
  options.width = 120;
  options.every = 5;
  options.episodes = 2;
  const auto report = film("MountainCarContinuous-v0", options, "film.gif");
  EXPECT_EQ(report.pictures, 2 * 6);  // per episode: steps 0, 5, 10, 15, 20 and the last step
  EXPECT_EQ(report.returns.size(), 2U);
  const auto gif = bytes("film.gif");
  EXPECT_EQ(gif.substr(0, 6), "GIF89a");
  EXPECT_EQ(static_cast<uint8_t>(gif[6]), 120);
  EXPECT_EQ(count_of(gif, "NETSCAPE2.0"), 1U);
  EXPECT_EQ(count_of(gif, std::string("\x21\xF9\x04", 3)), 12U);
  EXPECT_EQ(gif.back(), ';');
}

TEST_F(FilmTest, TheSameSeedGivesTheSameFile) {
  FilmOptions options;
  options.width = 100;
  options.seed = 4;
  film("Pendulum-v1", options, "a.png");
  film("Pendulum-v1", options, "b.png");
  options.seed = 5;
  film("Pendulum-v1", options, "c.png");
  EXPECT_EQ(bytes("a.png"), bytes("b.png"));
  EXPECT_NE(bytes("a.png"), bytes("c.png"));
}

TEST_F(FilmTest, RefusesWhatItCannotDraw) {
  class Bare final : public Environment {
   public:
    Bare() {
      spec_.id = "Bare";
      spec_.action = Space::box({-1}, {1});
    }
    const EnvSpec& spec() const override { return spec_; }
    void reset(Rng&, std::span<double>) override {}
    StepResult step(std::span<const double>, std::span<double>) override {
      return {0, true, false};
    }
    std::vector<double> state() const override { return {}; }
    void set_state(std::span<const double>) override {}
    void observe(std::span<double>) const override {}
    void visit_state(StateVisitor&) override {}

   private:
    EnvSpec spec_;
  } bare;
  const auto message = [&](const std::string& name) -> std::string {
    try {
      film_episodes(bare, random_policy(bare.spec().action), {}, directory_.path() + "/" + name);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      return error.message();
    }
    return "no error";
  };
  EXPECT_EQ(message("a.png"), "`Bare` has no drawing (its class does not override scene())");
  EXPECT_EQ(message("a.bmp"),
            "unknown kind of picture (expected a name that ends in .gif or .png)");
  EXPECT_TRUE(posix_file_system().list_directory(directory_.path()).empty());
}

}  // namespace
}  // namespace rl_training
