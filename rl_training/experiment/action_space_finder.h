#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rl_training/data/transition_dataset.h"
#include "rl_training/experiment/dataset_source.h"

namespace rl_training {

// The action space without an environment: `action_low` and `action_high`, or the
// smallest and largest action of each column. Looks at datasets whose actions are in their own
// units; choices that no file states are read as some out of `kMostChoices`.
class ActionSpaceFinder {
 public:
  static constexpr int64_t kMostChoices = 1 << 16;

  void look_at(const TransitionDataset& dataset);
  // Bounds that come from the data give a line to `warn`. Error{config} if the keys do not fit
  // the data.
  Space space(const DatasetOptions& options,
              const std::function<void(const std::string&)>& warn) const;

 private:
  Space choices(const DatasetOptions& options,
                const std::function<void(const std::string&)>& warn) const;

  bool discrete_ = false;
  int64_t stated_choices_ = 0;  // by a file
  std::vector<double> low_, high_;
};

}  // namespace rl_training
