#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rl_training {

// Converts "0-9,12" to 0, 1, ..., 9, 12. Throws Error{config} with `key` for duplicate seeds,
// invalid text or more than 10,000 seeds.
std::vector<int64_t> parse_seeds(const std::string& text, const std::string& key);

}  // namespace rl_training
