#pragma once
#include <mujoco/mujoco.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "rl_training/envs/scene.h"
#include "rl_training/util/options.h"
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
  void clipped(const mjtNum* data, int64_t count, const Interval& bounds) {
    for (int64_t i = 0; i < count; ++i) value(std::clamp(data[i], bounds.low, bounds.high));
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

// The arguments of Gymnasium's v4 constructors with the values of one task.
struct MujocoOptions {
  double forward_reward_weight = 1, ctrl_cost_weight = 0, healthy_reward = 0;
  double contact_cost_weight = 5e-4;
  bool terminate_when_unhealthy = true;
  bool exclude_current_positions = true;  // of the root, where the task hides any
  bool use_contact_forces = false;        // in observation and cost
  Interval healthy_z_range = {}, healthy_angle_range = {}, healthy_state_range = {};
  Interval contact_force_range = {-1, 1};
  ResetNoise position_noise = {}, velocity_noise = {};
};

// Which of them `env_kwargs` may change: those that the v4 class of the task takes.
constexpr unsigned kForwardReward = 1, kCtrlCost = 2;
constexpr unsigned kHealthy = 4;  // reward, end, range of heights
constexpr unsigned kHealthyAngle = 8, kHealthyState = 16;
constexpr unsigned kContact = 32, kNoiseAndPositions = 64;
void visit_mujoco_options(OptionVisitor& visitor, unsigned keys, MujocoOptions& options);

// A few numbers a reward needs from before and after the step.
using Measures = std::array<double, 2>;

struct StepView {
  const mjModel& model;
  const mjData& data;  // after the step
  const MujocoOptions& options;
  std::span<const double> action;  // as it came: costs are not clipped
  Measures before, after;
  double seconds;  // of simulated time in the step
  bool fell;

  double speed() const { return (after[0] - before[0]) / seconds; }
  double squared_action() const {
    double sum = 0;
    for (const double value : action) sum += value * value;
    return sum;
  }
};

// The part of the world that a drawing shows.
struct MujocoView {
  bool from_above = false;  // else from the side: x to the right, z upward
  bool follows = false;     // the x (and from above the y) of the first body
  Point low = {}, high = {};
};

// The rules of one task. What they read of mjData is what the last mj_step left there: positions
// of bodies and sites, contact and constraint forces lag behind qpos and qvel by an integrator
// stage. That is how v4 is defined; nothing may be brought up to date.
struct MujocoTask {
  const char* id;
  const char* model;  // models/<model>.xml
  MujocoView view;
  int frame_skip;
  int64_t max_episode_steps;
  int64_t obs_dim;           // as in v4 by default, without contact forces
  int hidden_positions = 0;  // of the root, left out of the observation
  MujocoOptions options = {};
  unsigned keys = 0;
  void (*observe)(const mjModel&, const mjData&, const MujocoOptions&, ObsWriter&);
  Measures (*measure)(const mjModel&, const mjData&);
  double (*reward)(const StepView&);
  bool (*fell)(const mjModel&, const mjData&, const MujocoOptions&) = nullptr;  // null: never
  void (*place)(Rng&, std::span<double> positions) = nullptr;                   // draws of its own
  int resting = 0;           // last velocities: start at 0
  bool body_forces = false;  // reads cfrc_ext and the like in any case

  int64_t obs_dim_with(const MujocoOptions& changed, const mjModel& model_used) const {
    return obs_dim + (changed.exclude_current_positions ? 0 : hidden_positions) +
           (changed.use_contact_forces ? 6 * model_used.nbody : 0);
  }
};

// The bodies of a simulation as they are placed now.
Scene mujoco_scene(const mjModel& model, const mjData& data, const MujocoView& view);
// Bodies take a few colours in turn, so that neighbours differ.
Color mujoco_body_color(int body);

// Null if there is no such task.
const MujocoTask* find_mujoco_task(std::string_view id);

// The compiled model of a task. Error{internal} where MuJoCo refuses it.
std::shared_ptr<const mjModel> load_mujoco_model(const MujocoTask& task);

// The text of models/<name>.xml, embedded at build time; empty if there is none.
std::string_view mujoco_model_text(std::string_view name);

}  // namespace rl_training
