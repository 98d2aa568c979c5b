#pragma once
#include <map>
#include <optional>
#include <vector>

#include "rl_training/sweep/sweep_spec.h"

namespace rl_training {

// Ask/tell interface to the trials of a sweep, for a program that trains them itself.
class Search {
 public:
  explicit Search(SweepSpec spec);

  struct Question {
    size_t trial = 0;
    std::optional<int64_t> pause_at;  // position to train to; none: the end
  };
  // The next trial of the current round; nothing if all values have been reported, or while values
  // of the round are missing.
  std::optional<Question> ask();
  // Adds a trial with settings from the caller. Throws Error{config} with halving.
  Question ask(const Settings& settings);
  // Throws Error{config} for a trial that was not asked for. A trial without a value ranks last.
  void tell(size_t trial, std::optional<double> value);

  const SweepSpec& spec() const { return spec_; }
  const Trial& trial(size_t number) const { return trials_[number]; }
  std::optional<double> value(size_t trial) const;
  // The trial with the best value among those trained longest.
  std::optional<size_t> best() const;

 private:
  SweepSpec spec_;
  std::vector<Trial> trials_;
  std::vector<SweepRound> past_;
  SweepRound round_;
  size_t asked_ = 0;                              // of the round's trials
  std::map<size_t, std::optional<double>> told_;  // of the round
};

}  // namespace rl_training
