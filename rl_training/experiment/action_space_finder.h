#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rl_training/data/transition_dataset.h"
#include "rl_training/experiment/dataset_source.h"

namespace rl_training {

// Derives the action space of a run without an environment. The keys `action_low` and `action_high`
// set the bounds. If they are missing, the bounds are -1 and 1 for `dataset_actions: unit`, and
// otherwise the smallest and largest value of each action column. The datasets passed to `look_at`
// must have actions in the units of the file. If a file does not state how many discrete actions
// there are, it must be read as if there were `kMostChoices`.
class ActionSpaceFinder {
 public:
  static constexpr int64_t kMostChoices = 1 << 16;

  void look_at(const TransitionDataset& dataset);
  // Warns if bounds come from the data. Throws Error{config} if `action_low` or `action_high` does
  // not match the data.
  Space space(const DatasetOptions& options,
              const std::function<void(const std::string&)>& warn) const;

 private:
  Space choices(const DatasetOptions& options,
                const std::function<void(const std::string&)>& warn) const;

  bool discrete_ = false;
  int64_t stated_choices_ = 0;  // number of discrete actions, if a file states it
  std::vector<double> low_, high_;
};

}  // namespace rl_training
