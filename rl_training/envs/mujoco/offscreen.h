#pragma once
#include <mujoco/mujoco.h>

#include <memory>

#include "rl_training/envs/mujoco/simulation.h"

namespace rl_training {

// MuJoCo's renderer with Mesa's off-screen library, which is loaded at run time. It draws in memory
// and needs neither a display nor a graphics card.
class Offscreen {
 public:
  // Null if the library (Debian: libosmesa6) is not installed.
  static std::unique_ptr<Offscreen> make(const mjModel& model, int width, int height);
  ~Offscreen();
  Offscreen(const Offscreen&) = delete;
  Offscreen& operator=(const Offscreen&) = delete;

  bool fits(int width, int height) const { return width == width_ && height == height_; }
  // `data` is only read, although MuJoCo's function takes it without const.
  Photo shoot(mjData& data, const MujocoView& view);

 private:
  Offscreen(const mjModel& model, int width, int height);

  const mjModel& model_;
  int width_, height_;
  void* canvas_ = nullptr;       // Mesa's context
  std::vector<uint8_t> pixels_;  // required by the library, never read
  mjvScene scene_ = {};
  mjrContext renderer_ = {};
};

}  // namespace rl_training
