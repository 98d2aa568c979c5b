#include "rl_training/envs/mujoco/mujoco_task.h"

namespace rl_training {

// Visits the options in the order of the arguments of Gymnasium's constructors.
void visit_mujoco_options(OptionVisitor& visitor, unsigned keys, MujocoOptions& options) {
  const auto weight = [&](unsigned group, const char* key, double& value, const char* meaning) {
    if (keys & group) visitor.number(key, value, any_number(), meaning);
  };
  const auto flag = [&](unsigned group, const char* key, bool& value, const char* meaning) {
    if (keys & group) visitor.flag(key, value, meaning);
  };
  const auto interval = [&](unsigned group, const char* key, Interval& value, const char* meaning) {
    if (keys & group) visitor.interval(key, value, meaning);
  };
  if (keys & kFrameSkip) {
    visitor.integer("frame_skip", options.frame_skip, between(1, 1000),
                    "steps of the simulation in one step of the task");
  }
  weight(kForwardReward, "forward_reward_weight", options.forward_reward_weight,
         "reward for forward speed");
  weight(kReachRewards, "reward_dist_weight", options.dist_reward_weight,
         "cost of the distance to the target");
  weight(kNearReward, "reward_near_weight", options.near_reward_weight,
         "cost of the distance from the arm to the object");
  weight(kReachRewards, "reward_control_weight", options.ctrl_cost_weight,
         "cost of the squared action");
  weight(kCtrlCost, "ctrl_cost_weight", options.ctrl_cost_weight, "cost of the squared action");
  flag(kUseContacts, "use_contact_forces", options.use_contact_forces,
       "observe contact forces and subtract their cost from the reward");
  weight(kContactCost | kCappedCost, "contact_cost_weight", options.contact_cost_weight,
         "cost of squared contact forces");
  interval(kContactCost, "contact_force_range", options.contact_force_range,
           "bounds to which contact forces are clipped");
  interval(kCappedCost, "contact_cost_range", options.contact_cost_range,
           "bounds of the cost of contact forces");
  weight(kImpactCost, "impact_cost_weight", options.contact_cost_weight,
         "cost of squared contact forces");
  interval(kImpactCost, "impact_cost_range", options.contact_cost_range,
           "bounds of the cost of contact forces");
  weight(kHealthy | kHealthyReward, "healthy_reward", options.healthy_reward,
         "bonus of each healthy step");
  flag(kHealthy, "terminate_when_unhealthy", options.terminate_when_unhealthy,
       "end the episode when the body is unhealthy; false only withholds the bonus");
  interval(kHealthy, "healthy_z_range", options.healthy_z_range, "healthy heights");
  interval(kHealthyAngle, "healthy_angle_range", options.healthy_angle_range, "healthy angles");
  interval(kHealthyState, "healthy_state_range", options.healthy_state_range,
           "bounds of all other state values of a healthy body");
  if (keys & kNoise) {
    double& scale = options.position_noise.scale;
    visitor.number("reset_noise_scale", scale, at_least(0), "spread of the first state");
    options.velocity_noise.scale = scale;
  }
  flag(kPositions, "exclude_current_positions_from_observation", options.exclude_current_positions,
       "omit the position of the body, so that only its pose is observed");
  flag(kIncludeBodies, "include_cinert_in_observation", options.include_cinert,
       "observe the inertia of the bodies");
  flag(kIncludeBodies, "include_cvel_in_observation", options.include_cvel,
       "observe the velocities of the bodies");
  flag(kIncludeBodies, "include_qfrc_actuator_in_observation", options.include_qfrc_actuator,
       "observe the forces of the motors");
  flag(kIncludeForces, "include_cfrc_ext_in_observation", options.include_cfrc_ext,
       "observe contact forces");
}

}  // namespace rl_training
