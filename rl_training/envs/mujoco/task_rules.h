#pragma once
#include "rl_training/envs/mujoco/mujoco_task.h"

namespace rl_training {

// Functions for the table of tasks in tasks.cpp.

// --- values measured before and after a step
Measures measure_nothing(const mjModel& model, const mjData& data);
Measures root_x(const mjModel& model, const mjData& data);
Measures torso_x(const mjModel& model, const mjData& data);
Measures center_of_mass_x(const mjModel& model, const mjData& data);
Measures reacher_distance(const mjModel& model, const mjData& data);
Measures pusher_distances(const mjModel& model, const mjData& data);

// Positions, then velocities. Omits the first `kHidden` positions if `exclude_current_positions` is
// set.
template <int kHidden>
void observe_state(const mjModel& model, const mjData& data, const MujocoOptions& options,
                   ObsWriter& out) {
  const int hidden = kHidden * static_cast<int>(options.exclude_current_positions);
  out.values(data.qpos + hidden, model.nq - hidden);
  out.values(data.qvel, model.nv);
}
// For Hopper and Walker2d.
void observe_walker(const mjModel& model, const mjData& data, const MujocoOptions& options,
                    ObsWriter& out);
void observe_double_pendulum(const mjModel& model, const mjData& data, const MujocoOptions& options,
                             ObsWriter& out);
void observe_reacher(const mjModel& model, const mjData& data, const MujocoOptions& options,
                     ObsWriter& out);
void observe_pusher(const mjModel& model, const mjData& data, const MujocoOptions& options,
                    ObsWriter& out);
void observe_ant(const mjModel& model, const mjData& data, const MujocoOptions& options,
                 ObsWriter& out);
// Writes zeros for the contact forces: D4RL's data was recorded with a MuJoCo binding that did not
// compute them.
void observe_ant_d4rl(const mjModel& model, const mjData& data, const MujocoOptions& options,
                      ObsWriter& out);
void observe_humanoid(const mjModel& model, const mjData& data, const MujocoOptions& options,
                      ObsWriter& out);

// --- rewards
double pendulum_reward(const StepView& step);
double double_pendulum_reward(const StepView& step);
double reacher_reward(const StepView& step);
double pusher_reward(const StepView& step);
// For all tasks that reward forward speed.
double locomotion_reward(const StepView& step);
double standup_reward(const StepView& step);

// --- termination
bool pendulum_fell(const mjModel& model, const mjData& data, const MujocoOptions& options);
bool double_pendulum_fell(const mjModel& model, const mjData& data, const MujocoOptions& options);
bool walker_fell(const mjModel& model, const mjData& data, const MujocoOptions& options);
bool hopper_fell(const mjModel& model, const mjData& data, const MujocoOptions& options);
bool ant_fell(const mjModel& model, const mjData& data, const MujocoOptions& options);
bool humanoid_fell(const mjModel& model, const mjData& data, const MujocoOptions& options);

// --- additional draws at a reset
void place_reacher_target(Rng& rng, std::span<double> positions);
void place_pusher_object(Rng& rng, std::span<double> positions);

}  // namespace rl_training
