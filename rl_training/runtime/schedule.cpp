#include "rl_training/runtime/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rl_training {

void ScheduleSpec::visit_options(OptionVisitor& options) {
  options.group(
      "learning_rate_schedule", "multiplier of the learning rate over the run",
      [this](OptionVisitor& inner) {
        inner.choice(
            "type", type,
            {{"constant", Type::constant}, {"linear", Type::linear}, {"cosine", Type::cosine}},
            "shape of the schedule");
        inner.number("start", start, at_least(0), "multiplier at the beginning");
        inner.number("end", end, at_least(0), "multiplier at the end (unused by constant)");
      },
      nullptr, "type");
  options.integer("warmup_steps", warmup_steps, at_least(0),
                  "updates over which the learning rate rises linearly to its value");
}

double resolve_schedule_value(const ScheduleSpec& spec, int64_t step, int64_t total_steps) {
  if (step < spec.warmup_steps) {
    return spec.start * static_cast<double>(step + 1) / static_cast<double>(spec.warmup_steps);
  }
  if (spec.type == ScheduleSpec::Type::constant) return spec.start;
  const auto span = static_cast<double>(std::max<int64_t>(1, total_steps - spec.warmup_steps));
  const double progress =
      std::clamp(static_cast<double>(step - spec.warmup_steps) / span, 0.0, 1.0);
  if (spec.type == ScheduleSpec::Type::linear)
    return spec.start + (spec.end - spec.start) * progress;
  return spec.end + (spec.start - spec.end) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace rl_training
