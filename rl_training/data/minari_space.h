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
  int64_t width = 0;  // values per step; < 0: determined by the data
};

// Parses JSON as Python writes it: NaN, Infinity and -Infinity, which are not JSON, become null.
// Throws Error{data} with the line if the text is not valid.
Json parse_python_json(std::string_view text, const ErrorPlace& place);

// The number of values of a Discrete space; 0 for other spaces. Throws if its values do not start
// at 0.
int64_t discrete_choices(const Json& space, const ErrorPlace& place);

// The leaves of a space (Box, Discrete, Dict, Tuple ...) in the order of its subspaces. A Discrete
// space counts as one number, or is rejected if `continuous`.
std::vector<SpaceLeaf> flatten_space(const Json& space, bool continuous, const ErrorPlace& place);

}  // namespace rl_training
