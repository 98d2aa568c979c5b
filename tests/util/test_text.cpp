#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rl_training/util/config_node.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

const std::vector<std::string> kKeys = {"gamma", "tau", "batch_size", "learning_rate", "bc_alpha"};

TEST(DidYouMean, FindsTypingSlips) {
  EXPECT_EQ(nearest_name("gama", kKeys), "gamma");
  EXPECT_EQ(nearest_name("gmama", kKeys), "gamma");  // two adjacent letters are swapped
  EXPECT_EQ(nearest_name("learning_rat", kKeys), "learning_rate");
  EXPECT_EQ(nearest_name("batchsize", kKeys), "batch_size");
  EXPECT_EQ(nearest_name("gamma", kKeys), "gamma");
  EXPECT_EQ(did_you_mean("gama", kKeys), "; did you mean `gamma`?");
}

TEST(DidYouMean, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("entirely_different", kKeys), "");
  EXPECT_EQ(did_you_mean("entirely_different", kKeys), "");
  EXPECT_EQ(nearest_name("learn", kKeys), "learning_rate");  // a prefix of the name
  EXPECT_EQ(nearest_name("gamma", {}), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'x'), {std::string(100000, 'x')}), "");
}

TEST(Text, Join) {
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(join({"a"}, ", "), "a");
  EXPECT_EQ(join({"", "a", ""}, ","), ",a,");
  EXPECT_EQ(join({"a", "b", "c"}, " | "), "a | b | c");
}

TEST(Text, NearestNames) {
  const std::vector<std::string> names = {"td3_bc/pendulum", "sac/hopper", "td3/pendulum",
                                          "bc/ant"};
  using Names = std::vector<std::string>;
  EXPECT_EQ(nearest_names("td3_bc/pendulm", names, 2), (Names{"td3_bc/pendulum", "td3/pendulum"}));
  EXPECT_EQ(nearest_names("nope", names, 3), (Names{"bc/ant", "sac/hopper", "td3/pendulum"}));
  EXPECT_EQ(nearest_names("x", {"y"}, 3), Names{"y"});
}

TEST(Text, ShellWords) {
  EXPECT_EQ(shell_word("runs/a_b-1.0"), "runs/a_b-1.0");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's;"), "'it'\\''s;'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Text, ShortenedCutsBetweenCharacters) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdef", 3), "abc...");
  EXPECT_EQ(shortened("a€b", 1), "a...");
  EXPECT_EQ(shortened("a€b", 2), "a...");
  EXPECT_EQ(shortened("a€b", 3), "a...");
  EXPECT_EQ(shortened("a€b", 4), "a€...");
}

TEST(Text, Utf8CharacterLength) {
  EXPECT_EQ(utf8_character_length(""), 0U);
  EXPECT_EQ(utf8_character_length("a€"), 1U);
  EXPECT_EQ(utf8_character_length("é"), 2U);
  EXPECT_EQ(utf8_character_length("€a"), 3U);
  EXPECT_EQ(utf8_character_length("𝄞"), 4U);
  EXPECT_EQ(utf8_character_length("\x80"), 0U);
  EXPECT_EQ(utf8_character_length("\xE2\x82"), 0U);
}

TEST(ConfigNode, ShowsWhatWasGot) {
  EXPECT_EQ(ConfigNode().shown(), "nothing");
  EXPECT_EQ(ConfigNode::scalar("3").shown(), "3");
  EXPECT_EQ(ConfigNode::scalar("3", true).shown(), "\"3\"");
  const auto node = ConfigNode::from_json({{"a", {1, "x", nullptr}}, {"b", true}}, "f");
  EXPECT_EQ(node.shown(), "{a: [1, \"x\", nothing], b: true}");
  EXPECT_EQ(ConfigNode::scalar(std::string(61, 'x')).shown(), std::string(60, 'x') + "...");
  // A cut inside a multi-byte character would make the text invalid for JSON output.
  const auto shown = ConfigNode::scalar("x" + std::string(59, 'y') + "€").shown();
  EXPECT_NO_THROW(Json(shown).dump());
  const auto cut = ConfigNode::scalar(std::string(59, 'y') + "€").shown();
  EXPECT_EQ(cut, std::string(59, 'y') + "...");
}

TEST(ConfigNode, FromJsonKeepsOrderAndOrigin) {
  const auto node = ConfigNode::from_json({{"z", 1}, {"a", 2.5}, {"m", {{"s", "3"}}}}, "origin");
  ASSERT_EQ(node.kind, ConfigNode::Kind::map);
  ASSERT_EQ(node.entries.size(), 3U);
  EXPECT_EQ(node.entries[0].first, "z");
  EXPECT_EQ(node.entries[1].first, "a");
  EXPECT_EQ(node.find("a")->text, "2.5");
  EXPECT_FALSE(node.find("a")->quoted);
  EXPECT_TRUE(node.find("m")->find("s")->quoted);
  EXPECT_EQ(node.find("m")->find("s")->file, "origin");
  EXPECT_EQ(node.find("absent"), nullptr);
}

TEST(ConfigNode, SetAddsOrReplaces) {
  auto node = ConfigNode::map();
  node.set("a", ConfigNode::scalar("1"));
  node.set("b", ConfigNode::scalar("2"));
  node.set("a", ConfigNode::scalar("3"));
  ASSERT_EQ(node.entries.size(), 2U);
  EXPECT_EQ(node.entries[0].first, "a");
  EXPECT_EQ(node.find("a")->text, "3");
}

TEST(Json, NumberWithoutAWordIsNull) {
  EXPECT_EQ(json_number(1.5).dump(), "1.5");
  EXPECT_TRUE(json_number(std::nan("")).is_null());
  EXPECT_TRUE(json_number(std::numeric_limits<double>::infinity()).is_null());
}

TEST(Text, WhatIsNotSeenIsEscaped) {
  EXPECT_EQ(printable("plain, é, 漢, 🙂 and C:\\x"), "plain, é, 漢, 🙂 and C:\\x");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), R"(a\u0000b)");
  EXPECT_EQ(printable("\x1b[2J\x7f\t\n"), R"(\u001b[2J\u007f\u0009\u000a)");
  EXPECT_EQ(printable("a\nb\r", /*keep_newlines=*/true),
            "a\nb"
            R"(\u000d)");
  EXPECT_EQ(printable("\u0080\u009b31m\u009f\u00a0"), R"(\u0080\u009b31m\u009f)"
                                                      "\u00a0");
  EXPECT_EQ(printable("\u200e\u202e\u2066\u2069\ufeff\u2028"),
            R"(\u200e\u202e\u2066\u2069\ufeff\u2028)");
  EXPECT_EQ(printable("\xff"
                      "a\xc3"),
            R"(\xffa\xc3)");                        // an invalid byte, and an incomplete character
  EXPECT_EQ(printable("\xc0\x80"), R"(\xc0\x80)");  // overlong encoding of NUL
}

}  // namespace
}  // namespace rl_training
