#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rl_training/data/transition_dataset.h"
#include "rl_training/experiment/dataset_source.h"

namespace rl_training {

// The action space without an environment: `action_low` and `action_high`, or the
// smallest and largest action of each column. Examines datasets whose actions are in the units of
// the file. If no file states the number of discrete actions, they are read as if there were
// `kMostChoices`.
class ActionSpaceFinder {
 public:
  static constexpr int64_t kMostChoices = 1 << 16;

  void look_at(const TransitionDataset& dataset);
  // Bounds taken from the data cause a warning. Throws Error{config} if the keys do not match the
  // data.
  Space space(const DatasetOptions& options,
              const std::function<void(const std::string&)>& warn) const;

 private:
  Space choices(const DatasetOptions& options,
                const std::function<void(const std::string&)>& warn) const;

  bool discrete_ = false;
  int64_t stated_choices_ = 0;  // number of discrete actions that a file states
  std::vector<double> low_, high_;
};

}  // namespace rl_training
