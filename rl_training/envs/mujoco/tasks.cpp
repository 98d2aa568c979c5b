#include <utility>
#include <vector>

#include "rl_training/envs/mujoco/task_rules.h"

namespace rl_training {
namespace {

constexpr ResetNoise uniform(double scale) { return {scale, false}; }
constexpr ResetNoise normal(double scale) { return {scale, true}; }

constexpr MujocoView kCartView = {false, false, {-1.3, -0.5}, {1.3, 1.0}};
constexpr MujocoView kTallCartView = {false, false, {-1.6, -0.5}, {1.6, 1.5}};
constexpr MujocoView kReacherView = {true, false, {-0.25, -0.25}, {0.25, 0.25}};
constexpr MujocoView kPusherView = {true, false, {-0.5, -1.1}, {1.1, 0.5}};
constexpr MujocoView kSwimmerView = {true, true, {-2.2, -1.5}, {2.2, 1.5}};
constexpr MujocoView kWalkerView = {false, true, {-1.3, -0.25}, {1.3, 1.65}};
constexpr MujocoView kCheetahView = {false, true, {-1.5, -0.25}, {1.5, 1.5}};
constexpr MujocoView kAntView = {false, true, {-1.7, -0.3}, {1.7, 1.7}};
constexpr MujocoView kHumanoidView = {false, true, {-1.5, -0.25}, {1.5, 1.85}};

constexpr double kForever = kUnbounded.high;
// Options of all locomotion tasks and of HumanoidStandup-v5.
constexpr unsigned kBodyKeys = kCtrlCost | kNoise | kPositions;
constexpr unsigned kWalkerKeys = kBodyKeys | kForwardReward | kHealthy | kHealthyAngle;

// In Walker2d-v5, both feet have the same friction.
constexpr ModelEdit kEvenFeet[] = {
    {"pos=\"-0.1 0 0.1\" axisangle=\"0 1 0 -90\"/>",
     "pos=\"-0.1 0 0.1\" axisangle=\"0 1 0 -90\" friction=\"1.9 0.1 0.1\"/>"}};

// In Pusher-v5, the object is heavier and has one shape instead of two.
constexpr ModelEdit kHeavierObject[] = {
    {"<geom type=\"sphere\" size=\"0.05\"/>\n", "\n"},
    {"<geom size=\"0.05 0.05\" contype=\"1\"/>",
     "<geom size=\"0.05 0.05\" contype=\"1\" density=\"0.01\"/>"}};

// Lays the humanoid on its back: parts that pointed down now point along x.
constexpr ModelEdit kLying[] = {
    {"pos=\"0 0 1.4\"", "pos=\"0 0 0.105\""},
    {"pos=\"0 0 0.19\"", "pos=\"-0.15 0 0\""},
    {"-0.01 -0.06 -0.12 -0.01 0.06 -0.12", "0.11 -0.06 0 0.11 0.06 0"},
    {"pos=\"-0.01 0 -0.26\"", "pos=\"0.21 0 0\""},
    {"pos=\"0 0 -0.165\"", "pos=\"0.165 0 0\""},
    {"pos=\"0 -0.1 -0.04\"", "pos=\"0 -0.1 0\""},
    {"pos=\"0 0.1 -0.04\"", "pos=\"0 0.1 0\""},
    {"0 0 0 0 0.01 -0.34", "0 0 0 0.34 0.01 0"},
    {"0 0 0 0 -0.01 -0.34", "0 0 0 0.34 -0.01 0"},
    {"pos=\"0 0.01 -0.403\"", "pos=\"0.403 0.01 0\""},
    {"pos=\"0 -0.01 -0.403\"", "pos=\"0.403 -0.01 0\""},
    {"0 0 0 0 0 -0.3\"", "0 0 0 0.3 0 0\""},
    {"pos=\"0 0 -0.45\"", "pos=\"0.35 0 -0.1\""},
    {"name=\"left_hip_y\" class=\"hip\" axis=\"0 1 0\" range=\"-110 20\"",
     "name=\"left_hip_y\" class=\"hip\" axis=\"0 1 0\" range=\"-120 20\""}};

// A task with its v4 rules, and the changes of v5 that `options.version` does not cover.
struct Entry {
  MujocoTask task;  // `id` without the version; `keys` that v4 and v5 share
  unsigned v4_keys = 0, v5_keys = 0;
  bool v5_contact_forces = false;  // v5 has a cost for contact forces
  std::span<const ModelEdit> v5_edits = {};
  // Set if there is a v2, which has the rules of v4, no options, and these masses.
  std::optional<OldMasses> v2_masses = {};
};

MujocoTask ant() {
  return {.id = "Ant",
          .model = "ant",
          .view = kAntView,
          .max_episode_steps = 1000,
          .options = {.frame_skip = 5,
                      .ctrl_cost_weight = 0.5,
                      .healthy_reward = 1,
                      .healthy_z_range = {0.2, 1},
                      .position_noise = uniform(0.1),
                      .velocity_noise = normal(0.1)},
          .keys = kBodyKeys | kHealthy,
          .observe = observe_ant,
          .measure = torso_x,
          .reward = locomotion_reward,
          .fell = ant_fell};
}

MujocoTask humanoid() {
  return {.id = "Humanoid",
          .model = "humanoid",
          .view = kHumanoidView,
          .max_episode_steps = 1000,
          .options = {.frame_skip = 5,
                      .forward_reward_weight = 1.25,
                      .ctrl_cost_weight = 0.1,
                      .healthy_reward = 5,
                      .contact_cost_weight = 5e-7,
                      .healthy_z_range = {1, 2},
                      .contact_force_range = kUnbounded,
                      .contact_cost_range = {kUnbounded.low, 10},
                      .position_noise = uniform(0.01),
                      .velocity_noise = uniform(0.01)},
          .keys = kBodyKeys | kForwardReward | kHealthy,
          .observe = observe_humanoid,
          .measure = center_of_mass_x,
          .reward = locomotion_reward,
          .fell = humanoid_fell,
          .body_forces = true};
}

MujocoTask standing_up() {
  MujocoTask task = humanoid();
  task.id = "HumanoidStandup";
  task.edits = kLying;
  task.keys = 0;
  task.measure = measure_nothing;
  task.reward = standup_reward;
  task.fell = nullptr;
  return task;
}

std::vector<Entry> entries() {
  constexpr unsigned kParts = kIncludeBodies | kIncludeForces;
  return {
      {.task = {.id = "InvertedPendulum",
                .model = "inverted_pendulum",
                .view = kCartView,
                .max_episode_steps = 1000,
                .options = {.frame_skip = 2,
                            .position_noise = uniform(0.01),
                            .velocity_noise = uniform(0.01)},
                .observe = observe_state<0>,
                .measure = measure_nothing,
                .reward = pendulum_reward,
                .fell = pendulum_fell},
       .v5_keys = kNoise},
      {.task = {.id = "InvertedDoublePendulum",
                .model = "inverted_double_pendulum",
                .view = kTallCartView,
                .max_episode_steps = 1000,
                .options = {.frame_skip = 5,
                            .healthy_reward = 10,
                            .position_noise = uniform(0.1),
                            .velocity_noise = normal(0.1)},
                .observe = observe_double_pendulum,
                .measure = measure_nothing,
                .reward = double_pendulum_reward,
                .fell = double_pendulum_fell},
       .v5_keys = kNoise | kHealthyReward},
      {.task = {.id = "Reacher",
                .model = "reacher",
                .view = kReacherView,
                .max_episode_steps = 50,
                .options = {.frame_skip = 2,
                            .ctrl_cost_weight = 1,
                            .position_noise = uniform(0.1),
                            .velocity_noise = uniform(0.005)},
                .observe = observe_reacher,
                .measure = reacher_distance,
                .reward = reacher_reward,
                .place = place_reacher_target,
                .resting = 2},
       .v5_keys = kReachRewards},
      {.task = {.id = "Pusher",
                .model = "pusher",
                .view = kPusherView,
                .max_episode_steps = 100,
                .options = {.frame_skip = 5,
                            .ctrl_cost_weight = 0.1,
                            .velocity_noise = uniform(0.005)},
                .observe = observe_pusher,
                .measure = pusher_distances,
                .reward = pusher_reward,
                .place = place_pusher_object,
                .resting = 4},
       .v5_keys = kReachRewards | kNearReward,
       .v5_edits = kHeavierObject},
      {.task = {.id = "Swimmer",
                .model = "swimmer",
                .view = kSwimmerView,
                .max_episode_steps = 1000,
                .options = {.frame_skip = 4,
                            .ctrl_cost_weight = 1e-4,
                            .position_noise = uniform(0.1),
                            .velocity_noise = uniform(0.1)},
                .keys = kBodyKeys | kForwardReward,
                .observe = observe_state<2>,
                .measure = root_x,
                .reward = locomotion_reward}},
      {.task = {.id = "Hopper",
                .model = "hopper",
                .view = kWalkerView,
                .max_episode_steps = 1000,
                .options = {.frame_skip = 4,
                            .ctrl_cost_weight = 1e-3,
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
       .v2_masses = OldMasses{}},
      {.task = {.id = "Walker2d",
                .model = "walker2d",
                .view = kWalkerView,
                .max_episode_steps = 1000,
                .options = {.frame_skip = 4,
                            .ctrl_cost_weight = 1e-3,
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
       .v5_edits = kEvenFeet,
       .v2_masses = OldMasses{}},
      {.task = {.id = "HalfCheetah",
                .model = "half_cheetah",
                .view = kCheetahView,
                .max_episode_steps = 1000,
                .options = {.frame_skip = 5,
                            .ctrl_cost_weight = 0.1,
                            .position_noise = uniform(0.1),
                            .velocity_noise = normal(0.1)},
                .keys = kBodyKeys | kForwardReward,
                .observe = observe_state<1>,
                .measure = root_x,
                .reward = locomotion_reward},
       .v2_masses = OldMasses{.total = 14}},
      {.task = ant(),
       .v4_keys = kUseContacts | kContactCost,
       .v5_keys = kForwardReward | kContactCost | kIncludeForces,
       .v5_contact_forces = true},
      {.task = humanoid(), .v5_keys = kCappedCost | kParts, .v5_contact_forces = true},
      {.task = standing_up(), .v5_keys = kBodyKeys | kImpactCost | kParts},
  };
}

std::vector<MujocoTask> all_tasks() {
  std::vector<MujocoTask> tasks;
  for (Entry& entry : entries()) {
    if (entry.v2_masses) {
      MujocoTask v2 = entry.task;
      v2.id += "-v2";
      v2.keys = 0;
      v2.old_masses = entry.v2_masses;
      tasks.push_back(std::move(v2));
    }
    MujocoTask v4 = entry.task;
    v4.id += "-v4";
    v4.keys |= entry.v4_keys;
    tasks.push_back(std::move(v4));
    MujocoTask& v5 = entry.task;
    v5.id += "-v5";
    v5.options.version = 5;
    v5.options.use_contact_forces = entry.v5_contact_forces;
    v5.keys |= entry.v5_keys | kFrameSkip;
    if (!entry.v5_edits.empty()) v5.edits = entry.v5_edits;
    tasks.push_back(std::move(v5));
  }
  // Further variants of Ant.
  MujocoTask contacts = ant();
  contacts.id = "Ant-v4-contact";
  contacts.options.use_contact_forces = true;
  contacts.keys |= kUseContacts | kContactCost;
  tasks.push_back(std::move(contacts));
  MujocoTask d4rl = ant();
  d4rl.id = "Ant-v4-d4rl";
  d4rl.observe = observe_ant_d4rl;
  tasks.push_back(d4rl);
  d4rl.id = "Ant-v2";
  d4rl.keys = 0;
  d4rl.old_masses = kOldAntMasses;
  tasks.push_back(std::move(d4rl));
  return tasks;
}

}  // namespace

const MujocoTask* find_mujoco_task(std::string_view id) {
  static const std::vector<MujocoTask> tasks = all_tasks();
  for (const MujocoTask& task : tasks) {
    if (id == task.id) return &task;
  }
  return nullptr;
}

}  // namespace rl_training
