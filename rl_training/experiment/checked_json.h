#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace rl_training {

// Goes over untrusted JSON of a checkpoint without building anything: malformed text, a key that
// stands twice in one object, too deep nesting or too many keys throw Error{checkpoint} naming
// `file`. What passes can be parsed in time and memory that grow with its length only.
void check_json(std::string_view text, const std::string& file, size_t max_depth, size_t max_keys);

}  // namespace rl_training
