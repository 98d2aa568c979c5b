#pragma once
#include <nlohmann/json.hpp>

namespace rl_training {

// Keys keep the order in which they were added.
using Json = nlohmann::ordered_json;

// A number for JSON; NaN and infinities, which JSON has no word for, become null.
Json json_number(double value);

}  // namespace rl_training
