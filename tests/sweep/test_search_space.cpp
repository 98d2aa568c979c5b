#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/sweep/search_space.h"

namespace rl_training {
namespace {

std::vector<SearchKey> distributions(const std::string& yaml) {
  return read_distributions(read_yaml(yaml, "sweep.yaml"), "random");
}

std::string text_of(const Settings& settings) {
  std::string text;
  for (const auto& [key, value] : settings) text += key + "=" + value.shown() + " ";
  return text;
}

double number(const Settings& settings, size_t i) { return std::stod(settings[i].second.text); }

TEST(SearchSpace, AGridIsEveryCombinationAndTheLastKeyChangesFastest) {
  const auto keys = read_grid(
      read_yaml("config: [a, b]\nlearning_rate: [1e-4, 3e-4]\nhidden_sizes: [[8], [8, 8]]\n", "f"),
      "grid");
  const auto points = grid_points(keys);
  ASSERT_EQ(points.size(), 8U);
  EXPECT_EQ(text_of(points[0]), "config=a learning_rate=1e-4 hidden_sizes=[8] ");
  EXPECT_EQ(text_of(points[1]), "config=a learning_rate=1e-4 hidden_sizes=[8, 8] ");
  EXPECT_EQ(text_of(points[2]), "config=a learning_rate=3e-4 hidden_sizes=[8] ");
  EXPECT_EQ(text_of(points[7]), "config=b learning_rate=3e-4 hidden_sizes=[8, 8] ");
}

TEST(SearchSpace, DrawsStayInTheirRange) {
  const auto keys = distributions(
      "a: {uniform: [-2, 3]}\nb: {log_uniform: [1e-5, 1e-2]}\nc: {int: [1, 3]}\nd: [x, y]\n");
  const auto points = random_points(keys, 2000, 7);
  ASSERT_EQ(points.size(), 2000U);
  std::set<std::string> integers, choices;
  double mean = 0, log_mean = 0;
  for (const auto& point : points) {
    EXPECT_GE(number(point, 0), -2);
    EXPECT_LE(number(point, 0), 3);
    EXPECT_GE(number(point, 1), 1e-5);
    EXPECT_LE(number(point, 1), 1e-2);
    mean += number(point, 0) / 2000;
    log_mean += std::log10(number(point, 1)) / 2000;
    integers.insert(point[2].second.text);
    choices.insert(point[3].second.text);
  }
  EXPECT_EQ(integers, (std::set<std::string>{"1", "2", "3"}));
  EXPECT_EQ(choices, (std::set<std::string>{"x", "y"}));
  // The sample means must be within four standard errors of the true means: 0.5 for `a`, and -3.5
  // for the logarithm of `b`.
  EXPECT_NEAR(mean, 0.5, 4 * 5 / std::sqrt(12.0 * 2000));
  EXPECT_NEAR(log_mean, -3.5, 4 * 3 / std::sqrt(12.0 * 2000));
}

TEST(SearchSpace, AValueDependsOnSeedNumberAndKeyAlone) {
  const auto one = distributions("a: {uniform: [0, 1]}\n");
  const auto two = distributions("z: {int: [0, 9]}\na: {uniform: [0, 1]}\n");
  const auto few = random_points(one, 3, 5), more = random_points(two, 10, 5);
  for (size_t i = 0; i < few.size(); ++i) EXPECT_EQ(number(few[i], 0), number(more[i], 1));
  EXPECT_NE(number(few[0], 0), number(few[1], 0));
  EXPECT_NE(number(few[0], 0), number(random_points(one, 1, 6)[0], 0));
}

TEST(SearchSpace, WhatIsNoDistributionIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"a: 3\n", "random.a: not a distribution"},
      {"a: []\n", "random.a: not a list of values"},
      {"a: {unifrom: [0, 1]}\n", "did you mean `uniform`?"},
      {"a: {uniform: [1, 0]}\n", "random.a.uniform: not a range"},
      {"a: {uniform: [1]}\n", "not a pair of bounds"},
      {"a: {log_uniform: [0, 1]}\n", "not above 0"},
      {"a: {int: [0.5, 2]}\n", "not whole numbers"},
      {"a: {uniform: [x, 2]}\n", "not a number"},
  };
  for (const auto& [yaml, message] : cases) {
    try {
      distributions(yaml);
      ADD_FAILURE() << yaml;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
      EXPECT_EQ(error.place().line, 1) << error.what();
    }
  }
}

}  // namespace
}  // namespace rl_training
