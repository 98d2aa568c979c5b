#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "rl_training/data/validation_split.h"
#include "rl_training/util/error.h"

namespace rl_training::test_validation_split {
namespace {

EpisodeSplit split(int64_t episodes, double fraction, int64_t seed = 0) {
  return split_episodes(episodes,
                        {.used = true, .fraction = fraction, .episodes = {}, .seed = seed});
}

TEST(ValidationSplit, EveryEpisodeIsOnOneSide) {
  const auto found = split(40, 0.25);
  EXPECT_EQ(found.held_out.size(), 10u);
  EXPECT_TRUE(std::is_sorted(found.held_out.begin(), found.held_out.end()));
  EXPECT_TRUE(std::is_sorted(found.training.begin(), found.training.end()));
  auto all = found.training;
  all.insert(all.end(), found.held_out.begin(), found.held_out.end());
  std::sort(all.begin(), all.end());
  std::vector<int64_t> expected(40);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

TEST(ValidationSplit, TheSeedDecides) {
  EXPECT_EQ(split(40, 0.25, 3).held_out, split(40, 0.25, 3).held_out);
  EXPECT_NE(split(40, 0.25, 3).held_out, split(40, 0.25, 4).held_out);
  // The split does not simply select the first or the last episodes, so the mean of the held-out
  // indices is near 500.
  const auto some = split(1000, 0.5).held_out;
  const double mean =
      std::accumulate(some.begin(), some.end(), 0.0) / static_cast<double>(some.size());
  EXPECT_NEAR(mean, 500, 40);
}

TEST(ValidationSplit, CountsAndLimits) {
  EXPECT_EQ(split(3, 0.01).held_out.size(), 1u);  // at least one episode is held out
  EXPECT_EQ(split(9, 0.3).held_out.size(), 3u);   // 2.7 is rounded to 3
  ValidationOptions options{.used = true, .fraction = 0.1, .episodes = 4, .seed = 0};
  EXPECT_EQ(split_episodes(5, options).held_out.size(), 4u);
  try {
    split_episodes(4, options);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_EQ(std::string(error.what()),
              "validation: no episodes would remain for training (expected a dataset of more than "
              "4, got 4)");
  }
  EXPECT_THROW(split(1, 0.5), Error);
}

}  // namespace
}  // namespace rl_training::test_validation_split
