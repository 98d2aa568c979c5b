#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "rl_training/util/file_calls.h"

namespace rl_training {
namespace {

TEST(RetryInterrupted, RepeatsOnlyInterruptedCalls) {
  int calls = 0;
  const auto fail_with = [&](int code, int times) {
    return retry_interrupted([&] {
      errno = code;
      return ++calls <= times ? -1 : 7;
    });
  };
  EXPECT_EQ(fail_with(EINTR, 3), 7);
  EXPECT_EQ(calls, 4);
  calls = 0;
  EXPECT_EQ(fail_with(EIO, 3), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(calls, 1);
}

TEST(WriteAll, WritesAtTheOffsetAndReportsErrors) {
  const int file = ::memfd_create("test", 0);
  ASSERT_GE(file, 0);
  EXPECT_TRUE(write_all(file, "abcdef", 0));
  EXPECT_TRUE(write_all(file, "XY", 2));
  std::array<char, 8> bytes{};
  EXPECT_EQ(::pread(file, bytes.data(), bytes.size(), 0), 6);
  EXPECT_STREQ(bytes.data(), "abXYef");
  ::close(file);
  EXPECT_FALSE(write_all(file, "a", 0));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace rl_training
