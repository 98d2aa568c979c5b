#pragma once

#include <cerrno>
#include <cstdint>
#include <string_view>

namespace rl_training {

// Repeats a system call as long as signals interrupt it (EINTR). On network file systems, this can
// happen to every call that waits, including open and fsync.
template <class Call>
auto retry_interrupted(const Call& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// Writes all bytes to the file, starting at `offset`. Returns false on failure; errno then contains
// the reason.
bool write_all(int descriptor, std::string_view bytes, uint64_t offset);

}  // namespace rl_training
