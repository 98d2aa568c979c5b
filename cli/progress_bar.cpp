#include "cli/progress_bar.h"

#include <algorithm>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);

int64_t tenths(const ProgressState& state) {
  return 10 * state.position / std::max<int64_t>(1, state.length);
}

}  // namespace

ProgressBar::ProgressBar(bool quiet) : quiet_(quiet), started_(Clock::now()) {}

void ProgressBar::start_with(std::vector<ProgressState::Evaluation> evaluations) {
  state_.evaluations = std::move(evaluations);
}

Callbacks ProgressBar::callbacks() {
  if (quiet_) return {};
  Callbacks callbacks;
  callbacks.on_train_start = [this](const TrainProgress& progress) {
    started_ = Clock::now();
    first_position_ = progress.position;
    move_to(progress);
    told_tenths_ = tenths(state_);
  };
  callbacks.on_collect_end = [this](const TrainProgress& progress) { on_step(progress, nullptr); };
  callbacks.on_update_end = [this](const TrainProgress& progress, const Metrics& metrics) {
    on_step(progress, &metrics);
  };
  callbacks.on_eval_end = [this](const TrainProgress& progress, const EvaluationResult& result) {
    on_evaluation(progress, result);
  };
  callbacks.on_validation_end = [this](const TrainProgress& progress,
                                       const ValidationMetrics& metrics) {
    on_validation(progress, metrics);
  };
  callbacks.on_train_end = [this](const TrainSummary&) { view_.erase(); };
  return callbacks;
}

void ProgressBar::note(const std::string& line) { view_.add_line(printable(line)); }

void ProgressBar::move_to(const TrainProgress& progress) {
  state_.position = progress.position;
  state_.length = progress.length;
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  const auto steps = static_cast<double>(progress.position - first_position_);
  state_.rate = seconds > 0 ? steps / seconds : 0;
}

void ProgressBar::on_step(const TrainProgress& progress, const Metrics* metrics) {
  const bool tenth = !view_.is_terminal() &&
                     10 * progress.position / std::max<int64_t>(1, progress.length) > told_tenths_;
  const auto now = Clock::now();
  const bool redraw =
      view_.is_terminal() && (!view_.drawn() || now - last_draw_ >= kRedrawInterval);
  if (!tenth && !redraw) return;
  last_draw_ = now;
  move_to(progress);
  if (metrics != nullptr) {
    state_.losses.clear();
    for (const auto& [name, value] : metrics->values()) {
      if (value.defined()) state_.losses.emplace_back(name, value.item<double>());
    }
  }
  if (view_.is_terminal()) return draw();
  told_tenths_ = tenths(state_);
  view_.add_line(losses_text(state_));
}

void ProgressBar::on_evaluation(const TrainProgress& progress, const EvaluationResult& result) {
  move_to(progress);
  state_.evaluations.push_back({progress.position, result.return_mean, result.return_std});
  tell(evaluation_text(state_));
}

void ProgressBar::on_validation(const TrainProgress& progress, const ValidationMetrics& metrics) {
  move_to(progress);
  state_.validation.clear();
  metrics.metrics([&](const std::string& name, const std::optional<double>& value) {
    if (value) state_.validation.emplace_back(name.substr(name.find('_') + 1), *value);
  });
  tell(validation_text(state_));
}

// Prints a permanent line for an evaluation or a validation.
void ProgressBar::tell(const std::string& line) {
  told_tenths_ = tenths(state_) + 1;  // the next tenth needs no separate line
  view_.add_line(line);
  if (view_.is_terminal()) draw();
}

void ProgressBar::draw() { view_.draw(progress_lines(state_, view_.text())); }

}  // namespace rl_training
