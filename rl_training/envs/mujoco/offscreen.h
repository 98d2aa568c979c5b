#pragma once
#include <mujoco/mujoco.h>

#include <memory>

#include "rl_training/envs/mujoco/simulation.h"

namespace rl_training {

// MuJoCo's renderer on top of Mesa's off-screen library, which is loaded at run time. Rendering
// needs neither a display nor a graphics card.
class Offscreen {
 public:
  // Returns null if the library (Debian: libosmesa6) is not installed or cannot create a context.
  static std::unique_ptr<Offscreen> make(const mjModel& model, int width, int height);
  ~Offscreen();
  Offscreen(const Offscreen&) = delete;
  Offscreen& operator=(const Offscreen&) = delete;

  bool fits(int width, int height) const { return width == width_ && height == height_; }
  // Does not change `data`, but MuJoCo's function requires a non-const pointer.
  Photo shoot(mjData& data, const MujocoView& view);

 private:
  Offscreen(const mjModel& model, int width, int height);

  const mjModel& model_;
  int width_, height_;
  void* canvas_ = nullptr;       // Mesa's context
  std::vector<uint8_t> pixels_;  // the frame buffer, which the library requires; never read
  mjvScene scene_ = {};
  mjrContext renderer_ = {};
};

}  // namespace rl_training
