#include "rl_training/runtime/phase.h"

#include <algorithm>
#include <cmath>

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

// Returns four values: the rows, all episodes so far, the sum of the returns of the episodes that
// ended since the last call, and the number of these episodes.
std::vector<double> take_collected(int64_t rows, EpisodeLog& episodes) {
  const auto ended = episodes.take_ended();
  return {static_cast<double>(rows), static_cast<double>(episodes.count()), ended.return_sum,
          static_cast<double>(ended.episodes)};
}

void add_collected(Json& row, const std::vector<double>& values) {
  const auto mean = values[3] > 0 ? json_number(values[2] / values[3]) : Json();
  add_to_row(row, CollectMetrics{.buffer_size = std::llround(values[0]),
                                 .episodes = std::llround(values[1]),
                                 .train_return_mean = mean});
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
  const int64_t due =
      collector_.algorithm().updates_now(rhythm_.updates_until(collector_.steps()) - before);
  if (due == 0 || !loop.all(sampler_.ready())) return;
  for (int64_t i = 0; i < due; ++i) loop.update(sampler_);
}

void OnlinePhase::report(Json& row, const RowContext& context) {
  int64_t from_data = context.batch_rows;
  if (mixture_ != nullptr && context.begun) from_data = mixture_->first_rows(from_data);
  auto values = take_collected(collector_.buffer().rows(), collector_.episodes());
  values.push_back(static_cast<double>(from_data));
  const auto sums = sum_over(context.processes, values);
  add_collected(row, sums);
  if (mixture_ == nullptr) return;
  const int64_t rows = context.batch_rows * process_count(context.processes);
  add_to_row(row, MixtureMetrics{.pretrain_updates_done = context.data_updates,
                                 .offline_batch_size = std::llround(sums[4]),
                                 .online_batch_size = rows - std::llround(sums[4])});
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
  add_collected(row, take_collected(collector_.buffer().rows(), collector_.episodes()));
}

}  // namespace rl_training
