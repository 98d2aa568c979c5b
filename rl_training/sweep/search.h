#pragma once
#include <map>
#include <optional>
#include <vector>

#include "rl_training/sweep/sweep_spec.h"

namespace rl_training {

// The trials of a sweep one by one, for a program that trains them itself.
class Search {
 public:
  explicit Search(SweepSpec spec);

  struct Question {
    size_t trial = 0;
    std::optional<int64_t> pause_at;  // how far to train it; none: to the end
  };
  // The next trial of the current round; nothing when all values are reported, or while the round
  // waits for some.
  std::optional<Question> ask();
  // One more trial, with settings from elsewhere. Error{config} with halving.
  Question ask(const Settings& settings);
  // Error{config} for a trial that was not asked for. Without a value it is behind all others.
  void tell(size_t trial, std::optional<double> value);

  const SweepSpec& spec() const { return spec_; }
  const Trial& trial(size_t number) const { return trials_[number]; }
  std::optional<double> value(size_t trial) const;
  // Of those that went furthest, the one with the best value.
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
