#include "rl_training/sweep/search.h"

#include <algorithm>

namespace rl_training {

Search::Search(SweepSpec spec) : spec_(std::move(spec)), trials_(make_trials(spec_)) {
  round_ = next_round(round_rules(spec_, trials_), past_);
}

std::optional<Search::Question> Search::ask() {
  if (asked_ == round_.trials.size()) return std::nullopt;
  return Question{round_.trials[asked_++], round_.pause_at};
}

Search::Question Search::ask(const Settings& settings) {
  if (spec_.halving.used) {
    throw Error(ErrorKind::config, {spec_.file, 0, "halving"},
                "compares only the trials of the file (expected no settings from the caller)");
  }
  trials_.push_back(make_trial(spec_, trials_.size(), settings));
  round_.trials.insert(round_.trials.begin() + static_cast<ptrdiff_t>(asked_), trials_.size() - 1);
  return *ask();
}

void Search::tell(size_t trial, std::optional<double> value) {
  const auto end = round_.trials.begin() + static_cast<ptrdiff_t>(asked_);
  if (std::find(round_.trials.begin(), end, trial) == end || told_.contains(trial)) {
    throw Error(ErrorKind::config, {spec_.file, 0, "trial"},
                "not expected (expected a trial returned by ask() and not told yet; got " +
                    std::to_string(trial) + ")");
  }
  told_[trial] = value;
  if (told_.size() < round_.trials.size() || !round_.pause_at) return;
  for (const size_t each : round_.trials) round_.values.push_back(told_.at(each));
  past_.push_back(std::move(round_));
  round_ = next_round(round_rules(spec_, trials_), past_);
  asked_ = 0;
  told_.clear();
}

std::optional<double> Search::value(size_t trial) const {
  const auto found = told_.find(trial);
  return found == told_.end() ? std::nullopt : found->second;
}

std::optional<size_t> Search::best() const {
  TrialValues values;
  for (const size_t trial : round_.trials) values.push_back(value(trial));
  const auto order = ranked(round_.trials, values, spec_.mode);
  if (order.empty() || !value(order.front())) return std::nullopt;
  return order.front();
}

}  // namespace rl_training
