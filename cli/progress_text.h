#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rl_training {

// Progress of a run that is training.
struct ProgressState {
  struct Evaluation {
    int64_t step = 0;
    double mean = 0, std = 0;
  };
  int64_t position = 0, length = 0;
  double rate = 0;                                     // steps per second; 0 if not yet known
  std::vector<std::pair<std::string, double>> losses;  // losses and metrics of the last update
  std::vector<Evaluation> evaluations;
  std::vector<std::pair<std::string, double>> validation;  // latest values; names have no prefix

  const Evaluation* best() const;  // null if there are no evaluations
};

// Capabilities of a terminal.
struct TerminalText {
  size_t width = 80;
  bool unicode = true;
};

// The view that is redrawn in place: at most three lines. Each line is shorter than the width of
// the terminal, because a wrapped line could not be erased.
std::vector<std::string> progress_lines(const ProgressState& state, const TerminalText& terminal);

// The line of one of several runs, shorter than the width of the terminal:
// "seed 3   42%  [####------]  420/1000  310/s  0:02 left  eval -231.4".
std::string run_line(const std::string& name, size_t name_width, const ProgressState& state,
                     const TerminalText& terminal);

// The text after an evaluation: "step 40/60  1834/s  eval return -231.4 +- 12.0  best".
std::string evaluation_text(const ProgressState& state);
// The text after a validation on held-out episodes:
// "step 40/60  1834/s  validation  td_error 0.024  action_error 0.310".
// Wraps the line at 80 columns.
std::string validation_text(const ProgressState& state);
// The text between evaluations: "step 40/60  1834/s  critic_loss 12.345".
std::string losses_text(const ProgressState& state);

// A bar chart of the latest `width` values, one column per value. Bars have eight possible heights.
// The newest value is on the right.
std::string sparkline(std::span<const double> values, size_t width, bool unicode);

// "0:07", "12:30", "3:00:01"
std::string duration_text(double seconds);

}  // namespace rl_training
