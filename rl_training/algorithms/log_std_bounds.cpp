#include "rl_training/algorithms/log_std_bounds.h"

#include "rl_training/util/error.h"

namespace rl_training {

void LogStdBounds::visit_options(OptionVisitor& options) {
  options.number("log_std_min", min, between(-20, 20),
                 "lower bound of the policy's log standard deviation");
  options.number("log_std_max", max, between(-20, 20),
                 "upper bound of the policy's log standard deviation");
}

void LogStdBounds::check() const {
  if (min < max) return;
  throw Error(
      ErrorKind::config, {"", 0, "log_std_min"},
      "not below log_std_max (expected < " + Json(max).dump() + ", got " + Json(min).dump() + ")");
}

}  // namespace rl_training
