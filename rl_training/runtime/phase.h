#pragma once
#include <functional>

#include "rl_training/algorithms/algorithm.h"
#include "rl_training/data/replay_sampler.h"
#include "rl_training/runtime/collector.h"
#include "rl_training/runtime/rollout_collector.h"

namespace rl_training {

// How many updates follow how many environment steps.
struct UpdateRhythm {
  int64_t first_update_step = 0;  // environment steps before the first update
  int64_t train_frequency = 1, gradient_updates_per_step = 1;
  int64_t min_rows = 1;  // in the buffer before the first update

  explicit UpdateRhythm(const PhaseSpec& phase);
  // Updates that are due after `step` environment steps.
  int64_t updates_until(int64_t step) const;
};

// Updates that a phase makes when it runs to its end.
int64_t planned_updates(const PhaseSpec& phase);

// What a phase has the loop do.
struct LoopHooks {
  // One update on a batch of that sampler, unless the run's budget of updates is spent.
  std::function<void(Sampler& sampler)> update;
  std::function<void()> collected;  // after a step of the environments
  // Whether something holds in every process of the run.
  std::function<bool(bool here)> all = [](bool here) { return here; };
};

// What a phase needs from the run for its part of a row of metrics.
struct RowContext {
  int64_t batch_rows = 0;    // of a minibatch, those of this process
  int64_t data_updates = 0;  // made in phases on the dataset alone
  bool begun = false;        // whether all phases before this one are finished
  ProcessGroup* processes = nullptr;
};

// One stretch of training as the loop runs it. Not owned: samplers and collector.
class Phase {
 public:
  explicit Phase(PhaseSpec spec) : spec_(std::move(spec)) {}
  virtual ~Phase() = default;

  const PhaseSpec& spec() const { return spec_; }
  // Where it stands, counted as its length is.
  virtual int64_t step() const = 0;
  bool finished() const { return step() >= spec_.length; }
  // One update; or one step of the environments and the updates that are due after it.
  virtual void advance(const LoopHooks& loop) = 0;
  // The update that the learning-rate schedule is at, after `updates` of the run.
  virtual int64_t scheduled_update(int64_t updates) const { return updates; }
  // Environment steps made in this phase.
  virtual int64_t env_steps() const { return 0; }
  // Adds its metrics to a row.
  virtual void report(Json& /*row*/, const RowContext& /*context*/) {}
  virtual void visit_state(StateVisitor& state) = 0;

 private:
  PhaseSpec spec_;
};

// Updates on the dataset.
class DataPhase final : public Phase {
 public:
  DataPhase(PhaseSpec spec, Sampler& sampler) : Phase(std::move(spec)), sampler_(sampler) {}

  int64_t step() const override { return updates_; }
  void advance(const LoopHooks& loop) override {
    ++updates_;
    loop.update(sampler_);
  }
  void visit_state(StateVisitor& state) override { state.scalar("updates", updates_); }

 private:
  Sampler& sampler_;
  int64_t updates_ = 0;
};

// Environment steps, and updates on what was collected or on a mixture with the dataset.
class OnlinePhase final : public Phase {
 public:
  // `mixture` equals `sampler` if that draws from both sources, otherwise null.
  OnlinePhase(PhaseSpec spec, Collector& collector, Sampler& sampler,
              const MixtureSampler* mixture);

  int64_t step() const override { return collector_.steps(); }
  int64_t env_steps() const override { return collector_.steps(); }
  void advance(const LoopHooks& loop) override;
  void report(Json& row, const RowContext& context) override;
  // The owner of the collector visits that.
  void visit_state(StateVisitor& /*state*/) override {}

 private:
  Collector& collector_;
  Sampler& sampler_;
  const MixtureSampler* mixture_;
  UpdateRhythm rhythm_;
};

// Rollouts of the current policy; after each of them a few passes of updates over it. Those belong
// to the step that fills the rollout: a checkpoint is written in the middle of a rollout or before
// one, never between its updates.
class RolloutPhase final : public Phase {
 public:
  RolloutPhase(PhaseSpec spec, RolloutCollector& collector, RolloutSampler& sampler,
               const OnPolicyAlgorithm& algorithm);

  int64_t step() const override { return collector_.steps(); }
  int64_t env_steps() const override { return collector_.steps(); }
  void advance(const LoopHooks& loop) override;
  // That of its rollout's first update: all updates of a rollout have one learning rate.
  int64_t scheduled_update(int64_t updates) const override;
  void report(Json& row, const RowContext& context) override;
  // The owner of the collector visits that.
  void visit_state(StateVisitor& /*state*/) override {}

 private:
  void use_rollout(const LoopHooks& loop);

  RolloutCollector& collector_;
  RolloutSampler& sampler_;
  const OnPolicyAlgorithm& algorithm_;
  bool updating_ = false;  // within `advance`
};

}  // namespace rl_training
