#pragma once
#include <string>
#include <vector>

#include "rl_training/data/inspect.h"

namespace rl_training {

// Finds suspicious properties of data that can be loaded. Each finding is reported once, with the
// number of cases and the first row. `report` has the values that inspect_steps computed.
std::vector<DatasetWarning> check_dataset(const LoggedSteps& steps, const DatasetReport& report,
                                          const DatasetReadOptions& options);

}  // namespace rl_training
