#pragma once
#include "tests/runtime/fakes.h"

namespace rl_training {

// A task that counts episodes from 0 and steps from 1. Step n leads to the observation
// 100 * episode + n and has the reward n. Even episodes are truncated after 4 steps, and odd
// episodes terminate after 3 steps.
class CountingTask final : public Environment {
 public:
  static constexpr const char* kId = "Counting-v0";

  static void add_to_table() {
    static const bool added = [] {
      register_environment({kId, "", [] { return std::make_unique<CountingTask>(); }});
      return true;
    }();
    static_cast<void>(added);
  }

  CountingTask() {
    spec_.id = kId;
    spec_.observation = Space::unbounded(1);
    spec_.action = Space::box({-1}, {1});
  }
  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng&, std::span<double> obs) override {
    ++episode_;
    steps_ = 0;
    observe(obs);
  }
  StepResult step(std::span<const double>, std::span<double> obs) override {
    ++steps_;
    observe(obs);
    const bool even = episode_ % 2 == 0;
    return {static_cast<double>(steps_), !even && steps_ == 3, even && steps_ == 4};
  }
  std::vector<double> state() const override { return {}; }
  void set_state(std::span<const double>) override {}
  void observe(std::span<double> obs) const override {
    obs[0] = static_cast<double>(100 * episode_ + steps_);
  }
  void visit_state(StateVisitor& state) override {
    state.scalar("episode", episode_);
    state.scalar("steps", steps_);
  }

 private:
  EnvSpec spec_;
  int64_t episode_ = -1, steps_ = 0;
};

// An algorithm that always returns the same action and records how it is called.
class ConstantAlgorithm final : public Algorithm {
 public:
  float action = 0.25f;
  std::vector<float> seen;  // observations in calls of act() with ActMode::explore
  int64_t updates = 0;
  std::vector<std::string> phases;  // names of the phases in calls of begin_phase()
  int64_t planned_updates = 0;

  std::vector<double> lr_scales;

  Metrics update(const Batch&, double lr_scale) override {
    ++updates;
    lr_scales.push_back(lr_scale);
    Metrics metrics;
    metrics.set("loss", torch::full({}, 1.0f));
    return metrics;
  }
  torch::Tensor act(const torch::Tensor& obs, PolicyState&, ActMode mode) override {
    if (mode == ActMode::explore) {
      seen.insert(seen.end(), obs.data_ptr<float>(), obs.data_ptr<float>() + obs.numel());
    }
    return torch::full({obs.size(0), 1}, action);
  }
  void begin_phase(const PhaseSpec& phase, int64_t planned) override {
    phases.push_back(phase.name);
    planned_updates = planned;
  }
  void visit_state(StateVisitor& state) override { state.scalar("updates", updates); }
};

}  // namespace rl_training
