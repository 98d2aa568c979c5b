#include "rl_training/envs/registry.h"

#include <utility>

#include "rl_training/envs/acrobot.h"
#include "rl_training/envs/box2d/lunar_lander.h"
#include "rl_training/envs/cart_pole.h"
#include "rl_training/envs/maze_tasks.h"
#include "rl_training/envs/mountain_car.h"
#include "rl_training/envs/mujoco/maze_env.h"
#include "rl_training/envs/mujoco/mujoco_env.h"
#include "rl_training/envs/pendulum.h"
#include "rl_training/envs/point_goal.h"
#include "rl_training/envs/time_limit.h"
#include "rl_training/util/error.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

template <class Task, class... Arguments>
EnvInfo listed(Arguments... arguments) {
  const EnvSpec spec = Task(arguments...).spec();
  return {spec.id, spec.summary, [=] { return std::make_unique<Task>(arguments...); }};
}

#ifndef RL_TRAINING_MUJOCO
constexpr const char* kNoMujoco =
    "this build has no MuJoCo: install libmujoco-dev 2.2 and configure again";
#endif

EnvInfo mujoco(const std::string& id, const std::string& summary) {
#ifdef RL_TRAINING_MUJOCO
  return {id, summary, mujoco_maker(id, summary)};
#else
  return {id, summary, nullptr, kNoMujoco};
#endif
}

EnvInfo maze(const MazeTask& task) {
#ifdef RL_TRAINING_MUJOCO
  return {task.id, task.summary, maze_maker(task)};
#else
  return {task.id, task.summary, nullptr, kNoMujoco};
#endif
}

// Each task exists with the rules of v4 and with the rules of v5, some also as v2.
void add_mujoco(std::vector<EnvInfo>& entries) {
  const std::pair<std::string, std::string> tasks[] = {
      {"InvertedPendulum", "balance a pole on a cart"},
      {"InvertedDoublePendulum", "balance two linked poles on a cart"},
      {"Reacher", "reach a random target with a two-link arm"},
      {"Pusher", "push an object to a goal with a seven-joint arm"},
      {"Swimmer", "swim forward with three links in a viscous fluid"},
      {"Hopper", "hop forward on one leg"},
      {"Walker2d", "walk forward on two legs in a plane"},
      {"HalfCheetah", "run forward in a plane"},
      {"Ant", "run forward on four legs"},
      {"Humanoid", "run forward on two legs"},
      {"HumanoidStandup", "stand up from lying on the back"}};
  for (const char* version : {"-v4", "-v5"}) {
    for (const auto& [name, summary] : tasks) entries.push_back(mujoco(name + version, summary));
  }
  for (const char* name : {"Hopper", "Walker2d", "HalfCheetah", "Ant"}) {
    const std::string id = std::string(name) + "-v2";
    entries.push_back(mujoco(id, std::string(name) + "-v4 with the simulator of D4RL's datasets"));
  }
  entries.push_back(mujoco("Ant-v4-contact", "Ant-v4 with contact forces in observation and cost"));
  entries.push_back(mujoco(
      "Ant-v4-d4rl", "Ant-v4 with the 84 zeros that D4RL's datasets contain as contact forces"));
}

EnvInfo lunar_lander(LanderEngines engines) {
  const bool discrete = engines == LanderEngines::discrete;
  const char* const id = lunar_lander_id(engines);
  const char* const summary = discrete ? "land on a pad, firing one of three engines at a time"
                                       : "land on a pad with a main and two side engines";
#ifdef RL_TRAINING_BOX2D
  return {id, summary, [=] { return make_lunar_lander(engines, summary); }};
#else
  return {id, summary, nullptr,
          "this build has no Box2D: install libbox2d-dev 2.4 and configure again"};
#endif
}

std::vector<EnvInfo> built_in() {
  std::vector<EnvInfo> entries = {
      listed<Pendulum>(),
      listed<CartPole>(),
      listed<MountainCar>(),
      listed<DiscreteMountainCar>(),
      listed<Acrobot>(),
      listed<PointGoal>(1),
      listed<PointGoal>(2),
      listed<PointGoal>(3),
      lunar_lander(LanderEngines::continuous),
      lunar_lander(LanderEngines::discrete),
  };
  add_mujoco(entries);
  for (const MazeTask& task : maze_tasks()) entries.push_back(maze(task));
  return entries;
}

std::vector<EnvInfo>& registered() {
  static std::vector<EnvInfo> entries = built_in();
  return entries;
}

}  // namespace

const std::vector<EnvInfo>& environments() { return registered(); }

const EnvInfo* find_environment(const std::string& id) {
  for (const EnvInfo& info : registered()) {
    if (info.id == id) return &info;
  }
  return nullptr;
}

void register_environment(EnvInfo info) {
  if (find_environment(info.id) != nullptr) {
    throw Error(ErrorKind::config, {"", 0, "env_id"},
                "an environment of this name is already registered (got `" + info.id + "`)");
  }
  registered().push_back(std::move(info));
}

std::unique_ptr<Environment> make_environment(const std::string& id, const EnvOptions& options) {
  const EnvInfo* info = find_environment(id);
  if (info == nullptr) {
    std::vector<std::string> ids;
    for (const EnvInfo& known : registered()) ids.push_back(known.id);
    throw Error(ErrorKind::config, {"", 0, "env_id"},
                "unknown environment (expected one that `rl_training envs` lists, got `" + id +
                    "`" + did_you_mean(id, ids) + ")");
  }
  if (!info->unavailable.empty()) {
    throw Error(ErrorKind::config, {"", 0, "env_id"},
                "`" + id + "` is not available: " + info->unavailable);
  }
  auto task = info->make();
  set_task_options(*task, options.task);
  const int64_t limit = options.max_episode_steps.value_or(task->spec().max_episode_steps);
  if (limit > 0) task = std::make_unique<TimeLimit>(std::move(task), limit);
  if (options.pixels.used) task = std::make_unique<Pixels>(std::move(task), options.pixels);
  return task;
}

int64_t group_size(const std::string& id) {
  const EnvInfo* info = find_environment(id);
  return info != nullptr && info->group ? info->group->size() : 0;
}

std::vector<std::unique_ptr<Environment>> make_environments(const std::string& id, int64_t count,
                                                            const EnvOptions& options) {
  const int64_t together = group_size(id);
  if (together == 0) {
    std::vector<std::unique_ptr<Environment>> copies;
    for (int64_t i = 0; i < count; ++i) copies.push_back(make_environment(id, options));
    return copies;
  }
  if (count != together) {
    throw Error(ErrorKind::config, {"", 0, "num_envs"},
                "not the number of environments in `" + id + "` (expected " +
                    std::to_string(together) + ", got " + std::to_string(count) + ")");
  }
  if (options.max_episode_steps) {
    throw Error(ErrorKind::config, {"", 0, "env_kwargs.max_episode_steps"},
                "`" + id + "` is a vector of environments, which manage their own episodes");
  }
  if (options.pixels.used) {
    throw Error(ErrorKind::config, {"", 0, "env_kwargs.wrappers.pixels"},
                "`" + id + "` is a vector of environments, which are not drawn one by one");
  }
  auto copies = find_environment(id)->group->make();
  for (auto& copy : copies) set_task_options(*copy, options.task);
  return copies;
}

void set_task_options(Environment& task, const Json& values) {
  if (values.empty()) return;
  const auto map = ConfigNode::from_json(values, "");
  OptionReader reader(map, "env_kwargs");
  task.visit_options(reader);
  reader.finish({}, task.spec().id);
}

}  // namespace rl_training
