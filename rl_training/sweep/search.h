#pragma once
#include <map>
#include <optional>
#include <vector>

#include "rl_training/sweep/sweep_spec.h"

namespace rl_training {

// Ask/tell interface to the trials of a sweep, for a program that trains the trials itself.
class Search {
 public:
  explicit Search(SweepSpec spec);

  struct Question {
    size_t trial = 0;
    std::optional<int64_t> pause_at;  // position to train to; nullopt: the end of the run
  };
  // Returns the next trial of the current round. Returns nullopt if all trials of the round have
  // been returned; a new round starts only when all values of the current round have been reported.
  std::optional<Question> ask();
  // Adds a trial with settings from the caller. Throws Error{config} if the sweep uses halving.
  Question ask(const Settings& settings);
  // Reports the value of a trial. A trial without a value ranks last. Throws Error{config} for a
  // trial that ask() has not returned in the current round, or whose value was already reported.
  void tell(size_t trial, std::optional<double> value);

  const SweepSpec& spec() const { return spec_; }
  const Trial& trial(size_t number) const { return trials_[number]; }
  std::optional<double> value(size_t trial) const;
  // The trial with the best value in the current round; nullopt if no value has been reported yet.
  std::optional<size_t> best() const;

 private:
  SweepSpec spec_;
  std::vector<Trial> trials_;
  std::vector<SweepRound> past_;
  SweepRound round_;
  size_t asked_ = 0;  // number of trials of the round that ask() has returned
  std::map<size_t, std::optional<double>> told_;  // values of the round so far, by trial
};

}  // namespace rl_training
