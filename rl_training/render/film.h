#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rl_training/envs/rollout.h"

namespace rl_training {

struct FilmOptions {
  int64_t episodes = 1;
  uint64_t seed = 0;
  int64_t every = 0;    // steps between frames; 0 selects the steps automatically
  int64_t width = 480;  // pixels
  bool photos = true;   // whether to use the renderer of the environment, if it has one
};

struct FilmReport {
  std::vector<double> returns;
  std::vector<int64_t> lengths;
  int64_t pictures = 0;  // number of frames
  bool photos = false;   // whether the renderer of the environment was used
};

// Returns the reason why this build cannot draw, or "" if it can.
std::string film_unavailable();

// Plays whole episodes and draws them. `path` must end in .gif for an animation or in .png for a
// still picture of several frames. Both include the first and the last step of each episode. By
// default, a still picture has at most 8 frames per episode. Episode i uses the random stream
// "eval/i" of the seed, as in evaluations. Throws Error{config} if `path` has another ending, if
// the environment cannot be drawn, or if this build cannot draw.
FilmReport film_episodes(Environment& env, const Policy& policy, const FilmOptions& options,
                         const std::string& path);

// Like film_episodes, but returns the bytes of a GIF instead of writing a file.
std::string film_gif(Environment& env, const Policy& policy, const FilmOptions& options);

}  // namespace rl_training
