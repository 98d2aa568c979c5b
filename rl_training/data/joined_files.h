#pragma once
#include <string>
#include <vector>

#include "rl_training/data/logged_steps.h"

namespace rl_training {

// The files of a directory that are read as one dataset: all .npz, or all .csv (.csv.gz, .tsv), in
// the order of their names, numbers by their value. None of them, or both kinds: empty.
std::vector<std::string> files_to_join(const std::string& directory);

// The steps of several files one after the other; each file ends an episode. Files that do not fit
// each other: Error{data} naming the second one.
LoggedSteps join_steps(const std::vector<LoggedSteps>& parts);

}  // namespace rl_training
