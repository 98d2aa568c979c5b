#include "rl_training/util/json.h"

#include <cmath>

namespace rl_training {

Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

bool json_within(std::string_view text, const JsonLimits& limits) {
  int64_t depth = 0, keys = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') return false;
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > limits.depth) return false;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ':' && ++keys > limits.keys) {
      return false;
    }
  }
  return true;
}

Json parse_untrusted_json(std::string_view text, const JsonLimits& limits) {
  if (!json_within(text, limits)) return Json(Json::value_t::discarded);
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

}  // namespace rl_training
