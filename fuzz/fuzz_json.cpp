// JSON from a stranger (observations, metadata, texts of a checkpoint): a value, or one Error.
#include <cstdlib>
#include <string>

#include "rl_training/util/error.h"
#include "rl_training/util/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rl_training;
  try {
    const Json value = parse_untrusted_json({reinterpret_cast<const char*>(data), size});
    const auto text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (parse_untrusted_json(text).type() != value.type()) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
