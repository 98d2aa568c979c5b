#pragma once
#include <string>
#include <vector>

#include "rl_training/data/logged_steps.h"

namespace rl_training {

// The files of a directory that are read as one dataset: either all .npz files, or all .csv,
// .csv.gz and .tsv files. Sorted by name; numbers in names are compared by value. Empty if the
// directory contains neither kind or both kinds.
std::vector<std::string> files_to_join(const std::string& directory);

// Concatenates the steps of several files. An episode ends at the end of each file. If a file has
// other columns than `parts[0]`, or discrete instead of continuous actions (or vice versa), throws
// Error{data} that names this file.
LoggedSteps join_steps(const std::vector<LoggedSteps>& parts);

}  // namespace rl_training
