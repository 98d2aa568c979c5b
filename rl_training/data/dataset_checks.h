#pragma once
#include <string>
#include <vector>

#include "rl_training/data/inspect.h"

namespace rl_training {

// of_training: actions are read as training uses them, in [-1, 1]. unknown: they are in the units
// of the file, whose bounds are not stated.
enum class ActionUnits { of_training, unknown };

// Finds suspicious properties of data that can be loaded. Each finding is reported once, with the
// number of cases and the first row. `report` has the values that inspect_steps computed.
std::vector<DatasetWarning> check_dataset(const LoggedSteps& steps, const DatasetReport& report,
                                          const DatasetReadOptions& options, ActionUnits units);

}  // namespace rl_training
