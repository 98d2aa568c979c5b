#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace rl_training {

// Keys keep the order in which they were added.
using Json = nlohmann::ordered_json;

// A number for JSON; NaN and infinities, which JSON has no notation for, become null.
Json json_number(double value);

struct JsonLimits {
  int64_t depth = 32;    // printing, copying and comparing a value recurse once a level
  int64_t keys = 10000;  // an object looks through its earlier keys for each new one
};

// Whether text that comes from others may be parsed: what it would cost, not whether it is valid. A
// NUL may not be in it: the parser takes it for the end and would hide what follows.
bool json_within(std::string_view text, const JsonLimits& limits = {});

// Parses text that comes from others. What is malformed or beyond the limits gives a value that
// is_discarded(), which is of no type.
Json parse_untrusted_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace rl_training
