#pragma once
#include <chrono>
#include <string>

#include "cli/progress_text.h"
#include "cli/terminal_view.h"
#include "rl_training/runtime/callbacks.h"

namespace rl_training {

// Training as it proceeds, on stderr. A terminal gets a view of a few lines that is drawn over
// itself, with a line above it for each evaluation, which stays; elsewhere there is a line for each
// evaluation and, between them, for each tenth of the run.
class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Evaluations of earlier sessions of a resumed run.
  void start_with(std::vector<ProgressState::Evaluation> evaluations);
  // The hooks for Run::train; they refer to this object.
  Callbacks callbacks();
  // A line of text that does not run into the view.
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
  int64_t told_tenths_ = 0;  // of the run, in lines
  ProgressState state_;
};

}  // namespace rl_training
