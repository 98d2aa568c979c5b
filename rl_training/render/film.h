#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rl_training/envs/rollout.h"

namespace rl_training {

struct FilmOptions {
  int64_t episodes = 1;
  uint64_t seed = 0;
  int64_t every = 0;  // steps between pictures; 0: automatic
  int64_t width = 480;
  bool photos = true;  // by the task's own renderer, if there is one
};

struct FilmReport {
  std::vector<double> returns;
  std::vector<int64_t> lengths;
  int64_t pictures = 0;
  bool photos = false;
};

// Why this build cannot draw; empty: it can.
std::string film_unavailable();

// Plays whole episodes and draws them: `path` ends in .gif (animated) or .png (a strip of frames
// that includes the first and the last). Episode i uses the random stream "eval/i" of the seed, as
// in evaluations. Throws Error{config} for another ending, for an environment that cannot be drawn,
// and if this build cannot draw.
FilmReport film_episodes(Environment& env, const Policy& policy, const FilmOptions& options,
                         const std::string& path);

// The same as the bytes of a GIF.
std::string film_gif(Environment& env, const Policy& policy, const FilmOptions& options);

}  // namespace rl_training
