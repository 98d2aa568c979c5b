#pragma once
#include <string>
#include <vector>

#include "rl_training/data/logged_steps.h"

namespace rl_training {

// The files of a directory that are read as one dataset: either all .npz files, or all .csv,
// .csv.gz and .tsv files. Sorted by name; numbers in names are compared by value. Empty if the
// directory contains neither kind or both kinds.
std::vector<std::string> files_to_join(const std::string& directory);

// Concatenates the steps of several files. An episode ends at the end of each file. Throws
// Error{data} that names the first file whose columns or actions differ from those of `parts[0]`.
LoggedSteps join_steps(const std::vector<LoggedSteps>& parts);

}  // namespace rl_training
