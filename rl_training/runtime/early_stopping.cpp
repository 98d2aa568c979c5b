#include "rl_training/runtime/early_stopping.h"

namespace rl_training {

void EarlyStoppingOptions::visit_options(OptionVisitor& options) {
  options.group(
      "early_stopping", "stop when a metric no longer improves",
      [this](OptionVisitor& inner) {
        inner.text("metric", metric, "name of the metric to watch");
        inner.choice("mode", mode, {{"max", Mode::max}, {"min", Mode::min}},
                     "which direction is better");
        inner.integer("patience", patience, at_least(1),
                      "consecutive values without improvement before stopping");
        inner.number("min_delta", min_delta, at_least(0),
                     "smallest change that counts as an improvement");
        inner.integer("min_steps", min_steps, at_least(0),
                      "updates (online: environment steps) before it may stop");
        inner.number("target_value", target_value, any_number(), "stop when this value is reached");
      },
      &enabled);
}

bool EarlyStopping::observe(double value, int64_t update) {
  if (!options_.enabled) return false;
  const double sign = options_.mode == EarlyStoppingOptions::Mode::max ? 1.0 : -1.0;
  const bool better = !seen_ || sign * (value - best_) > options_.min_delta;
  if (better) {
    best_ = value;
    without_progress_ = 0;
  } else {
    ++without_progress_;
  }
  seen_ = true;
  const bool reached = options_.target_value && sign * value >= sign * *options_.target_value;
  stopped_ = update >= options_.min_steps && (reached || without_progress_ >= options_.patience);
  return stopped_;
}

void EarlyStopping::visit_state(StateVisitor& state) {
  state.scalar("seen", seen_);
  state.scalar("stopped", stopped_);
  state.scalar("best", best_);
  state.scalar("without_progress", without_progress_);
}

}  // namespace rl_training
