#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rl_training {

// What is known of a run while it is trained.
struct ProgressState {
  struct Evaluation {
    int64_t step = 0;
    double mean = 0, std = 0;
  };
  int64_t position = 0, length = 0;
  double rate = 0;                                     // steps a second; 0: not known yet
  std::vector<std::pair<std::string, double>> losses;  // of the last update
  std::vector<Evaluation> evaluations;
  std::vector<std::pair<std::string, double>> validation;  // the newest, without their prefix

  const Evaluation* best() const;  // null without one
};

// How a terminal takes text.
struct TerminalText {
  size_t width = 80;
  bool unicode = true;
};

// The view that is drawn over itself: at most three lines, each shorter than the terminal is wide,
// since a wrapped line could not be erased.
std::vector<std::string> progress_lines(const ProgressState& state, const TerminalText& terminal);

// One of several runs: "seed 3   42%  ####------  420/1000  310/s  0:02 left  eval -231.4", as much
// of it as is shorter than the terminal is wide.
std::string run_line(const std::string& name, size_t name_width, const ProgressState& state,
                     const TerminalText& terminal);

// "step 40/60  1834/s  eval return -231.4 +- 12.0  best" of an evaluation just made.
std::string evaluation_text(const ProgressState& state);
// "step 40/60  1834/s  validation td_error 0.024  action_error 0.310" on episodes held out.
std::string validation_text(const ProgressState& state);
// "step 40/60  1834/s  critic_loss 12.345" between evaluations.
std::string losses_text(const ProgressState& state);

// Values as bars of eight heights, the newest at the right; at most `width` of them.
std::string sparkline(std::span<const double> values, size_t width, bool unicode);

// "0:07", "12:30", "3:00:01"
std::string duration_text(double seconds);

}  // namespace rl_training
