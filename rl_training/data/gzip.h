#pragma once
#include <string>
#include <string_view>

namespace rl_training {

bool is_gzip(std::string_view bytes);

// The content of a gzip file, of one or several members. Throws Error{data} naming `file` if it is
// damaged or larger than 4 GiB.
std::string gunzip(std::string_view bytes, const std::string& file);

}  // namespace rl_training
