#include "rl_training/util/state.h"

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

// With this limit, the sum of two counters does not overflow, and a double represents each counter
// exactly.
constexpr int64_t kHighestCounter = int64_t{1} << 53;

}  // namespace

void StateVisitor::scalar(std::string_view name, int64_t& value, int64_t lowest) {
  array(name, DType::i64, {}, &value);
  if (value >= lowest && value <= kHighestCounter) return;
  throw Error(ErrorKind::checkpoint, {"", 0, full_name(name)},
              "out of range (expected " + std::to_string(lowest) + " to " +
                  std::to_string(kHighestCounter) + ", got " + std::to_string(value) + ")");
}

}  // namespace rl_training
