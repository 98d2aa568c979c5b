#include "rl_training/envs/mujoco/task_rules.h"

#include <cmath>

namespace rl_training {
namespace {

constexpr Interval kTen = {-10, 10};

const mjtNum* body_position(const mjModel& model, const mjData& data, const char* name) {
  return data.xpos + int64_t{3} * mj_name2id(&model, mjOBJ_BODY, name);
}

double distance(const mjtNum* a, const mjtNum* b) {
  const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return std::sqrt(x * x + y * y + z * z);
}

// Observations in v5 omit the world body, whose values are constant.
int first_observed_body(const MujocoOptions& options) { return options.version == 4 ? 0 : 1; }

double contact_cost(const StepView& step) {
  const MujocoOptions& options = step.options;
  double sum = 0;
  for (int i = 0; i < 6 * step.model.nbody; ++i) {
    const double force = std::clamp(step.data.cfrc_ext[i], options.contact_force_range.low,
                                    options.contact_force_range.high);
    sum += force * force;
  }
  return std::clamp(options.contact_cost_weight * sum, options.contact_cost_range.low,
                    options.contact_cost_range.high);
}

bool all_finite(const mjModel& model, const mjData& data) {
  const auto finite = [](double value) { return std::isfinite(value); };
  return std::all_of(data.qpos, data.qpos + model.nq, finite) &&
         std::all_of(data.qvel, data.qvel + model.nv, finite);
}

}  // namespace

Measures measure_nothing(const mjModel&, const mjData&) { return {}; }

Measures root_x(const mjModel&, const mjData& data) { return {data.qpos[0]}; }

Measures torso_x(const mjModel& model, const mjData& data) {
  return {body_position(model, data, "torso")[0]};
}

Measures center_of_mass_x(const mjModel& model, const mjData& data) {
  double moment = 0, mass = 0;
  for (int body = 0; body < model.nbody; ++body) {
    moment += model.body_mass[body] * data.xipos[int64_t{3} * body];
    mass += model.body_mass[body];
  }
  return {moment / mass};
}

Measures reacher_distance(const mjModel& model, const mjData& data) {
  return {distance(body_position(model, data, "fingertip"), body_position(model, data, "target"))};
}

Measures pusher_distances(const mjModel& model, const mjData& data) {
  const mjtNum* object = body_position(model, data, "object");
  return {distance(object, body_position(model, data, "goal")),
          distance(object, body_position(model, data, "fingertips"))};
}

void observe_walker(const mjModel& model, const mjData& data, const MujocoOptions& options,
                    ObsWriter& out) {
  const int hidden = options.exclude_current_positions ? 1 : 0;
  out.values(data.qpos + hidden, model.nq - hidden);
  out.clipped(data.qvel, model.nv, kTen);
}

void observe_double_pendulum(const mjModel& model, const mjData& data, const MujocoOptions& options,
                             ObsWriter& out) {
  out.value(data.qpos[0]);
  for (const int joint : {1, 2}) out.value(std::sin(data.qpos[joint]));
  for (const int joint : {1, 2}) out.value(std::cos(data.qpos[joint]));
  out.clipped(data.qvel, model.nv, kTen);
  // Only the cart's joint has limits, so the constraint forces on the poles are always 0. v5 omits
  // them.
  out.clipped(data.qfrc_constraint, options.version == 4 ? model.nv : 1, kTen);
}

void observe_reacher(const mjModel& model, const mjData& data, const MujocoOptions& options,
                     ObsWriter& out) {
  for (const int joint : {0, 1}) out.value(std::cos(data.qpos[joint]));
  for (const int joint : {0, 1}) out.value(std::sin(data.qpos[joint]));
  out.values(data.qpos + 2, 2);
  out.values(data.qvel, 2);
  const mjtNum* fingertip = body_position(model, data, "fingertip");
  const mjtNum* target = body_position(model, data, "target");
  const int axes = options.version == 4 ? 3 : 2;  // z is constant: the arm moves in a plane
  for (int axis = 0; axis < axes; ++axis) out.value(fingertip[axis] - target[axis]);
}

void observe_pusher(const mjModel& model, const mjData& data, const MujocoOptions&,
                    ObsWriter& out) {
  out.values(data.qpos, 7);
  out.values(data.qvel, 7);
  for (const char* body : {"fingertips", "object", "goal"}) {
    out.values(body_position(model, data, body), 3);
  }
}

void observe_ant(const mjModel& model, const mjData& data, const MujocoOptions& options,
                 ObsWriter& out) {
  observe_state<2>(model, data, options, out);
  if (!options.use_contact_forces || !options.include_cfrc_ext) return;
  const int first = first_observed_body(options);
  out.clipped(data.cfrc_ext + int64_t{6} * first, int64_t{6} * (model.nbody - first),
              options.contact_force_range);
}

void observe_ant_d4rl(const mjModel& model, const mjData& data, const MujocoOptions& options,
                      ObsWriter& out) {
  observe_state<2>(model, data, options, out);
  out.zeros(int64_t{6} * model.nbody);
}

void observe_humanoid(const mjModel& model, const mjData& data, const MujocoOptions& options,
                      ObsWriter& out) {
  observe_state<2>(model, data, options, out);
  const int first = first_observed_body(options), bodies = model.nbody - first;
  // The root's six degrees of freedom have no motors, so v5 omits their actuator forces.
  const int root = options.version == 4 ? 0 : 6;
  if (options.include_cinert) {
    out.values(data.cinert + int64_t{10} * first, int64_t{10} * bodies);
  }
  if (options.include_cvel) out.values(data.cvel + int64_t{6} * first, int64_t{6} * bodies);
  if (options.include_qfrc_actuator) out.values(data.qfrc_actuator + root, model.nv - root);
  if (options.include_cfrc_ext) {
    out.values(data.cfrc_ext + int64_t{6} * first, int64_t{6} * bodies);
  }
}

double pendulum_reward(const StepView& step) {
  return step.fell && step.options.version > 4 ? 0 : 1;
}

double double_pendulum_reward(const StepView& step) {
  const mjtNum* tip = step.data.site_xpos;
  const double x = tip[0], z = tip[2] - 2;
  const double first = step.data.qvel[1], second = step.data.qvel[2];
  const double bonus = step.fell && step.options.version > 4 ? 0 : step.options.healthy_reward;
  return bonus - (0.01 * (x * x) + z * z) - (1e-3 * (first * first) + 5e-3 * (second * second));
}

double reacher_reward(const StepView& step) {
  return -step.options.dist_reward_weight * step.rated()[0] -
         step.options.ctrl_cost_weight * step.squared_action();
}

double pusher_reward(const StepView& step) {
  return reacher_reward(step) - step.options.near_reward_weight * step.rated()[1];
}

// Unlike v5, v4 adds the healthy reward even in the step that ends an episode.
double locomotion_reward(const StepView& step) {
  const MujocoOptions& options = step.options;
  const bool bonus = !step.fell || (options.version == 4 && options.terminate_when_unhealthy);
  double costs = options.ctrl_cost_weight * step.squared_action();
  if (options.use_contact_forces) costs += contact_cost(step);
  return options.forward_reward_weight * step.speed() + (bonus ? options.healthy_reward : 0) -
         costs;
}

// Rewards the torso's height divided by the simulation's time step, as Gymnasium does, although
// this quotient is not a speed.
double standup_reward(const StepView& step) {
  return step.data.qpos[2] / step.model.opt.timestep -
         step.options.ctrl_cost_weight * step.squared_action() - contact_cost(step) + 1;
}

bool pendulum_fell(const mjModel& model, const mjData& data, const MujocoOptions&) {
  return !all_finite(model, data) || std::abs(data.qpos[1]) > 0.2;
}

bool double_pendulum_fell(const mjModel&, const mjData& data, const MujocoOptions&) {
  return data.site_xpos[2] <= 1;
}

bool walker_fell(const mjModel&, const mjData& data, const MujocoOptions& options) {
  return !(options.healthy_z_range.inside(data.qpos[1]) &&
           options.healthy_angle_range.inside(data.qpos[2]));
}

bool hopper_fell(const mjModel& model, const mjData& data, const MujocoOptions& options) {
  const auto sane = [&](double value) { return options.healthy_state_range.inside(value); };
  return walker_fell(model, data, options) ||
         !std::all_of(data.qpos + 2, data.qpos + model.nq, sane) ||
         !std::all_of(data.qvel, data.qvel + model.nv, sane);
}

bool ant_fell(const mjModel& model, const mjData& data, const MujocoOptions& options) {
  return !(all_finite(model, data) && options.healthy_z_range.inside_or_at(data.qpos[2]));
}

bool humanoid_fell(const mjModel&, const mjData& data, const MujocoOptions& options) {
  return !options.healthy_z_range.inside(data.qpos[2]);
}

void place_reacher_target(Rng& rng, std::span<double> positions) {
  double& x = positions[2];
  double& y = positions[3];
  do {
    x = rng.uniform(-0.2, 0.2);
    y = rng.uniform(-0.2, 0.2);
  } while (std::sqrt(x * x + y * y) >= 0.2);
}

void place_pusher_object(Rng& rng, std::span<double> positions) {
  double& y = positions[7];
  double& x = positions[8];
  do {
    y = rng.uniform(-0.3, 0);
    x = rng.uniform(-0.2, 0.2);
  } while (std::sqrt(x * x + y * y) <= 0.17);
}

}  // namespace rl_training
