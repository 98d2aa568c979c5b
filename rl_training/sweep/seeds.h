#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rl_training {

// "0-9,12" as 0, 1, ..., 9, 12. A seed that comes twice, text that is no seed or more than 10,000
// of them: Error{config} with `key` in its place.
std::vector<int64_t> parse_seeds(const std::string& text, const std::string& key);

}  // namespace rl_training
