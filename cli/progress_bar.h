#pragma once
#include <chrono>
#include <string>

#include "rl_training/runtime/callbacks.h"

namespace rl_training {

// Training as it goes, on stderr: a bar that is drawn over itself when that is a terminal, else one
// line for each evaluation.
class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();  // leaves no bar behind
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // The hooks for Run::train; they refer to this object.
  Callbacks callbacks();
  // A line of text that does not run into the bar.
  void note(const std::string& line);

 private:
  void on_update(const TrainProgress& progress);
  void on_evaluation(const TrainProgress& progress, const EvaluationResult& result);
  void draw(const TrainProgress& progress);
  void erase();
  double rate(const TrainProgress& progress) const;  // updates a second; 0: not known yet

  using Clock = std::chrono::steady_clock;
  bool quiet_, terminal_;
  bool drawn_ = false;
  Clock::time_point started_, last_draw_;
  int64_t first_update_ = 0;
  std::string evaluation_;  // the last one, as text
};

}  // namespace rl_training
