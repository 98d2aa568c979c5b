#include "rl_training/render/film.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rl_training/render/frame.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

// Largest numbers of frames per episode if `every` is 0.
constexpr int64_t kGifFrames = 250;
constexpr int64_t kStripFrames = 8;

// Returns the steps to draw, in ascending order. Always includes 0 and `last`. If `every` is above
// 0, selects every `every`-th step; otherwise at most `most` steps in total.
std::vector<int64_t> choose(int64_t last, int64_t every, int64_t most) {
  std::vector<int64_t> chosen;
  if (every > 0) {
    for (int64_t i = 0; i < last; i += every) chosen.push_back(i);
  } else {
    const int64_t parts = std::min(most - 1, last);
    for (int64_t i = 0; i < parts; ++i) chosen.push_back(i * last / parts);
  }
  chosen.push_back(last);
  return chosen;
}

}  // namespace

int scene_height(const Scene& scene, int width) {
  const double ratio = (scene.high.y - scene.low.y) / (scene.high.x - scene.low.x);
  return std::max(1, static_cast<int>(std::lround(width * ratio)));
}

std::string film_unavailable() {
#ifdef RL_TRAINING_RENDER
  return "";
#else
  return "this build cannot draw: install libcairo2-dev and libgif-dev and configure again";
#endif
}

#ifndef RL_TRAINING_RENDER
std::string encode_gif(const std::vector<Frame>&, int) { return {}; }
std::string encode_png(const std::vector<Frame>&, int) { return {}; }
#endif

namespace {

// Returns the frames of all episodes. Stores returns and lengths of the episodes in `report`.
std::vector<Frame> film_frames(Environment& env, const Policy& policy, const FilmOptions& options,
                               int64_t most, FilmReport& report) {
  if (const auto why = film_unavailable(); !why.empty()) throw Error(ErrorKind::config, why);
  if (env.scene().shapes.empty()) {
    throw Error(ErrorKind::config, {"", 0, "env_id"},
                "`" + env.spec().id + "` has no drawing (its class does not override scene())");
  }
  const int width = static_cast<int>(options.width);
  std::vector<Frame> frames;
  for (int64_t episode = 0; episode < options.episodes; ++episode) {
    // Plays each episode twice: first to find its length, then to draw it.
    const Rng rng(options.seed, "eval/" + std::to_string(episode));
    const auto played = play_episode(env, policy, rng);
    const auto steps = choose(played.steps, options.every, most);
    play_episode(env, policy, rng, [&](const PlayedEpisode& now) {
      if (!std::binary_search(steps.begin(), steps.end(), now.steps)) return;
      Frame frame{env.scene(), {}, {}};
      if (options.photos) frame.photo = env.photo(width, scene_height(frame.scene, width));
      report.photos = report.photos || !frame.photo.rgb.empty();
      frame.caption =
          fmt::format("{}   step {}   return {:.1f}", env.spec().id, now.steps, now.sum);
      frames.push_back(std::move(frame));
    });
    report.returns.push_back(played.sum);
    report.lengths.push_back(played.steps);
  }
  report.pictures = static_cast<int64_t>(frames.size());
  return frames;
}

}  // namespace

FilmReport film_episodes(Environment& env, const Policy& policy, const FilmOptions& options,
                         const std::string& path) {
  const bool gif = path.ends_with(".gif");
  if (!gif && !path.ends_with(".png")) {
    throw Error(ErrorKind::config, {path, 0, "--output"},
                "unknown kind of picture (expected a name that ends in .gif or .png)");
  }
  FilmReport report;
  const auto frames = film_frames(env, policy, options, gif ? kGifFrames : kStripFrames, report);
  const int width = static_cast<int>(options.width);
  write_file_atomically(posix_file_system(), path,
                        gif ? encode_gif(frames, width) : encode_png(frames, width));
  return report;
}

std::string film_gif(Environment& env, const Policy& policy, const FilmOptions& options) {
  FilmReport report;
  return encode_gif(film_frames(env, policy, options, kGifFrames, report),
                    static_cast<int>(options.width));
}

}  // namespace rl_training
