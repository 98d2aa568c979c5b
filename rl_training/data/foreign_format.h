#pragma once
#include <string>

namespace rl_training {

// Names an unsupported format and how to convert it; "" if the file or directory is none of the
// formats known here (Parquet, Arrow, TFRecord and RLDS, pickles, images, ...).
std::string foreign_format(const std::string& path);

}  // namespace rl_training
