#pragma once
#include <chrono>
#include <string>

#include "cli/progress_text.h"
#include "cli/terminal_view.h"
#include "rl_training/runtime/callbacks.h"

namespace rl_training {

// Shows the progress of training on stderr. On a terminal, a view of a few lines is redrawn in
// place, with a permanent line above it for each evaluation or validation. Otherwise a line is
// printed for each evaluation or validation and for each tenth of the run.
class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Adds the evaluations of earlier sessions of a resumed run.
  void start_with(std::vector<ProgressState::Evaluation> evaluations);
  // Callbacks for Run::train. They refer to this object, which must outlive the training.
  Callbacks callbacks();
  // Prints a line above the view.
  void note(const std::string& line);

 private:
  void on_step(const TrainProgress& progress, const Metrics* metrics);
  void on_evaluation(const TrainProgress& progress, const EvaluationResult& result);
  void on_validation(const TrainProgress& progress, const ValidationMetrics& metrics);
  void tell(const std::string& line);
  void move_to(const TrainProgress& progress);
  void draw();

  using Clock = std::chrono::steady_clock;
  bool quiet_;
  TerminalView view_;
  Clock::time_point started_, last_draw_;
  int64_t first_position_ = 0;
  int64_t told_tenths_ = 0;  // tenths of the run that need no further line
  ProgressState state_;
};

}  // namespace rl_training
