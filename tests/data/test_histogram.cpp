#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/data/histogram.h"

namespace rl_training {
namespace {

TEST(Histogram, CountsAndDraws) {
  Histogram histogram(0, 4, 4);
  for (const double value : {0.0, 0.5, 0.9, 1.0, 4.0, -7.0, 9.0, std::nan(""), double{INFINITY}}) {
    histogram.add(value);
  }
  EXPECT_EQ(histogram.counts(), (std::vector<int64_t>{4, 1, 0, 2}));
  EXPECT_EQ(histogram.bars(), "█▂ ▄");
}

TEST(Histogram, OneValueIsOnePart) {
  Histogram histogram(3, 3);
  histogram.add(3);
  EXPECT_EQ(histogram.bars(), "█");
  EXPECT_EQ(Histogram(1, 2, 3).bars(), "   ");
  EXPECT_EQ(Histogram().bars(), "");
}

}  // namespace
}  // namespace rl_training
