#pragma once
#include <string>
#include <string_view>

namespace rl_training {

bool is_gzip(std::string_view bytes);

// Unpacks a gzip file, which may consist of several concatenated streams. Throws Error{data} that
// names `file` if the data is damaged or unpacks to more than 4 GiB.
std::string gunzip(std::string_view bytes, const std::string& file);

}  // namespace rl_training
