#include <cmath>
#include <limits>

#include "rl_training/envs/mujoco/mujoco_task.h"

namespace rl_training {
namespace {

constexpr ResetNoise uniform(double scale) { return {scale, false}; }
constexpr ResetNoise normal(double scale) { return {scale, true}; }

// --- what is measured before and after a step

Measures nothing(const mjModel&, const mjData&) { return {}; }

Measures root_x(const mjModel&, const mjData& data) { return {data.qpos[0]}; }

const mjtNum* body_position(const mjModel& model, const mjData& data, const char* name) {
  return data.xpos + int64_t{3} * mj_name2id(&model, mjOBJ_BODY, name);
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

// --- observations

constexpr Interval kTen = {-10, 10};

template <int kHidden>
void observe_positions(const mjModel& model, const mjData& data, const MujocoOptions& options,
                       ObsWriter& out) {
  const int hidden = static_cast<int>(options.exclude_current_positions) * kHidden;
  out.values(data.qpos + hidden, model.nq - hidden);
}

template <int kHidden>
void observe_state(const mjModel& model, const mjData& data, const MujocoOptions& options,
                   ObsWriter& out) {
  observe_positions<kHidden>(model, data, options, out);
  out.values(data.qvel, model.nv);
}

// Hopper and Walker2d.
void observe_walker(const mjModel& model, const mjData& data, const MujocoOptions& options,
                    ObsWriter& out) {
  observe_positions<1>(model, data, options, out);
  out.clipped(data.qvel, model.nv, kTen);
}

void observe_double_pendulum(const mjModel& model, const mjData& data, const MujocoOptions&,
                             ObsWriter& out) {
  out.value(data.qpos[0]);
  for (const int joint : {1, 2}) out.value(std::sin(data.qpos[joint]));
  for (const int joint : {1, 2}) out.value(std::cos(data.qpos[joint]));
  out.clipped(data.qvel, model.nv, kTen);
  out.clipped(data.qfrc_constraint, model.nv, kTen);
}

void observe_reacher(const mjModel& model, const mjData& data, const MujocoOptions&,
                     ObsWriter& out) {
  for (const int joint : {0, 1}) out.value(std::cos(data.qpos[joint]));
  for (const int joint : {0, 1}) out.value(std::sin(data.qpos[joint]));
  out.values(data.qpos + 2, 2);
  out.values(data.qvel, 2);
  const mjtNum* fingertip = body_position(model, data, "fingertip");
  const mjtNum* target = body_position(model, data, "target");
  for (int axis = 0; axis < 3; ++axis) out.value(fingertip[axis] - target[axis]);
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
  if (options.use_contact_forces) {
    out.clipped(data.cfrc_ext, int64_t{6} * model.nbody, options.contact_force_range);
  }
}

// D4RL recorded with a MuJoCo binding that left the contact forces at zero.
void observe_ant_d4rl(const mjModel& model, const mjData& data, const MujocoOptions& options,
                      ObsWriter& out) {
  observe_state<2>(model, data, options, out);
  out.zeros(int64_t{6} * model.nbody);
}

void observe_humanoid(const mjModel& model, const mjData& data, const MujocoOptions& options,
                      ObsWriter& out) {
  observe_state<2>(model, data, options, out);
  out.values(data.cinert, int64_t{10} * model.nbody);
  out.values(data.cvel, int64_t{6} * model.nbody);
  out.values(data.qfrc_actuator, model.nv);
  out.values(data.cfrc_ext, int64_t{6} * model.nbody);
}

// --- rewards

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

double contact_cost(const StepView& step) {
  const Interval& range = step.options.contact_force_range;
  double sum = 0;
  for (int i = 0; i < 6 * step.model.nbody; ++i) {
    const double force = std::clamp(step.data.cfrc_ext[i], range.low, range.high);
    sum += force * force;
  }
  return step.options.contact_cost_weight * sum;
}

// Of all tasks that move forward. The bonus is paid on the step that ends an episode too.
double locomotion_reward(const StepView& step) {
  const MujocoOptions& options = step.options;
  const bool bonus = !step.fell || options.terminate_when_unhealthy;
  double costs = options.ctrl_cost_weight * step.squared_action();
  if (options.use_contact_forces) costs += contact_cost(step);
  return options.forward_reward_weight * step.speed() + (bonus ? options.healthy_reward : 0) -
         costs;
}

// --- ends

bool all_finite(const mjModel& model, const mjData& data) {
  const auto finite = [](double value) { return std::isfinite(value); };
  return std::all_of(data.qpos, data.qpos + model.nq, finite) &&
         std::all_of(data.qvel, data.qvel + model.nv, finite);
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

constexpr MujocoView kCartView = {false, false, {-1.3, -0.5}, {1.3, 1.0}};
constexpr MujocoView kTallCartView = {false, false, {-1.6, -0.5}, {1.6, 1.5}};
constexpr MujocoView kReacherView = {true, false, {-0.25, -0.25}, {0.25, 0.25}};
constexpr MujocoView kPusherView = {true, false, {-0.5, -1.1}, {1.1, 0.5}};
constexpr MujocoView kSwimmerView = {true, true, {-2.2, -1.5}, {2.2, 1.5}};
constexpr MujocoView kWalkerView = {false, true, {-1.3, -0.25}, {1.3, 1.65}};
constexpr MujocoView kCheetahView = {false, true, {-1.5, -0.25}, {1.5, 1.5}};
constexpr MujocoView kAntView = {false, true, {-1.7, -0.3}, {1.7, 1.7}};
constexpr MujocoView kHumanoidView = {false, true, {-1.5, -0.25}, {1.5, 1.85}};

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr unsigned kWalkerKeys =
    kForwardReward | kCtrlCost | kHealthy | kHealthyAngle | kNoiseAndPositions;
constexpr unsigned kAntKeys = kCtrlCost | kHealthy | kNoiseAndPositions;

constexpr MujocoOptions noise(ResetNoise position, ResetNoise velocity) {
  return {.position_noise = position, .velocity_noise = velocity};
}

constexpr MujocoOptions ant_options(bool contact_forces) {
  return {.ctrl_cost_weight = 0.5,
          .healthy_reward = 1,
          .use_contact_forces = contact_forces,
          .healthy_z_range = {0.2, 1},
          .position_noise = uniform(0.1),
          .velocity_noise = normal(0.1)};
}

constexpr MujocoTask kTasks[] = {
    {.id = "InvertedPendulum-v4",
     .model = "inverted_pendulum",
     .view = kCartView,
     .frame_skip = 2,
     .max_episode_steps = 1000,
     .obs_dim = 4,
     .options = noise(uniform(0.01), uniform(0.01)),
     .observe = observe_state<0>,
     .measure = nothing,
     .reward = one,
     .fell = pendulum_fell},
    {.id = "InvertedDoublePendulum-v4",
     .model = "inverted_double_pendulum",
     .view = kTallCartView,
     .frame_skip = 5,
     .max_episode_steps = 1000,
     .obs_dim = 11,
     .options = noise(uniform(0.1), normal(0.1)),
     .observe = observe_double_pendulum,
     .measure = nothing,
     .reward = double_pendulum_reward,
     .fell = double_pendulum_fell},
    {.id = "Reacher-v4",
     .model = "reacher",
     .view = kReacherView,
     .frame_skip = 2,
     .max_episode_steps = 50,
     .obs_dim = 11,
     .options = noise(uniform(0.1), uniform(0.005)),
     .observe = observe_reacher,
     .measure = reacher_distance,
     .reward = reacher_reward,
     .place = place_reacher_target,
     .resting = 2},
    {.id = "Pusher-v4",
     .model = "pusher",
     .view = kPusherView,
     .frame_skip = 5,
     .max_episode_steps = 100,
     .obs_dim = 23,
     .options = noise({}, uniform(0.005)),
     .observe = observe_pusher,
     .measure = pusher_distances,
     .reward = pusher_reward,
     .place = place_pusher_object,
     .resting = 4},
    {.id = "Swimmer-v4",
     .model = "swimmer",
     .view = kSwimmerView,
     .frame_skip = 4,
     .max_episode_steps = 1000,
     .obs_dim = 8,
     .hidden_positions = 2,
     .options = {.ctrl_cost_weight = 1e-4,
                 .position_noise = uniform(0.1),
                 .velocity_noise = uniform(0.1)},
     .keys = kForwardReward | kCtrlCost | kNoiseAndPositions,
     .observe = observe_state<2>,
     .measure = root_x,
     .reward = locomotion_reward},
    {.id = "Hopper-v4",
     .model = "hopper",
     .view = kWalkerView,
     .frame_skip = 4,
     .max_episode_steps = 1000,
     .obs_dim = 11,
     .hidden_positions = 1,
     .options = {.ctrl_cost_weight = 1e-3,
                 .healthy_reward = 1,
                 .healthy_z_range = {0.7, kForever},
                 .healthy_angle_range = {-0.2, 0.2},
                 .healthy_state_range = {-100, 100},
                 .position_noise = uniform(0.005),
                 .velocity_noise = uniform(0.005)},
     .keys = kWalkerKeys | kHealthyState,
     .observe = observe_walker,
     .measure = root_x,
     .reward = locomotion_reward,
     .fell = hopper_fell},
    {.id = "Walker2d-v4",
     .model = "walker2d",
     .view = kWalkerView,
     .frame_skip = 4,
     .max_episode_steps = 1000,
     .obs_dim = 17,
     .hidden_positions = 1,
     .options = {.ctrl_cost_weight = 1e-3,
                 .healthy_reward = 1,
                 .healthy_z_range = {0.8, 2},
                 .healthy_angle_range = {-1, 1},
                 .position_noise = uniform(0.005),
                 .velocity_noise = uniform(0.005)},
     .keys = kWalkerKeys,
     .observe = observe_walker,
     .measure = root_x,
     .reward = locomotion_reward,
     .fell = walker_fell},
    {.id = "HalfCheetah-v4",
     .model = "half_cheetah",
     .view = kCheetahView,
     .frame_skip = 5,
     .max_episode_steps = 1000,
     .obs_dim = 17,
     .hidden_positions = 1,
     .options = {.ctrl_cost_weight = 0.1,
                 .position_noise = uniform(0.1),
                 .velocity_noise = normal(0.1)},
     .keys = kForwardReward | kCtrlCost | kNoiseAndPositions,
     .observe = observe_state<1>,
     .measure = root_x,
     .reward = locomotion_reward},
    {.id = "Ant-v4",
     .model = "ant",
     .view = kAntView,
     .frame_skip = 5,
     .max_episode_steps = 1000,
     .obs_dim = 27,
     .hidden_positions = 2,
     .options = ant_options(false),
     .keys = kAntKeys | kContact,
     .observe = observe_ant,
     .measure = torso_x,
     .reward = locomotion_reward,
     .fell = ant_fell},
    {.id = "Ant-v4-contact",
     .model = "ant",
     .view = kAntView,
     .frame_skip = 5,
     .max_episode_steps = 1000,
     .obs_dim = 27,
     .hidden_positions = 2,
     .options = ant_options(true),
     .keys = kAntKeys | kContact,
     .observe = observe_ant,
     .measure = torso_x,
     .reward = locomotion_reward,
     .fell = ant_fell},
    {.id = "Ant-v4-d4rl",
     .model = "ant",
     .view = kAntView,
     .frame_skip = 5,
     .max_episode_steps = 1000,
     .obs_dim = 111,
     .hidden_positions = 2,
     .options = ant_options(false),
     .keys = kAntKeys,
     .observe = observe_ant_d4rl,
     .measure = torso_x,
     .reward = locomotion_reward,
     .fell = ant_fell},
    {.id = "Humanoid-v4",
     .model = "humanoid",
     .view = kHumanoidView,
     .frame_skip = 5,
     .max_episode_steps = 1000,
     .obs_dim = 376,
     .hidden_positions = 2,
     .options = {.forward_reward_weight = 1.25,
                 .ctrl_cost_weight = 0.1,
                 .healthy_reward = 5,
                 .healthy_z_range = {1, 2},
                 .position_noise = uniform(0.01),
                 .velocity_noise = uniform(0.01)},
     .keys = kForwardReward | kCtrlCost | kHealthy | kNoiseAndPositions,
     .observe = observe_humanoid,
     .measure = center_of_mass_x,
     .reward = locomotion_reward,
     .fell = humanoid_fell,
     .body_forces = true},
};

}  // namespace

const MujocoTask* find_mujoco_task(std::string_view id) {
  for (const MujocoTask& task : kTasks) {
    if (id == task.id) return &task;
  }
  return nullptr;
}

void visit_mujoco_options(OptionVisitor& visitor, unsigned keys, MujocoOptions& options) {
  const auto weight = [&](const char* key, double& value, const char* meaning) {
    visitor.number(key, value, any_number(), meaning);
  };
  if (keys & kForwardReward) {
    weight("forward_reward_weight", options.forward_reward_weight, "reward for forward speed");
  }
  if (keys & kCtrlCost) {
    weight("ctrl_cost_weight", options.ctrl_cost_weight, "cost of the squared action");
  }
  if (keys & kContact) {
    visitor.flag("use_contact_forces", options.use_contact_forces,
                 "observe contact forces and pay for them");
    weight("contact_cost_weight", options.contact_cost_weight, "cost of squared contact forces");
    visitor.interval("contact_force_range", options.contact_force_range,
                     "bounds that contact forces are cut to");
  }
  if (keys & kHealthy) {
    weight("healthy_reward", options.healthy_reward, "bonus of a step in good health");
    visitor.flag("terminate_when_unhealthy", options.terminate_when_unhealthy,
                 "end the episode on a fall; if not, only the bonus is lost");
    visitor.interval("healthy_z_range", options.healthy_z_range, "heights of good health");
  }
  if (keys & kHealthyAngle) {
    visitor.interval("healthy_angle_range", options.healthy_angle_range, "angles of good health");
  }
  if (keys & kHealthyState) {
    visitor.interval("healthy_state_range", options.healthy_state_range,
                     "bounds of every other number of the state in good health");
  }
  if (keys & kNoiseAndPositions) {
    double& scale = options.position_noise.scale;
    visitor.number("reset_noise_scale", scale, at_least(0), "spread of the first state");
    options.velocity_noise.scale = scale;
    visitor.flag("exclude_current_positions_from_observation", options.exclude_current_positions,
                 "hide where the body is, so that only its pose counts");
  }
}

}  // namespace rl_training
