#include "rl_training/runtime/phase.h"

#include <algorithm>

#include "rl_training/runtime/loop_metrics.h"

namespace rl_training {

UpdateRhythm::UpdateRhythm(const PhaseSpec& phase)
    : first_update_step(std::max(phase.collect.learning_starts, phase.warmup_steps)),
      train_frequency(phase.collect.train_frequency),
      gradient_updates_per_step(phase.collect.gradient_updates_per_step),
      min_rows(std::max<int64_t>(1, phase.min_buffer_size)) {}

int64_t UpdateRhythm::updates_until(int64_t step) const {
  const int64_t begin = std::max(first_update_step, min_rows);
  if (step < begin) return 0;
  return (step / train_frequency - (begin - 1) / train_frequency) * gradient_updates_per_step;
}

int64_t planned_updates(const PhaseSpec& phase) {
  if (phase.rolls_out()) return phase.length / phase.rollout.steps * phase.rollout.updates();
  return phase.collects() ? UpdateRhythm(phase).updates_until(phase.length) : phase.length;
}

namespace {

void add_collected(Json& row, int64_t rows, EpisodeLog& episodes) {
  const auto mean = episodes.take_mean_return();
  add_to_row(row, CollectMetrics{.buffer_size = rows,
                                 .episodes = episodes.count(),
                                 .train_return_mean = mean ? json_number(*mean) : Json()});
}

}  // namespace

OnlinePhase::OnlinePhase(PhaseSpec spec, Collector& collector, Sampler& sampler,
                         const MixtureSampler* mixture)
    : Phase(std::move(spec)),
      collector_(collector),
      sampler_(sampler),
      mixture_(mixture),
      rhythm_(this->spec()) {}

void OnlinePhase::advance(const LoopHooks& loop) {
  const int64_t before = rhythm_.updates_until(collector_.steps());
  collector_.step();
  loop.collected();
  if (!sampler_.ready()) return;
  const int64_t due = rhythm_.updates_until(collector_.steps()) - before;
  for (int64_t i = 0; i < due; ++i) loop.update(sampler_);
}

void OnlinePhase::report(Json& row, const RowContext& context) {
  add_collected(row, collector_.buffer().rows(), collector_.episodes());
  if (mixture_ == nullptr) return;
  const int64_t from_data =
      context.begun ? mixture_->first_rows(context.batch_rows) : context.batch_rows;
  add_to_row(row, MixtureMetrics{.pretrain_updates_done = context.data_updates,
                                 .offline_batch_size = from_data,
                                 .online_batch_size = context.batch_rows - from_data});
}

RolloutPhase::RolloutPhase(PhaseSpec spec, RolloutCollector& collector, RolloutSampler& sampler,
                           const OnPolicyAlgorithm& algorithm)
    : Phase(std::move(spec)), collector_(collector), sampler_(sampler), algorithm_(algorithm) {}

int64_t RolloutPhase::scheduled_update(int64_t /*updates*/) const {
  const auto& rollout = spec().rollout;
  const int64_t finished = collector_.steps() / rollout.steps - (updating_ ? 1 : 0);
  return finished * rollout.updates();
}

void RolloutPhase::advance(const LoopHooks& loop) {
  collector_.step();
  loop.collected();
  if (!collector_.buffer().full()) return;
  updating_ = true;
  use_rollout(loop);
  updating_ = false;
  collector_.buffer().clear();
}

void RolloutPhase::use_rollout(const LoopHooks& loop) {
  const auto& rollout = spec().rollout;
  for (int64_t epoch = 0; epoch < rollout.epochs; ++epoch) {
    sampler_.shuffle();
    for (int64_t i = 0; i < rollout.minibatches; ++i) {
      loop.update(sampler_);
      if (algorithm_.rollout_used_up()) return;
    }
  }
}

void RolloutPhase::report(Json& row, const RowContext& /*context*/) {
  add_collected(row, collector_.buffer().rows(), collector_.episodes());
}

}  // namespace rl_training
