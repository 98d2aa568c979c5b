#include "rl_training/util/file_calls.h"

#include <unistd.h>

namespace rl_training {

bool write_all(int descriptor, std::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = retry_interrupted([&] {
      return ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    });
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return true;
}

}  // namespace rl_training
