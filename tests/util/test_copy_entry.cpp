#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "rl_training/util/copy_entry.h"

namespace rl_training::test_copy_entry {
namespace {

// Every size up to the largest that is copied inline, and some larger ones. The bytes behind the
// copy must not change.
TEST(CopyEntry, CopiesExactlyTheseBytes) {
  std::vector<unsigned char> from(700), to(700);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 + 1);
  for (int64_t bytes = 0; bytes <= 600; ++bytes) {
    std::fill(to.begin(), to.end(), 0xEE);
    copy_entry(from.data() + 1, bytes, to.data() + 3);
    ASSERT_EQ(std::memcmp(from.data() + 1, to.data() + 3, static_cast<size_t>(bytes)), 0) << bytes;
    ASSERT_EQ(to[2], 0xEE);
    ASSERT_EQ(to[static_cast<size_t>(bytes) + 3], 0xEE) << bytes;
  }
}

}  // namespace
}  // namespace rl_training::test_copy_entry
