#pragma once
#include <string>
#include <vector>

#include "rl_training/data/logged_steps.h"

namespace rl_training {

// The files of a directory that are read as one dataset: all .npz, or all .csv (.csv.gz, .tsv),
// ordered by name, with numbers compared by value. Empty if there are none, or files of both kinds.
std::vector<std::string> files_to_join(const std::string& directory);

// Concatenates the steps of several files; each file ends an episode. Throws Error{data} naming the
// second file if two files do not match.
LoggedSteps join_steps(const std::vector<LoggedSteps>& parts);

}  // namespace rl_training
