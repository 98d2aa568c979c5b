#pragma once
#include "rl_training/util/options.h"

namespace rl_training {

// Options that bound the log standard deviation of a Gaussian policy.
struct LogStdBounds {
  double min = -5.0, max = 2.0;

  void visit_options(OptionVisitor& options);
  void check() const;
};

}  // namespace rl_training
