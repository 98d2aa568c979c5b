#include <gtest/gtest.h>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/space.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

TEST(Space, KnowsItsSize) {
  EXPECT_EQ(Space::unbounded(17).bytes(), 68);
  EXPECT_EQ(Space::discrete(4).size(), 1);
  EXPECT_EQ(Space::discrete(4).bytes(), 8);
  EXPECT_EQ(Space::image(3, 84, 84).bytes(), 3 * 84 * 84);
  EXPECT_EQ(Space::unbounded(17).text(), "17 values");
  EXPECT_EQ(Space::discrete(4).text(), "4 choices");
  EXPECT_EQ(Space::image(3, 84, 84).text(), "uint8 image [3, 84, 84]");
}

TEST(Space, ComesBackFromItsJson) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto& space : {Space::unbounded(3), Space::box({-1, -infinity}, {2, infinity}),
                            Space::discrete(5), Space::image(3, 8, 9), Space::unit_box(2)}) {
    EXPECT_EQ(space_from_json(Json::parse(space_to_json(space).dump()), "space"), space);
  }
}

TEST(Space, RefusesDescriptionsOfNone) {
  for (const char* text :
       {"[]", "{}", R"({"kind":"box"})", R"({"kind":"box","shape":[-1]})",
        R"({"kind":"sphere","shape":[1]})", R"({"kind":"discrete","shape":[]})",
        R"({"kind":"discrete","shape":[],"categories":0})", R"({"kind":"box","shape":["a"]})",
        R"({"kind":"box","shape":[1048576,1048576]})",
        R"({"kind":"box","shape":[2],"low":[0],"high":[1]})",
        R"({"kind":"box","shape":[1],"low":["x"],"high":[1]})",
        R"({"kind":"box","shape":[1],"low":[0]})"}) {
    EXPECT_THROW(space_from_json(Json::parse(text), "space"), Error) << text;
  }
}

// A dataset with discrete actions stores them as int64.
TEST(TransitionDataset, HoldsDiscreteActions) {
  DatasetBuilder builder(Space::unbounded(1), Space::discrete(3));
  const std::array<int64_t, 1> two = {2}, one = {1};
  builder.begin_episode(std::array{0.0f});
  builder.add(two, 1, std::array{1.0f}, false, false);
  builder.add(one, 2, std::array{2.0f}, true, false);
  const auto data = std::move(builder).build().with_next_actions();
  EXPECT_EQ(data.choice(0), 2);
  EXPECT_EQ(data.action_value(1, 0), 1.0);
  int64_t next = 0;
  std::memcpy(&next, data.next_action_bytes(0), sizeof next);
  EXPECT_EQ(next, 1);
  EXPECT_EQ(data.following(0), 1);
  EXPECT_EQ(data.following(1), -1);
}

TEST(TransitionDataset, HoldsImagesOnce) {
  const Space image = Space::image(1, 2, 2);
  DatasetBuilder builder(image, Space::unit_box(1));
  const std::vector<unsigned char> first(4, 1), second(4, 2), third(4, 3);
  builder.begin_episode(first);
  builder.add(std::array{0.5f}, 1, second, false, false);
  builder.add(std::array{0.5f}, 1, third, false, true);
  const auto data = std::move(builder).build();
  EXPECT_EQ(data.next_obs_bytes(0), data.obs_bytes(1));  // the same memory
  EXPECT_EQ(data.next_obs_bytes(1)[3], 3);
  EXPECT_THROW(DatasetBuilder(image, Space::unit_box(1)).begin_episode(std::array{1.0f, 2.0f}),
               Error);
}

}  // namespace
}  // namespace rl_training
