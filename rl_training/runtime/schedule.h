#pragma once
#include <cstdint>

#include "rl_training/util/options.h"

namespace rl_training {

// A multiplier of the learning rate over a run. It first rises linearly to `start` over
// `warmup_steps` updates. It is then constant, or changes from `start` to `end` linearly or along
// half a cosine.
struct ScheduleSpec {
  enum class Type { constant, linear, cosine };
  Type type = Type::constant;
  double start = 1.0, end = 0.0;
  int64_t warmup_steps = 0;

  void visit_options(OptionVisitor& options);
};

// The multiplier for update `step` (0-based) of `total_steps`.
double resolve_schedule_value(const ScheduleSpec& spec, int64_t step, int64_t total_steps);

}  // namespace rl_training
