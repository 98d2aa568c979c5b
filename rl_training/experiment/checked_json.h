#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace rl_training {

// Scans the untrusted JSON of a checkpoint without building values. Throws Error{checkpoint}, which
// names `file`, for malformed text, duplicate keys, more than `max_depth` levels or more than
// `max_keys` keys. Text that passes this check can be parsed in linear time and memory.
void check_json(std::string_view text, const std::string& file, size_t max_depth, size_t max_keys);

}  // namespace rl_training
