#pragma once
#include <string>
#include <vector>

#include "rl_training/data/inspect.h"

namespace rl_training {

// of_training: actions are in [-1, 1], as training uses them. unknown: actions are in the units of
// the file, and their bounds are not known.
enum class ActionUnits { of_training, unknown };

// Finds suspicious properties of data that can be loaded. If several rows have the same problem,
// one warning states their number and the first row. `report` contains the statistics of `steps`.
std::vector<DatasetWarning> check_dataset(const LoggedSteps& steps, const DatasetReport& report,
                                          const DatasetReadOptions& options, ActionUnits units);

}  // namespace rl_training
