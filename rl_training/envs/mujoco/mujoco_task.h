#pragma once
#include <mujoco/mujoco.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "rl_training/envs/mujoco/simulation.h"
#include "rl_training/util/options.h"
#include "rl_training/util/rng.h"

namespace rl_training {

// Appends values to an observation; without one, it only counts them.
class ObsWriter {
 public:
  explicit ObsWriter(double* out = nullptr) : out_(out) {}

  void value(double number) {
    if (out_) out_[count_] = number;
    ++count_;
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
  int64_t count() const { return count_; }

 private:
  double* out_;
  int64_t count_ = 0;
};

// Spread around the model's initial state: uniform in +-scale, or normal.
struct ResetNoise {
  double scale = 0;
  bool normal = false;
};

constexpr Interval kUnbounded = {-std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::infinity()};

// The arguments of Gymnasium's constructors with the values of one task.
struct MujocoOptions {
  int version = 4;         // of the rules: 4 or 5
  int64_t frame_skip = 1;  // steps of the simulation in one step of the task
  double forward_reward_weight = 1, ctrl_cost_weight = 0, healthy_reward = 0;
  double dist_reward_weight = 1, near_reward_weight = 0.5;
  double contact_cost_weight = 5e-4;
  bool terminate_when_unhealthy = true;
  bool exclude_current_positions = true;  // of the root; no effect where the task shows them
  bool use_contact_forces = false;        // in the cost and, if they are included, in observations
  bool include_cinert = true, include_cvel = true, include_qfrc_actuator = true;
  bool include_cfrc_ext = true;
  Interval healthy_z_range = {}, healthy_angle_range = {}, healthy_state_range = {};
  Interval contact_force_range = {-1, 1}, contact_cost_range = kUnbounded;
  ResetNoise position_noise = {}, velocity_noise = {};
};

// The groups of options that `env_kwargs` may change: those that the task's Gymnasium class takes.
constexpr unsigned kForwardReward = 1U << 0;
constexpr unsigned kCtrlCost = 1U << 1;
constexpr unsigned kHealthy = 1U << 2;  // reward, end, range of heights
constexpr unsigned kHealthyAngle = 1U << 3;
constexpr unsigned kHealthyState = 1U << 4;
constexpr unsigned kNoise = 1U << 5;
constexpr unsigned kPositions = 1U << 6;
constexpr unsigned kUseContacts = 1U << 7;  // Ant-v4: the switch
constexpr unsigned kContactCost = 1U << 8;  // Ant: weight, bounds of the forces
constexpr unsigned kIncludeForces = 1U << 9;
constexpr unsigned kIncludeBodies = 1U << 10;  // Humanoid: inertia, velocities, actuator forces
constexpr unsigned kCappedCost = 1U << 11;     // Humanoid-v5: weight, bounds of the cost
constexpr unsigned kImpactCost = 1U << 12;     // the same under HumanoidStandup's names
constexpr unsigned kHealthyReward = 1U << 13;  // alone
constexpr unsigned kReachRewards = 1U << 14;   // distance and control
constexpr unsigned kNearReward = 1U << 15;
constexpr unsigned kFrameSkip = 1U << 16;
void visit_mujoco_options(OptionVisitor& visitor, unsigned keys, MujocoOptions& options);

// A few values that a reward needs from before and after the step.
using Measures = std::array<double, 2>;

struct StepView {
  const mjModel& model;
  const mjData& data;  // after the step
  const MujocoOptions& options;
  std::span<const double> action;  // not clipped, because costs count the action as given
  Measures before, after;
  double seconds;  // of simulated time in the step
  bool fell;

  // v4 rates distances before the step, v5 after it.
  const Measures& rated() const { return options.version == 4 ? before : after; }
  double speed() const { return (after[0] - before[0]) / seconds; }
  double squared_action() const {
    double sum = 0;
    for (const double value : action) sum += value * value;
    return sum;
  }
};

// Text of a model that a task replaces, wherever it occurs.
struct ModelEdit {
  const char* from;
  const char* to;
};

// The rules of one task. They read mjData as the last mj_step left it: positions of bodies and
// sites, contact and constraint forces lag behind qpos and qvel by one integrator stage. These
// tasks are defined that way, so nothing may be recomputed before it is read.
struct MujocoTask {
  std::string id;
  const char* model;  // models/<model>.xml
  std::span<const ModelEdit> edits = {};
  MujocoView view;
  int64_t max_episode_steps;
  MujocoOptions options = {};
  unsigned keys = 0;
  void (*observe)(const mjModel&, const mjData&, const MujocoOptions&, ObsWriter&);
  Measures (*measure)(const mjModel&, const mjData&);
  double (*reward)(const StepView&);
  bool (*fell)(const mjModel&, const mjData&, const MujocoOptions&) = nullptr;  // null: never
  void (*place)(Rng&, std::span<double> positions) = nullptr;                   // additional draws
  int resting = 0;           // number of last velocities that start at 0
  bool body_forces = false;  // always reads cinert, cvel or cfrc_ext
};

// Null if there is no such task.
const MujocoTask* find_mujoco_task(std::string_view id);

// The compiled model of a task.
std::shared_ptr<const mjModel> load_mujoco_model(const MujocoTask& task);

// The text of models/<name>.xml with all edits made. Error{internal} if there is no such model or
// an edit finds nothing to replace.
std::string edited_mujoco_model(std::string_view name, std::span<const ModelEdit> edits);

// The text of models/<name>.xml, embedded at build time; empty if there is none.
std::string_view mujoco_model_text(std::string_view name);

}  // namespace rl_training
