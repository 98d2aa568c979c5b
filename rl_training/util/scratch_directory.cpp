#include "rl_training/util/scratch_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "rl_training/util/error.h"

namespace rl_training {

ScratchDirectory::ScratchDirectory(const std::string& parent) {
  const auto place = parent.empty() ? std::filesystem::temp_directory_path().string() : parent;
  path_ = place + "/rl_training_XXXXXX";  // mkdtemp replaces the Xs
  if (::mkdtemp(path_.data()) == nullptr) {
    throw Error(ErrorKind::io, {path_, 0, ""}, std::string("cannot make: ") + std::strerror(errno));
  }
}

ScratchDirectory::~ScratchDirectory() {
  if (released_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace rl_training
