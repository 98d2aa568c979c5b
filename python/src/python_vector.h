#pragma once
#include "python/src/spaces.h"
#include "rl_training/envs/environment.h"

namespace rl_training {

// When a vector of environments starts the next episode of a member whose episode has ended. With
// `next_step`, it does so in the next call of step(); with `same_step`, in the call that ended the
// episode. With `disabled`, the library must reset the member.
enum class Autoreset { next_step, same_step, disabled };

// A Python object with the interface of Gymnasium's VectorEnv: `num_envs` tasks that are reset and
// stepped together. The library uses each task through a PythonVectorMember and calls the members
// in order.
//
// The library seeds only the first episode of each task, so later episodes cannot be replayed.
// After its state has been loaded, a vector starts new episodes at the next step.
class PythonVector {
 public:
  // The constructor, begin_episode, step and visit_state require that the caller holds the GIL.
  PythonVector(const std::string& id, py::object task);
  ~PythonVector();
  PythonVector(const PythonVector&) = delete;
  PythonVector& operator=(const PythonVector&) = delete;

  const EnvSpec& spec() const { return spec_; }
  int64_t count() const { return count_; }
  std::span<const double> obs(int64_t i) const { return row(obs_, i); }

  void begin_episode(int64_t i, int64_t seed);
  void prepare(int64_t i, std::span<const double> action);
  StepResult step(int64_t i, std::span<double> obs);

  void visit_state(StateVisitor& state);

 private:
  std::span<const double> row(const std::vector<double>& rows, int64_t i) const {
    const auto width = static_cast<size_t>(spec_.observation.size());
    return std::span(rows).subspan(static_cast<size_t>(i) * width, width);
  }
  void reset_all(int64_t seed);
  void reset_one(int64_t i);
  void step_all();
  void take_results(const py::tuple& results);
  void take_final_observations(const py::dict& info);
  py::object make_actions() const;

  EnvSpec spec_;
  py::object task_;
  Autoreset autoreset_ = Autoreset::next_step;
  int64_t count_ = 0;
  ActionLayout layout_;
  std::vector<double> actions_, obs_, final_obs_;  // values of all members, concatenated
  std::vector<StepResult> results_;
  // 1 if the member's episode has ended and the next step starts a new episode.
  std::vector<uint8_t> waiting_;
  // Seed of the last reset of all members, and number of steps since then.
  int64_t seed_ = -1, steps_ = 0;
  bool lost_ = false;  // true after loading a state, whose episodes cannot be replayed
};

// Task `i` of a vector. If `vector` is null, the object only provides a spec.
class PythonVectorMember final : public Environment {
 public:
  PythonVectorMember(EnvSpec spec, std::shared_ptr<PythonVector> vector, int64_t i)
      : spec_(std::move(spec)), vector_(std::move(vector)), i_(i) {}

  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng& rng, std::span<double> obs) override;
  void prepare(std::span<const double> action) override;
  StepResult step(std::span<const double> action, std::span<double> obs) override;
  std::vector<double> state() const override;
  void set_state(std::span<const double> state) override;
  void observe(std::span<double> obs) const override;
  void visit_state(StateVisitor& state) override;

 private:
  EnvSpec spec_;
  std::shared_ptr<PythonVector> vector_;
  int64_t i_;
};

}  // namespace rl_training
