#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace rl_training {

// Keys keep the order in which they were added.
using Json = nlohmann::ordered_json;

// A number for JSON; NaN and infinities, which JSON cannot express, become null.
Json json_number(double value);

struct JsonLimits {
  int64_t depth = 32;    // printing, copying and comparing a value are recursive
  int64_t keys = 10000;  // inserting a key searches all earlier keys of an object
};

// Whether untrusted text may be parsed at acceptable cost; does not check validity. A NUL is not
// allowed, because the parser would ignore everything after it.
bool json_within(std::string_view text, const JsonLimits& limits = {});

// Parses untrusted text. If it is malformed or exceeds the limits, the result is_discarded().
Json parse_untrusted_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace rl_training
