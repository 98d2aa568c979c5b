#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rl_training/util/error.h"
#include "rl_training/util/json.h"

namespace rl_training {

// An array of numbers that is one part of an observation or action, as Minari stores it.
struct SpaceLeaf {
  std::string path;   // below "observations" or "actions": "" or, for example, "/position/_index_0"
  int64_t width = 0;  // values per step; negative if the data determines the width
};

// Parses JSON as Python writes it. Python writes NaN, Infinity and -Infinity, which are not JSON;
// they become null. Throws Error{data} if the text is not valid. The error states the line if
// `place` has no key.
Json parse_python_json(std::string_view text, const ErrorPlace& place);

// Returns the number of values of a Discrete space, or 0 for other spaces. Throws Error{data} if
// this number is invalid or the values do not start at 0.
int64_t discrete_choices(const Json& space, const ErrorPlace& place);

// Returns the leaves of a space (Box, Discrete, Dict, Tuple, ...) in the order of its subspaces. A
// Discrete space is a leaf of width 1. If `continuous` is true, discrete spaces are rejected.
std::vector<SpaceLeaf> flatten_space(const Json& space, bool continuous, const ErrorPlace& place);

}  // namespace rl_training
