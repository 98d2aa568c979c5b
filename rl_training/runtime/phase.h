#pragma once
#include <functional>

#include "rl_training/algorithms/algorithm.h"
#include "rl_training/data/replay_sampler.h"
#include "rl_training/runtime/collector.h"
#include "rl_training/runtime/rollout_collector.h"

namespace rl_training {

// Schedule of the updates between environment steps.
struct UpdateRhythm {
  int64_t first_update_step = 0;  // environment steps before the first update
  int64_t train_frequency = 1, gradient_updates_per_step = 1;
  // Rows required before the first update, summed over the buffers of all processes. Each
  // environment step adds one row.
  int64_t min_rows = 1;

  explicit UpdateRhythm(const PhaseSpec& phase);
  // Total number of updates scheduled for the first `step` environment steps.
  int64_t updates_until(int64_t step) const;
};

// Planned number of updates of a complete phase. Fewer updates may run, for example if PPO stops
// using a rollout early.
int64_t planned_updates(const PhaseSpec& phase);

// Functions of the loop that a phase calls.
struct LoopHooks {
  // Runs one update on a batch of this sampler, unless the run's budget of updates is used up.
  std::function<void(Sampler& sampler)> update;
  std::function<void()> collected;  // called after a step of the environments
  // Returns whether a condition is true in every process of the run. `here` is its value in this
  // process.
  std::function<bool(bool here)> all = [](bool here) { return here; };
};

// Values of the run that a phase needs for its part of a row of metrics.
struct RowContext {
  int64_t batch_rows = 0;    // rows of a minibatch in this process
  int64_t data_updates = 0;  // updates in offline phases
  bool begun = false;        // whether all phases before this one are finished
  ProcessGroup* processes = nullptr;
};

// A phase of training, run by the training loop. Samplers and collector are not owned.
class Phase {
 public:
  explicit Phase(PhaseSpec spec) : spec_(std::move(spec)) {}
  virtual ~Phase() = default;

  const PhaseSpec& spec() const { return spec_; }
  // Position in the phase, in the same unit as its length.
  virtual int64_t step() const = 0;
  bool finished() const { return step() >= spec_.length; }
  // Runs one update, or one step of the environments and the updates scheduled after this step.
  virtual void advance(const LoopHooks& loop) = 0;
  // Position in the learning-rate schedule after `updates` updates of the run.
  virtual int64_t scheduled_update(int64_t updates) const { return updates; }
  // Number of environment steps in this phase so far.
  virtual int64_t env_steps() const { return 0; }
  // Adds the metrics of the phase to a row.
  virtual void report(Json& /*row*/, const RowContext& /*context*/) {}
  virtual void visit_state(StateVisitor& state) = 0;

 private:
  PhaseSpec spec_;
};

// A phase of updates on the dataset.
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

// A phase of environment steps and of updates on collected rows, or on a mixture of collected rows
// and the dataset.
class OnlinePhase final : public Phase {
 public:
  // `mixture` is `sampler` if this sampler draws from both collected rows and the dataset;
  // otherwise `mixture` is null.
  OnlinePhase(PhaseSpec spec, Collector& collector, Sampler& sampler,
              const MixtureSampler* mixture);

  int64_t step() const override { return collector_.steps(); }
  int64_t env_steps() const override { return collector_.steps(); }
  void advance(const LoopHooks& loop) override;
  void report(Json& row, const RowContext& context) override;
  // Does not visit the collector; the owner of the collector does.
  void visit_state(StateVisitor& /*state*/) override {}

 private:
  Collector& collector_;
  Sampler& sampler_;
  const MixtureSampler* mixture_;
  UpdateRhythm rhythm_;
};

// A phase of rollouts with the current policy. Each rollout is followed by a few epochs of updates.
// The updates are part of the step that fills the rollout, so a checkpoint is never written between
// these updates.
class RolloutPhase final : public Phase {
 public:
  RolloutPhase(PhaseSpec spec, RolloutCollector& collector, RolloutSampler& sampler,
               const OnPolicyAlgorithm& algorithm);

  int64_t step() const override { return collector_.steps(); }
  int64_t env_steps() const override { return collector_.steps(); }
  void advance(const LoopHooks& loop) override;
  // Returns the position of the first update on the current rollout, because all updates on a
  // rollout use the same learning rate.
  int64_t scheduled_update(int64_t updates) const override;
  void report(Json& row, const RowContext& context) override;
  // Does not visit the collector; the owner of the collector does.
  void visit_state(StateVisitor& /*state*/) override {}

 private:
  void use_rollout(const LoopHooks& loop);

  RolloutCollector& collector_;
  RolloutSampler& sampler_;
  const OnPolicyAlgorithm& algorithm_;
  bool updating_ = false;  // whether `advance` is running updates
};

}  // namespace rl_training
