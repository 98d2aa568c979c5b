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
  bool one_thread = false;      // copies of it take turns anyway: no threads are woken to step them
  bool steps_together = false;  // copies are stepped as one: they `prepare` before any steps
};

// `terminated` ends the task, `truncated` only the recording of it (time limit): values are
// bootstrapped past the second, not past the first. Both may be set.
struct StepResult {
  double reward = 0;
  bool terminated = false, truncated = false;
  // The call only began the next episode: the action had no effect, there is no transition.
  bool restarted = false;
};

// What hindsight relabelling needs from a task that observes its goal.
class GoalTask {
 public:
  virtual ~GoalTask() = default;

  virtual int64_t goal_dim() const = 0;
  // Where `goal_dim` entries of the observation hold the achieved goal and the desired goal.
  virtual int64_t achieved_goal_at() const = 0;
  virtual int64_t desired_goal_at() const = 0;
  virtual double compute_reward(std::span<const double> achieved,
                                std::span<const double> desired) const = 0;
  // Whether reaching that goal ends the task. It may end for other reasons, too: those are
  // failures.
  virtual bool compute_terminated(std::span<const double> achieved,
                                  std::span<const double> desired) const = 0;
  // Whether that goal is reached; a task may continue there.
  virtual bool reached(std::span<const double> achieved, std::span<const double> desired) const {
    return compute_terminated(achieved, desired);
  }
};

// Whether the observation's achieved goal is its desired goal.
inline bool reached_goal(const GoalTask& task, const float* obs) {
  const auto goal_at = [&](int64_t place) {
    return std::vector<double>(obs + place, obs + place + task.goal_dim());
  };
  return task.reached(goal_at(task.achieved_goal_at()), goal_at(task.desired_goal_at()));
}

// One simulated task.
//
// Vectors of observations are written as doubles into `obs`, which has `spec().observation.size()`
// entries. A task that observes images gets an empty `obs` and paints in `observe_pixels` instead.
class Environment {
 public:
  virtual ~Environment() = default;

  virtual const EnvSpec& spec() const = 0;
  // What `env_kwargs` may change of the task. Done before the first reset, if at all; afterwards
  // spec() must be that of the changed task.
  virtual void visit_options(OptionVisitor& /*options*/) {}
  // Starts an episode with draws from `rng` and writes its first observation.
  virtual void reset(Rng& rng, std::span<double> obs) = 0;
  // `action` is in the environment's units, and what it does out of bounds is the environment's
  // own business; a choice is one entry that holds its number.
  virtual StepResult step(std::span<const double> action, std::span<double> obs) = 0;
  // The action of the coming step, for tasks that `steps_together`.
  virtual void prepare(std::span<const double> /*action*/) {}

  // The simulation's inner state, to start a replay anywhere. Setting it starts an episode.
  virtual std::vector<double> state() const = 0;
  virtual void set_state(std::span<const double> state) = 0;
  virtual void observe(std::span<double> obs) const = 0;
  // The present image, for a task whose observation space is one: channels, rows, columns.
  virtual void observe_pixels(std::span<uint8_t> /*image*/) const {}

  virtual void visit_state(StateVisitor& state) = 0;

  // A drawing of the present state; without shapes where the task has none.
  virtual Scene scene() const { return {}; }
  // The same as a photograph, where the task has a renderer for that and it is installed.
  virtual Photo photo(int /*width*/, int /*height*/) const { return {}; }

  // Null for tasks without goals.
  virtual const GoalTask* goal_task() const { return nullptr; }
};

}  // namespace rl_training
