#pragma once
#include <mujoco/mujoco.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "rl_training/util/rng.h"

namespace rl_training {

// Appends to an observation.
class ObsWriter {
 public:
  explicit ObsWriter(std::span<double> out) : left_(out) {}

  void value(double number) {
    left_[0] = number;
    left_ = left_.subspan(1);
  }
  void values(const mjtNum* data, int64_t count) {
    for (int64_t i = 0; i < count; ++i) value(data[i]);
  }
  void clipped(const mjtNum* data, int64_t count, double bound) {
    for (int64_t i = 0; i < count; ++i) value(std::clamp(data[i], -bound, bound));
  }
  void zeros(int64_t count) {
    for (int64_t i = 0; i < count; ++i) value(0);
  }
  size_t left() const { return left_.size(); }

 private:
  std::span<double> left_;
};

// Spread around the model's initial state: uniform in +-scale, or normal.
struct ResetNoise {
  double scale = 0;
  bool normal = false;
};

// A few numbers a reward needs from before and after the step.
using Measures = std::array<double, 2>;

struct StepView {
  const mjModel& model;
  const mjData& data;              // after the step
  std::span<const double> action;  // as it came: costs are not clipped
  Measures before, after;
  double seconds;  // of simulated time in the step

  double speed() const { return (after[0] - before[0]) / seconds; }
  double squared_action() const {
    double sum = 0;
    for (const double value : action) sum += value * value;
    return sum;
  }
};

// The rules of one task. What they read of mjData is what the last mj_step left there: positions
// of bodies and sites, contact and constraint forces lag behind qpos and qvel by an integrator
// stage. That is how v4 is defined; nothing may be brought up to date.
struct MujocoTask {
  const char* id;
  const char* model;  // models/<model>.xml
  int frame_skip;
  int64_t max_episode_steps;
  int64_t obs_dim;
  ResetNoise position_noise, velocity_noise;
  void (*observe)(const mjModel&, const mjData&, ObsWriter&);
  Measures (*measure)(const mjModel&, const mjData&);
  double (*reward)(const StepView&);
  bool (*terminated)(const mjModel&, const mjData&) = nullptr;  // null: never
  void (*place)(Rng&, std::span<double> positions) = nullptr;   // draws of its own
  int resting = 0;                                              // last velocities: start at 0
  bool contact_forces = false;                                  // reads cfrc_ext
};

// Null if there is no such task.
const MujocoTask* find_mujoco_task(std::string_view id);

// The text of models/<name>.xml, embedded at build time; empty if there is none.
std::string_view mujoco_model_text(std::string_view name);

}  // namespace rl_training
