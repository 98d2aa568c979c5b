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
  // If true, copies of this environment cannot run in parallel. They are stepped one after another
  // on the calling thread.
  bool one_thread = false;
  // If true, copies of this environment are stepped as a group: `prepare` is called for all copies
  // before `step` is called for the first copy.
  bool steps_together = false;
};

// `terminated` means that the task ended, so targets do not bootstrap. `truncated` means that only
// the episode ended, for example at a time limit, so targets bootstrap. If both are set, targets do
// not bootstrap.
struct StepResult {
  double reward = 0;
  bool terminated = false, truncated = false;
  // If true, this call to step() only started the next episode: the action had no effect, and the
  // call is not a transition.
  bool restarted = false;
};

// Interface for hindsight relabelling, implemented by tasks whose observations contain the goal.
class GoalTask {
 public:
  virtual ~GoalTask() = default;

  virtual int64_t goal_dim() const = 0;
  // Offsets of the achieved and the desired goal in the observation. Each goal has `goal_dim`
  // entries.
  virtual int64_t achieved_goal_at() const = 0;
  virtual int64_t desired_goal_at() const = 0;
  virtual double compute_reward(std::span<const double> achieved,
                                std::span<const double> desired) const = 0;
  // Whether the task terminates because the goal is reached. A termination for any other reason is
  // a failure; relabelling with another goal does not change it.
  virtual bool compute_terminated(std::span<const double> achieved,
                                  std::span<const double> desired) const = 0;
  // Whether the goal is reached. The task may continue afterwards.
  virtual bool reached(std::span<const double> achieved, std::span<const double> desired) const {
    return compute_terminated(achieved, desired);
  }
};

// Whether the achieved goal in the observation meets the desired goal.
inline bool reached_goal(const GoalTask& task, const float* obs) {
  const auto goal_at = [&](int64_t place) {
    return std::vector<double>(obs + place, obs + place + task.goal_dim());
  };
  return task.reached(goal_at(task.achieved_goal_at()), goal_at(task.desired_goal_at()));
}

// One simulated task.
//
// Vector observations are written as doubles into `obs`, which has `spec().observation.size()`
// entries. For a task that observes images, `obs` is empty and `observe_pixels` writes the image.
class Environment {
 public:
  virtual ~Environment() = default;

  virtual const EnvSpec& spec() const = 0;
  // Visits the options that `env_kwargs` can set. They are set before the first reset. Afterwards,
  // spec() must reflect the new values.
  virtual void visit_options(OptionVisitor& /*options*/) {}
  // Starts an episode with random draws from `rng` and writes the first observation.
  virtual void reset(Rng& rng, std::span<double> obs) = 0;
  // `action` is in the environment's units. The environment defines the effect of values outside
  // the bounds. A discrete action is a single entry that contains the index.
  virtual StepResult step(std::span<const double> action, std::span<double> obs) = 0;
  // Announces the action of the next step, for tasks with `steps_together`.
  virtual void prepare(std::span<const double> /*action*/) {}

  // The internal state of the simulation, from which a replay can start. `set_state` starts an
  // episode in the given state.
  virtual std::vector<double> state() const = 0;
  virtual void set_state(std::span<const double> state) = 0;
  virtual void observe(std::span<double> obs) const = 0;
  // The current image [channels, rows, columns], for tasks that observe images.
  virtual void observe_pixels(std::span<uint8_t> /*image*/) const {}

  virtual void visit_state(StateVisitor& state) = 0;

  // A drawing of the current state. Contains no shapes if the task cannot be drawn.
  virtual Scene scene() const { return {}; }
  // An image of the current state from the task's own renderer. Empty if the task has no renderer
  // or the renderer is not installed.
  virtual Photo photo(int /*width*/, int /*height*/) const { return {}; }

  // Null for tasks without goals.
  virtual const GoalTask* goal_task() const { return nullptr; }
};

}  // namespace rl_training
