#pragma once
#include <string>

namespace rl_training {

// What a file or directory is that we do not read, and how to convert it; "" if it is none of
// the formats known here (Parquet, Arrow, TFRecord and RLDS, pickles, images, ...).
std::string foreign_format(const std::string& path);

}  // namespace rl_training
