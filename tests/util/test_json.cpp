#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/util/json.h"

namespace rl_training {
namespace {

std::string nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Json, WhatOthersWroteIsParsedUpToADepth) {
  EXPECT_EQ(parse_untrusted_json(R"({"a": [1, {"b": null}]})"),
            (Json{{"a", {1, {{"b", nullptr}}}}}));
  EXPECT_TRUE(parse_untrusted_json(nested(32)).is_array());
  EXPECT_TRUE(parse_untrusted_json(nested(33)).is_discarded());
  EXPECT_TRUE(parse_untrusted_json(std::string(1'000'000, '[')).is_discarded());
  EXPECT_TRUE(parse_untrusted_json(R"({"a":)" + nested(31) + "}").is_object());
  EXPECT_TRUE(parse_untrusted_json(R"({"a":)" + nested(32) + "}").is_discarded());
  EXPECT_TRUE(parse_untrusted_json(nested(3), {.depth = 2}).is_discarded());
  EXPECT_TRUE(parse_untrusted_json("[1, 2").is_discarded());
  EXPECT_TRUE(parse_untrusted_json(std::string_view("[1]\0]", 5)).is_discarded());
}

TEST(Json, BracketsInTextsDoNotCount) {
  const auto text = std::string(R"(["\"\\)") + std::string(100, '[') + R"(:{", "])" + "\"]";
  EXPECT_EQ(parse_untrusted_json(text, {.depth = 1, .keys = 0}).size(), 2u);
  EXPECT_TRUE(json_within(R"([[],[],[[]]])", {.depth = 3}));  // siblings do not add depth
  EXPECT_FALSE(json_within(R"([[],[],[[]]])", {.depth = 2}));
}

TEST(Json, KeysAreCounted) {
  EXPECT_TRUE(parse_untrusted_json(R"({"a":1,"b":{"c":2}})", {.keys = 3}).is_object());
  EXPECT_TRUE(parse_untrusted_json(R"({"a":1,"b":{"c":2}})", {.keys = 2}).is_discarded());
}

TEST(Json, WhatIsNoNumberIsNull) {
  EXPECT_EQ(json_number(1.5), 1.5);
  EXPECT_TRUE(json_number(NAN).is_null());
  EXPECT_TRUE(json_number(INFINITY).is_null());
}

}  // namespace
}  // namespace rl_training
