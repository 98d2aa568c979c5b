#include <gtest/gtest.h>

#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/sweep/search.h"

namespace rl_training {
namespace {

Search search_of(const std::string& yaml) {
  return Search(read_sweep_spec(read_yaml("config: td3_bc/pendulum\n" + yaml, "s.yaml")));
}

TEST(Search, AsksForEachTrialOfAGridOnce) {
  auto search = search_of("grid: {bc_alpha: [1, 2]}\nmode: min\n");
  EXPECT_EQ(search.ask()->trial, 0U);
  EXPECT_EQ(search.ask()->trial, 1U);
  EXPECT_FALSE(search.ask());
  EXPECT_FALSE(search.best());
  search.tell(1, 3.0);
  search.tell(0, 5.0);
  EXPECT_EQ(search.best(), 1U);
  EXPECT_THROW(search.tell(1, 3.0), Error);
  EXPECT_THROW(search.tell(2, 3.0), Error);
}

TEST(Search, RoundsOfHalvingWaitForAllValues) {
  auto search =
      search_of("grid: {bc_alpha: [1, 2, 3]}\nhalving: {min_timesteps: 4000, factor: 2}\n");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(search.ask()->pause_at, 4000);
  search.tell(0, 1.0);
  search.tell(1, std::nullopt);
  EXPECT_FALSE(search.ask());
  search.tell(2, 2.0);
  const auto second = search.ask();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->trial, 0U);
  EXPECT_EQ(second->pause_at, 8000);
  EXPECT_EQ(search.ask()->trial, 2U);
  search.tell(2, 2.5);
  search.tell(0, 2.0);
  const auto last = search.ask();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->trial, 2U);
  EXPECT_EQ(last->pause_at, std::nullopt);
  search.tell(2, 9.0);
  EXPECT_FALSE(search.ask());
  EXPECT_EQ(search.best(), 2U);
  EXPECT_THROW(search.ask(Settings{}), Error);
}

TEST(Search, TakesPointsFromElsewhere) {
  auto search = search_of("");
  EXPECT_FALSE(search.ask());
  const auto asked = search.ask({{"learning_rate", ConfigNode::scalar("0.02")}});
  EXPECT_EQ(search.trial(asked.trial).config.algorithm->learning_rate, 0.02);
  search.tell(asked.trial, -1.0);
  EXPECT_EQ(search.best(), 0U);
  EXPECT_THROW(search.ask({{"learning_rat", ConfigNode::scalar("0.02")}}), Error);
}

}  // namespace
}  // namespace rl_training
