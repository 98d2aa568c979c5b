#include <gtest/gtest.h>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

TEST(Error, NamesThePlaceInOneLine) {
  const Error error(ErrorKind::config, {"a/b.yaml", 12, "algo_kwargs.gamma"}, "out of range");
  EXPECT_STREQ(error.what(), "a/b.yaml:12: algo_kwargs.gamma: out of range");
  EXPECT_EQ(error.message(), "out of range");
  EXPECT_EQ(error.place().file, "a/b.yaml");
  EXPECT_EQ(error.place().line, 12);
  EXPECT_EQ(error.place().key, "algo_kwargs.gamma");
}

TEST(Error, LeavesOutWhatIsUnknown) {
  EXPECT_STREQ(Error(ErrorKind::data, "broken").what(), "broken");
  EXPECT_STREQ(Error(ErrorKind::data, {"f", 0, ""}, "broken").what(), "f: broken");
  EXPECT_STREQ(Error(ErrorKind::data, {"f", 0, "k"}, "broken").what(), "f: k: broken");
  EXPECT_STREQ(Error(ErrorKind::data, {"", 3, "k"}, "broken").what(), "k: broken");
}

TEST(Error, StaysOnOneLineWithoutTerminalEscapes) {
  const Error error(ErrorKind::data, {"f\nile", 0, "k\x1b[2J"}, "a\r\nb\tc\x7f é");
  EXPECT_STREQ(error.what(), R"(f\u000aile: k\u001b[2J: a\u000d\u000ab\u0009c\u007f é)");
  EXPECT_EQ(error.message(), "a\r\nb\tc\x7f é");
}

TEST(Error, KindsAreExitCodes) {
  const auto code = [](ErrorKind kind) { return Error(kind, "x").exit_code(); };
  EXPECT_EQ(code(ErrorKind::internal), 1);
  EXPECT_EQ(code(ErrorKind::config), 2);
  EXPECT_EQ(code(ErrorKind::data), 3);
  EXPECT_EQ(code(ErrorKind::checkpoint), 4);
  EXPECT_EQ(code(ErrorKind::diverged), 5);
  EXPECT_EQ(code(ErrorKind::io), 6);
  EXPECT_STREQ(error_kind_name(ErrorKind::internal), "internal");
  EXPECT_STREQ(error_kind_name(ErrorKind::config), "config");
  EXPECT_STREQ(error_kind_name(ErrorKind::data), "data");
  EXPECT_STREQ(error_kind_name(ErrorKind::checkpoint), "checkpoint");
  EXPECT_STREQ(error_kind_name(ErrorKind::diverged), "diverged");
  EXPECT_STREQ(error_kind_name(ErrorKind::io), "io");
}

}  // namespace
}  // namespace rl_training
