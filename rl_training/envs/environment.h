#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rl_training/data/space.h"
#include "rl_training/envs/scene.h"
#include "rl_training/util/options.h"
#include "rl_training/util/rng.h"
#include "rl_training/util/state.h"

namespace rl_training {

struct EnvSpec {
  std::string id;
  Space observation, action;
  int64_t max_episode_steps = 0;  // 0: no time limit
  std::string summary;
  // Copies cannot run in parallel, so they are stepped on the calling thread.
  bool one_thread = false;
  // Copies are stepped as a group: all `prepare` before any of them steps.
  bool steps_together = false;
};

// `terminated` means that the task ended, so targets do not bootstrap. `truncated` means that only
// the episode ended (time limit), so they do. Both may be set.
struct StepResult {
  double reward = 0;
  bool terminated = false, truncated = false;
  // The call only began the next episode: the action had no effect and there is no transition.
  bool restarted = false;
};

// What hindsight relabelling needs from a task that observes its goal.
class GoalTask {
 public:
  virtual ~GoalTask() = default;

  virtual int64_t goal_dim() const = 0;
  // Offsets in the observation of the achieved and the desired goal, `goal_dim` entries each.
  virtual int64_t achieved_goal_at() const = 0;
  virtual int64_t desired_goal_at() const = 0;
  virtual double compute_reward(std::span<const double> achieved,
                                std::span<const double> desired) const = 0;
  // Whether reaching the goal terminates the task. Terminations for other reasons are failures.
  virtual bool compute_terminated(std::span<const double> achieved,
                                  std::span<const double> desired) const = 0;
  // Whether the goal is reached; the task may continue afterwards.
  virtual bool reached(std::span<const double> achieved, std::span<const double> desired) const {
    return compute_terminated(achieved, desired);
  }
};

// Whether the achieved goal in the observation meets the desired one.
inline bool reached_goal(const GoalTask& task, const float* obs) {
  const auto goal_at = [&](int64_t place) {
    return std::vector<double>(obs + place, obs + place + task.goal_dim());
  };
  return task.reached(goal_at(task.achieved_goal_at()), goal_at(task.desired_goal_at()));
}

// One simulated task.
//
// Vector observations are written as doubles into `obs`, which has `spec().observation.size()`
// entries. A task that observes images gets an empty `obs` and writes its image in `observe_pixels`
// instead.
class Environment {
 public:
  virtual ~Environment() = default;

  virtual const EnvSpec& spec() const = 0;
  // Options that `env_kwargs` can set. They are set before the first reset; spec() must reflect
  // them afterwards.
  virtual void visit_options(OptionVisitor& /*options*/) {}
  // Starts an episode with draws from `rng` and writes its first observation.
  virtual void reset(Rng& rng, std::span<double> obs) = 0;
  // `action` is in the environment's units; the environment defines the effect of values out of
  // bounds. A discrete action is one entry that holds its index.
  virtual StepResult step(std::span<const double> action, std::span<double> obs) = 0;
  // Announces the action of the next step, for tasks with `steps_together`.
  virtual void prepare(std::span<const double> /*action*/) {}

  // The internal state of the simulation, from which a replay can start. Setting it starts an
  // episode.
  virtual std::vector<double> state() const = 0;
  virtual void set_state(std::span<const double> state) = 0;
  virtual void observe(std::span<double> obs) const = 0;
  // The current image [channels, rows, columns], for tasks that observe images.
  virtual void observe_pixels(std::span<uint8_t> /*image*/) const {}

  virtual void visit_state(StateVisitor& state) = 0;

  // A drawing of the current state; without shapes if the task cannot be drawn.
  virtual Scene scene() const { return {}; }
  // The same from the task's own renderer, if it has one and it is installed.
  virtual Photo photo(int /*width*/, int /*height*/) const { return {}; }

  // Null for tasks without goals.
  virtual const GoalTask* goal_task() const { return nullptr; }
};

}  // namespace rl_training
