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

// Stops training if the metric has not improved by more than `min_delta` in `patience` consecutive
// values, or if it has reached `target_value`. Never stops before the position `min_steps` of the
// run.
class EarlyStopping {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options) : options_(std::move(options)) {}

  const EarlyStoppingOptions& options() const { return options_; }
  // Returns whether training should stop now. `update` is the position of the run
  // (Trainer::position).
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
