#pragma once
#include <mujoco/mujoco.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rl_training/envs/mujoco/old_masses.h"
#include "rl_training/envs/mujoco/simulation.h"
#include "rl_training/util/options.h"
#include "rl_training/util/rng.h"

namespace rl_training {

// Appends values to an observation. If `out` is null, only counts the values.
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

// Noise that is added to the model's initial state: uniform in [-scale, scale], or normal with the
// standard deviation `scale`.
struct ResetNoise {
  double scale = 0;
  bool normal = false;
};

constexpr Interval kUnbounded = {-std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::infinity()};

// The options of Gymnasium's constructors, with the values of one task.
struct MujocoOptions {
  int version = 4;         // version of the rules: 4 or 5
  int64_t frame_skip = 1;  // steps of the simulation in one step of the task
  double forward_reward_weight = 1, ctrl_cost_weight = 0, healthy_reward = 0;
  double dist_reward_weight = 1, near_reward_weight = 0.5;
  double contact_cost_weight = 5e-4;
  bool terminate_when_unhealthy = true;
  // If true, observations omit the root's position, in tasks that can omit it.
  bool exclude_current_positions = true;
  // If true, locomotion_reward() subtracts a cost of contact forces. Ant then also observes these
  // forces, if include_cfrc_ext is true.
  bool use_contact_forces = false;
  bool include_cinert = true, include_cvel = true, include_qfrc_actuator = true;
  bool include_cfrc_ext = true;
  Interval healthy_z_range = {}, healthy_angle_range = {}, healthy_state_range = {};
  Interval contact_force_range = {-1, 1}, contact_cost_range = kUnbounded;
  ResetNoise position_noise = {}, velocity_noise = {};
};

// Groups of options that `env_kwargs` may set. Each task has the groups that its Gymnasium class
// accepts.
constexpr unsigned kForwardReward = 1U << 0;
constexpr unsigned kCtrlCost = 1U << 1;
constexpr unsigned kHealthy = 1U << 2;  // reward, termination, range of heights
constexpr unsigned kHealthyAngle = 1U << 3;
constexpr unsigned kHealthyState = 1U << 4;
constexpr unsigned kNoise = 1U << 5;
constexpr unsigned kPositions = 1U << 6;
constexpr unsigned kUseContacts = 1U << 7;  // Ant-v4: use_contact_forces
constexpr unsigned kContactCost = 1U << 8;  // Ant: weight, bounds of the forces
constexpr unsigned kIncludeForces = 1U << 9;
constexpr unsigned kIncludeBodies = 1U << 10;  // Humanoid: inertia, velocities, actuator forces
constexpr unsigned kCappedCost = 1U << 11;     // Humanoid-v5: weight, bounds of the cost
constexpr unsigned kImpactCost = 1U << 12;     // kCappedCost under HumanoidStandup's key names
constexpr unsigned kHealthyReward = 1U << 13;  // only the reward of kHealthy
constexpr unsigned kReachRewards = 1U << 14;   // weights of distance and control
constexpr unsigned kNearReward = 1U << 15;
constexpr unsigned kFrameSkip = 1U << 16;
void visit_mujoco_options(OptionVisitor& visitor, unsigned keys, MujocoOptions& options);

// Values that are measured before and after each step, for use in the reward.
using Measures = std::array<double, 2>;

struct StepView {
  const mjModel& model;
  const mjData& data;  // after the step
  const MujocoOptions& options;
  std::span<const double> action;  // not clipped: costs use the unclipped action
  Measures before, after;
  double seconds;  // simulated time of the step
  bool fell;

  // For Reacher and Pusher: the distances on which the reward depends. v4 uses the distances before
  // the step, v5 those after the step.
  const Measures& rated() const { return options.version == 4 ? before : after; }
  double speed() const { return (after[0] - before[0]) / seconds; }
  double squared_action() const {
    double sum = 0;
    for (const double value : action) sum += value * value;
    return sum;
  }
};

// For the model "ant".
constexpr OldMasses kOldAntMasses = {.density = 5};

// A text replacement in a model; applies to all occurrences of `from`.
struct ModelEdit {
  const char* from;
  const char* to;
};

// The rules of one task. They read mjData immediately after the last mj_step. At that point, the
// positions of bodies and sites and the contact and constraint forces lag behind qpos and qvel by
// one integrator stage. Gymnasium's tasks use these lagging values, so the rules must not recompute
// them.
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
  void (*place)(Rng&, std::span<double> positions) = nullptr;  // additional random draws at a reset
  int resting = 0;  // number of trailing velocities that start at 0
  std::optional<OldMasses> old_masses = {};
  bool body_forces = false;  // true if the rules always read cinert, cvel or cfrc_ext
};

// Returns null for an unknown id.
const MujocoTask* find_mujoco_task(std::string_view id);

// Compiles the model of a task.
std::shared_ptr<const mjModel> load_mujoco_model(const MujocoTask& task);

// The text of models/<name>.xml with all edits applied. Throws Error{internal} if an edit finds
// nothing to replace.
std::string edited_mujoco_model(std::string_view name, std::span<const ModelEdit> edits);

// The text of models/<name>.xml, embedded at build time; empty for an unknown name.
std::string_view mujoco_model_text(std::string_view name);

}  // namespace rl_training
