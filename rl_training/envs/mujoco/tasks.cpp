#include <cmath>

#include "rl_training/envs/mujoco/mujoco_task.h"

namespace rl_training {
namespace {

constexpr ResetNoise uniform(double scale) { return {scale, false}; }
constexpr ResetNoise normal(double scale) { return {scale, true}; }

// --- what is measured before and after a step

Measures nothing(const mjModel&, const mjData&) { return {}; }

Measures root_x(const mjModel&, const mjData& data) { return {data.qpos[0]}; }

const mjtNum* body_position(const mjModel& model, const mjData& data, const char* name) {
  return data.xpos + 3 * mj_name2id(&model, mjOBJ_BODY, name);
}

double distance(const mjtNum* a, const mjtNum* b) {
  const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
  return std::sqrt(x * x + y * y + z * z);
}

Measures torso_x(const mjModel& model, const mjData& data) {
  return {body_position(model, data, "torso")[0]};
}

Measures center_of_mass_x(const mjModel& model, const mjData& data) {
  double moment = 0, mass = 0;
  for (int body = 0; body < model.nbody; ++body) {
    moment += model.body_mass[body] * data.xipos[3 * body];
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

// --- observations

template <int kSkippedPositions>
void observe_state(const mjModel& model, const mjData& data, ObsWriter& out) {
  out.values(data.qpos + kSkippedPositions, model.nq - kSkippedPositions);
  out.values(data.qvel, model.nv);
}

// Hopper and Walker2d.
void observe_walker(const mjModel& model, const mjData& data, ObsWriter& out) {
  out.values(data.qpos + 1, model.nq - 1);
  out.clipped(data.qvel, model.nv, 10);
}

void observe_double_pendulum(const mjModel& model, const mjData& data, ObsWriter& out) {
  out.value(data.qpos[0]);
  for (const int joint : {1, 2}) out.value(std::sin(data.qpos[joint]));
  for (const int joint : {1, 2}) out.value(std::cos(data.qpos[joint]));
  out.clipped(data.qvel, model.nv, 10);
  out.clipped(data.qfrc_constraint, model.nv, 10);
}

void observe_reacher(const mjModel& model, const mjData& data, ObsWriter& out) {
  for (const int joint : {0, 1}) out.value(std::cos(data.qpos[joint]));
  for (const int joint : {0, 1}) out.value(std::sin(data.qpos[joint]));
  out.values(data.qpos + 2, 2);
  out.values(data.qvel, 2);
  const mjtNum* fingertip = body_position(model, data, "fingertip");
  const mjtNum* target = body_position(model, data, "target");
  for (int axis = 0; axis < 3; ++axis) out.value(fingertip[axis] - target[axis]);
}

void observe_pusher(const mjModel& model, const mjData& data, ObsWriter& out) {
  out.values(data.qpos, 7);
  out.values(data.qvel, 7);
  for (const char* body : {"fingertips", "object", "goal"}) {
    out.values(body_position(model, data, body), 3);
  }
}

void observe_ant_contact(const mjModel& model, const mjData& data, ObsWriter& out) {
  observe_state<2>(model, data, out);
  out.clipped(data.cfrc_ext, 6 * model.nbody, 1);
}

// D4RL recorded with a MuJoCo binding that left the contact forces at zero.
void observe_ant_d4rl(const mjModel& model, const mjData& data, ObsWriter& out) {
  observe_state<2>(model, data, out);
  out.zeros(6 * model.nbody);
}

void observe_humanoid(const mjModel& model, const mjData& data, ObsWriter& out) {
  observe_state<2>(model, data, out);
  out.values(data.cinert, 10 * model.nbody);
  out.values(data.cvel, 6 * model.nbody);
  out.values(data.qfrc_actuator, model.nv);
  out.values(data.cfrc_ext, 6 * model.nbody);
}

// --- rewards; a healthy bonus is paid on the terminating step too

double one(const StepView&) { return 1; }

double double_pendulum_reward(const StepView& step) {
  const mjtNum* tip = step.data.site_xpos;
  const double x = tip[0], z = tip[2] - 2;
  const double first = step.data.qvel[1], second = step.data.qvel[2];
  return 10 - (0.01 * (x * x) + z * z) - (1e-3 * (first * first) + 5e-3 * (second * second));
}

double reacher_reward(const StepView& step) { return -step.before[0] - step.squared_action(); }

double pusher_reward(const StepView& step) {
  return -step.before[0] - 0.1 * step.squared_action() - 0.5 * step.before[1];
}

double swimmer_reward(const StepView& step) { return step.speed() - 1e-4 * step.squared_action(); }

double walker_reward(const StepView& step) {
  return step.speed() + 1 - 1e-3 * step.squared_action();
}

double half_cheetah_reward(const StepView& step) {
  return step.speed() - 0.1 * step.squared_action();
}

double ant_reward(const StepView& step) { return step.speed() + 1 - 0.5 * step.squared_action(); }

double ant_contact_reward(const StepView& step) {
  double sum = 0;
  for (int i = 0; i < 6 * step.model.nbody; ++i) {
    const double force = std::clamp(step.data.cfrc_ext[i], -1.0, 1.0);
    sum += force * force;
  }
  return step.speed() + 1 - (0.5 * step.squared_action() + 5e-4 * sum);
}

double humanoid_reward(const StepView& step) {
  return 1.25 * step.speed() + 5 - 0.1 * step.squared_action();
}

// --- ends

bool all_finite(const mjModel& model, const mjData& data) {
  const auto finite = [](double value) { return std::isfinite(value); };
  return std::all_of(data.qpos, data.qpos + model.nq, finite) &&
         std::all_of(data.qvel, data.qvel + model.nv, finite);
}

bool pendulum_fell(const mjModel& model, const mjData& data) {
  return !all_finite(model, data) || std::abs(data.qpos[1]) > 0.2;
}

bool double_pendulum_fell(const mjModel&, const mjData& data) { return data.site_xpos[2] <= 1; }

bool hopper_fell(const mjModel& model, const mjData& data) {
  const auto sane = [](double value) { return std::abs(value) < 100; };
  return !(data.qpos[1] > 0.7 && std::abs(data.qpos[2]) < 0.2 &&
           std::all_of(data.qpos + 2, data.qpos + model.nq, sane) &&
           std::all_of(data.qvel, data.qvel + model.nv, sane));
}

bool walker_fell(const mjModel&, const mjData& data) {
  return !(data.qpos[1] > 0.8 && data.qpos[1] < 2 && std::abs(data.qpos[2]) < 1);
}

bool ant_fell(const mjModel& model, const mjData& data) {
  return !(all_finite(model, data) && data.qpos[2] >= 0.2 && data.qpos[2] <= 1);
}

bool humanoid_fell(const mjModel&, const mjData& data) {
  return !(data.qpos[2] > 1 && data.qpos[2] < 2);
}

// --- draws of their own at a reset

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

constexpr MujocoTask kTasks[] = {
    {"InvertedPendulum-v4", "inverted_pendulum", 2, 1000, 4, uniform(0.01), uniform(0.01),
     observe_state<0>, nothing, one, pendulum_fell},
    {"InvertedDoublePendulum-v4", "inverted_double_pendulum", 5, 1000, 11, uniform(0.1),
     normal(0.1), observe_double_pendulum, nothing, double_pendulum_reward, double_pendulum_fell},
    {"Reacher-v4", "reacher", 2, 50, 11, uniform(0.1), uniform(0.005), observe_reacher,
     reacher_distance, reacher_reward, nullptr, place_reacher_target, 2},
    {"Pusher-v4",
     "pusher",
     5,
     100,
     23,
     {},
     uniform(0.005),
     observe_pusher,
     pusher_distances,
     pusher_reward,
     nullptr,
     place_pusher_object,
     4},
    {"Swimmer-v4", "swimmer", 4, 1000, 8, uniform(0.1), uniform(0.1), observe_state<2>, root_x,
     swimmer_reward},
    {"Hopper-v4", "hopper", 4, 1000, 11, uniform(0.005), uniform(0.005), observe_walker, root_x,
     walker_reward, hopper_fell},
    {"Walker2d-v4", "walker2d", 4, 1000, 17, uniform(0.005), uniform(0.005), observe_walker, root_x,
     walker_reward, walker_fell},
    {"HalfCheetah-v4", "half_cheetah", 5, 1000, 17, uniform(0.1), normal(0.1), observe_state<1>,
     root_x, half_cheetah_reward},
    {"Ant-v4", "ant", 5, 1000, 27, uniform(0.1), normal(0.1), observe_state<2>, torso_x, ant_reward,
     ant_fell},
    {"Ant-v4-contact", "ant", 5, 1000, 111, uniform(0.1), normal(0.1), observe_ant_contact, torso_x,
     ant_contact_reward, ant_fell, nullptr, 0, true},
    {"Ant-v4-d4rl", "ant", 5, 1000, 111, uniform(0.1), normal(0.1), observe_ant_d4rl, torso_x,
     ant_reward, ant_fell},
    {"Humanoid-v4", "humanoid", 5, 1000, 376, uniform(0.01), uniform(0.01), observe_humanoid,
     center_of_mass_x, humanoid_reward, humanoid_fell, nullptr, 0, true},
};

}  // namespace

const MujocoTask* find_mujoco_task(std::string_view id) {
  for (const MujocoTask& task : kTasks) {
    if (id == task.id) return &task;
  }
  return nullptr;
}

}  // namespace rl_training
