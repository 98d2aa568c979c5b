#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rl_training {

// Progress of a run in training.
struct ProgressState {
  struct Evaluation {
    int64_t step = 0;
    double mean = 0, std = 0;
  };
  int64_t position = 0, length = 0;
  double rate = 0;                                     // steps per second; 0: not known yet
  std::vector<std::pair<std::string, double>> losses;  // of the last update
  std::vector<Evaluation> evaluations;
  std::vector<std::pair<std::string, double>> validation;  // latest values, without their prefix

  const Evaluation* best() const;  // null without one
};

// Capabilities of a terminal.
struct TerminalText {
  size_t width = 80;
  bool unicode = true;
};

// The view that is redrawn in place: at most three lines, each shorter than the width of the
// terminal, because a wrapped line could not be erased.
std::vector<std::string> progress_lines(const ProgressState& state, const TerminalText& terminal);

// One of several runs: "seed 3   42%  ####------  420/1000  310/s  0:02 left  eval -231.4",
// truncated to less than the width of the terminal.
std::string run_line(const std::string& name, size_t name_width, const ProgressState& state,
                     const TerminalText& terminal);

// "step 40/60 1834/s eval return -231.4 +- 12.0 best" after an evaluation.
std::string evaluation_text(const ProgressState& state);
// "step 40/60  1834/s  validation  td_error 0.024  action_error 0.310" on held-out episodes; what
// does not fit into 80 columns follows on a second line.
std::string validation_text(const ProgressState& state);
// "step 40/60  1834/s  critic_loss 12.345" between evaluations.
std::string losses_text(const ProgressState& state);

// A bar chart with eight heights of the latest `width` values, the newest on the right.
std::string sparkline(std::span<const double> values, size_t width, bool unicode);

// "0:07", "12:30", "3:00:01"
std::string duration_text(double seconds);

}  // namespace rl_training
