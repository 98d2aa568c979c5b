#pragma once
#include <string>

namespace rl_training {

// Returns a message that names the unsupported format of a file or directory and explains how to
// convert it. Examples are Parquet, Arrow, RLDS, pickles and images. Returns "" for other formats.
std::string foreign_format(const std::string& path);

}  // namespace rl_training
