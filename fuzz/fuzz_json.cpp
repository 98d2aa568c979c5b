// Parses untrusted JSON (observations, metadata, text in a checkpoint). The result must be a value
// or an Error.
#include <cstdlib>
#include <string>

#include "cli/observation_line.h"
#include "rl_training/util/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rl_training;
  const std::string line(reinterpret_cast<const char*>(data), size);
  try {
    const Json value = parse_untrusted_json(line);
    const auto text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    // Compare the values but not their types: -0 is written as 0, which is read as an unsigned
    // integer.
    if (!value.is_discarded() && parse_untrusted_json(text) != value) std::abort();
    const auto step = read_observation_line(line, 2, {"stdin", 1, ""});
    if (step.obs.size() != 2) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
