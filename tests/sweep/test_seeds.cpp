#include <gtest/gtest.h>

#include "rl_training/sweep/seeds.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

using Seeds = std::vector<int64_t>;

TEST(Seeds, ListsAndRanges) {
  EXPECT_EQ(parse_seeds("3", "--seeds"), Seeds{3});
  EXPECT_EQ(parse_seeds("0-3", "--seeds"), (Seeds{0, 1, 2, 3}));
  EXPECT_EQ(parse_seeds("5,0-2, 9", "--seeds"), (Seeds{5, 0, 1, 2, 9}));
}

TEST(Seeds, WhatIsNoSeedIsNamed) {
  for (const char* text :
       {"", "1,", "x", "1,-2", "3-1", "1.5", "0-20000", "1,1", "0-3,2", "99999999999999999999"}) {
    try {
      const auto seeds = parse_seeds(text, "--seeds");
      // "1," is the only valid text in this list, because a trailing comma is ignored.
      EXPECT_EQ(std::string(text), "1,") << seeds.size();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      EXPECT_EQ(error.place().key, "--seeds");
      EXPECT_NE(std::string(text), "1,");
    }
  }
}

}  // namespace
}  // namespace rl_training
