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
  return phase.collects() ? UpdateRhythm(phase).updates_until(phase.length) : phase.length;
}

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
  const int64_t due = rhythm_.updates_until(collector_.steps()) - before;
  if (due == 0 || !loop.all(sampler_.ready())) return;
  for (int64_t i = 0; i < due; ++i) loop.update(sampler_);
}

void OnlinePhase::report(Json& row, const RowContext& context) {
  const auto ended = collector_.take_ended();
  int64_t from_data = context.batch_rows;
  if (mixture_ != nullptr && context.begun) from_data = mixture_->first_rows(from_data);
  const auto sums = sum_over(
      context.processes,
      {static_cast<double>(collector_.buffer().rows()), static_cast<double>(collector_.episodes()),
       ended.return_sum, static_cast<double>(ended.episodes), static_cast<double>(from_data)});
  add_to_row(row, CollectMetrics{
                      .buffer_size = std::llround(sums[0]),
                      .episodes = std::llround(sums[1]),
                      .train_return_mean = sums[3] > 0 ? json_number(sums[2] / sums[3]) : Json()});
  if (mixture_ == nullptr) return;
  const int64_t rows = context.batch_rows * process_count(context.processes);
  add_to_row(row, MixtureMetrics{.pretrain_updates_done = context.data_updates,
                                 .offline_batch_size = std::llround(sums[4]),
                                 .online_batch_size = rows - std::llround(sums[4])});
}

}  // namespace rl_training
