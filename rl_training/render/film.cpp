#include "rl_training/render/film.h"

#include <fmt/format.h>

#include <algorithm>

#include "rl_training/render/frame.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

constexpr int64_t kGifFrames = 250;  // of an episode, where the user does not say
constexpr int64_t kStripFrames = 8;

struct Moment {
  Scene scene;
  PlayedEpisode played;
};

// The first and the last moment and some between: each `every` steps or, for 0, at most `most`.
std::vector<Moment> choose(const std::vector<Moment>& all, int64_t every, int64_t most) {
  const auto last = static_cast<int64_t>(all.size()) - 1;
  std::vector<Moment> chosen;
  if (every > 0) {
    for (int64_t i = 0; i < last; i += every) chosen.push_back(all[static_cast<size_t>(i)]);
  } else {
    const int64_t parts = std::min(most - 1, last);
    for (int64_t i = 0; i < parts; ++i) {
      chosen.push_back(all[static_cast<size_t>(i * last / parts)]);
    }
  }
  chosen.push_back(all.back());
  return chosen;
}

}  // namespace

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

FilmReport film_episodes(Environment& env, const Policy& policy, const FilmOptions& options,
                         const std::string& path) {
  const bool gif = path.ends_with(".gif");
  if (!gif && !path.ends_with(".png")) {
    throw Error(ErrorKind::config, {path, 0, "--output"},
                "unknown kind of picture (expected a name that ends in .gif or .png)");
  }
  if (const auto why = film_unavailable(); !why.empty()) throw Error(ErrorKind::config, why);
  if (env.scene().shapes.empty()) {
    throw Error(ErrorKind::config, {"", 0, "env_id"},
                "`" + env.spec().id + "` has no drawing (its class does not override scene())");
  }
  FilmReport report;
  std::vector<Frame> frames;
  for (int64_t episode = 0; episode < options.episodes; ++episode) {
    std::vector<Moment> moments;
    const auto played =
        play_episode(env, policy, Rng(options.seed, "eval/" + std::to_string(episode)),
                     [&](const PlayedEpisode& now) {
                       moments.push_back({env.scene(), now});
                     });
    report.returns.push_back(played.sum);
    report.lengths.push_back(played.steps);
    for (auto& moment : choose(moments, options.every, gif ? kGifFrames : kStripFrames)) {
      frames.push_back(
          {std::move(moment.scene), fmt::format("{}   step {}   return {:.1f}", env.spec().id,
                                                moment.played.steps, moment.played.sum)});
    }
  }
  report.pictures = static_cast<int64_t>(frames.size());
  const int width = static_cast<int>(options.width);
  write_file_atomically(posix_file_system(), path,
                        gif ? encode_gif(frames, width) : encode_png(frames, width));
  return report;
}

}  // namespace rl_training
