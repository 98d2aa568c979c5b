#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "rl_training/util/options.h"
#include "rl_training/util/state.h"

namespace rl_training {

struct EarlyStoppingOptions {
  bool enabled = false;
  std::string metric = "eval_return_mean";
  enum class Mode { max, min };
  Mode mode = Mode::max;
  int64_t patience = 10;
  double min_delta = 0.0;
  int64_t min_steps = 0;
  std::optional<double> target_value;

  void visit_options(OptionVisitor& options);
};

// Stops if the metric has not improved by more than `min_delta` in `patience` consecutive
// observations, or has reached `target_value`, but never before `min_steps` updates.
class EarlyStopping {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options) : options_(std::move(options)) {}

  const EarlyStoppingOptions& options() const { return options_; }
  // True when training should stop now.
  bool observe(double value, int64_t update);
  bool stopped() const { return stopped_; }
  void visit_state(StateVisitor& state);

 private:
  EarlyStoppingOptions options_;
  bool seen_ = false, stopped_ = false;
  double best_ = 0.0;
  int64_t without_progress_ = 0;
};

}  // namespace rl_training
