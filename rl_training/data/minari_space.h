#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rl_training/util/error.h"
#include "rl_training/util/json.h"

namespace rl_training {

// An array of numbers inside an observation or action, as Minari stores it.
struct SpaceLeaf {
  std::string path;   // below "observations" or "actions", "" or "/position/_index_0"
  int64_t width = 0;  // values per step; < 0: as many as the data has
};

// Parses JSON as Python writes it: NaN, Infinity and -Infinity, which JSON has no words for, read
// as null. Not JSON: Error{data} with the line.
Json parse_python_json(std::string_view text, const ErrorPlace& place);

// The choices of a Discrete space; 0: another one. Choices that do not count from 0 are refused.
int64_t discrete_choices(const Json& space, const ErrorPlace& place);

// The leaves of a space (Box, Discrete, Dict, Tuple ...) in the order of its subspaces. Discrete
// ones count as one number; `continuous` refuses them.
std::vector<SpaceLeaf> flatten_space(const Json& space, bool continuous, const ErrorPlace& place);

}  // namespace rl_training
