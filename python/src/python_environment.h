#pragma once
#include "python/src/spaces.h"
#include "rl_training/envs/environment.h"

namespace rl_training {

// A task that wraps a Python object with Gymnasium's interface: `reset(seed=...)`, `step(action)`,
// `observation_space` and `action_space`.
//
// The saved state consists of the seed, the actions so far and the last observation of the current
// episode. Loading replays the actions, and warns if the last observation differs. The replay is
// exact if the seed and the actions determine the episode. Nothing in a checkpoint is executed as
// code.
class PythonEnvironment final : public Environment {
 public:
  PythonEnvironment(const std::string& id, py::object task);
  ~PythonEnvironment() override;
  PythonEnvironment(const PythonEnvironment&) = delete;
  PythonEnvironment& operator=(const PythonEnvironment&) = delete;

  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng& rng, std::span<double> obs) override;
  StepResult step(std::span<const double> action, std::span<double> obs) override;
  std::vector<double> state() const override;
  void set_state(std::span<const double> state) override;
  void observe(std::span<double> obs) const override;
  void visit_state(StateVisitor& state) override;

 private:
  // These functions require the GIL.
  void reset_task(std::span<double> obs);
  StepResult step_task(std::span<const double> action, std::span<double> obs);
  py::object make_action(std::span<const double> action) const;
  void take_observation(const py::handle& value, std::span<double> obs);
  void play_again();

  EnvSpec spec_;
  py::object task_, reset_, step_;
  ActionLayout layout_;
  std::vector<double> last_obs_;
  // The episode so far. The seed is -1 before the first episode.
  int64_t seed_ = -1;
  std::vector<double> actions_;
};

}  // namespace rl_training
