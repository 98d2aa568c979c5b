#pragma once
#include <string>
#include <vector>

#include "rl_training/data/inspect.h"

namespace rl_training {

// of_training: actions are in [-1, 1], as training uses them. unknown: actions are in the units of
// the file, and their bounds are not known.
enum class ActionUnits { of_training, unknown };

// Finds suspicious properties of data that can be loaded. Each finding is reported once, with the
// number of cases and the first row. `report` contains the statistics from inspect_steps.
std::vector<DatasetWarning> check_dataset(const LoggedSteps& steps, const DatasetReport& report,
                                          const DatasetReadOptions& options, ActionUnits units);

}  // namespace rl_training
