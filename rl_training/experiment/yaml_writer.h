#pragma once
#include <string>

#include "rl_training/util/json.h"

namespace rl_training {

// Writes readable YAML: one line per map entry, lists of plain values as [a, b]. read_yaml restores
// the same values: doubles retain all their bits, and text that looks like another type is quoted.
std::string write_yaml(const Json& value);

}  // namespace rl_training
