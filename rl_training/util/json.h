#pragma once
#include <nlohmann/json.hpp>
#include <string_view>

namespace rl_training {

// JSON in which keys remain in the order of insertion.
using Json = nlohmann::ordered_json;

// Converts a number to JSON. NaN and infinities become null, because JSON cannot express them.
Json json_number(double value);

struct JsonLimits {
  // Largest nesting depth. The limit protects the stack, because printing, copying and comparing
  // are recursive.
  int64_t depth = 32;
  // Largest number of keys in the whole text. The limit bounds the time, because inserting a key
  // into an object searches all keys of that object.
  int64_t keys = 10000;
};

// Whether untrusted text is within the limits, so that it can be parsed at acceptable cost. Does
// not check that the JSON is valid. Rejects NUL bytes, because the parser ignores all text after a
// NUL.
bool json_within(std::string_view text, const JsonLimits& limits = {});

// Parses untrusted text. If the text is malformed or exceeds the limits, is_discarded() is true for
// the result.
Json parse_untrusted_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace rl_training
