#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace rl_training {

// Scans untrusted JSON of a checkpoint without building values. Malformed text, duplicate keys, too
// deep nesting or too many keys throw Error{checkpoint} naming `file`. Accepted text can be parsed
// in linear time and memory.
void check_json(std::string_view text, const std::string& file, size_t max_depth, size_t max_keys);

}  // namespace rl_training
