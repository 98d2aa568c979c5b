// Tests the options of every algorithm: strict reading, a starter config, a page of documentation.
#include <algorithm>
#include <set>

#include "rl_training/util/file_system.h"
#include "tests/contract/algorithm_names.h"
#include "tests/support/tiny_config.h"

namespace rl_training {
namespace {

std::vector<OptionRow> rows_of(AlgorithmOptions& options) {
  return list_options([&](OptionVisitor& visitor) { options.visit_options(visitor); });
}

void place(ConfigNode& node) {
  node.file = "c.yaml";
  node.line = 4;
  for (auto& item : node.items) place(item);
}

class OptionContract : public testing::TestWithParam<std::string> {
 protected:
  // Sets `key` in algo_kwargs of the starter config, as if it were in line 4 of a file. Returns the
  // error message.
  std::string error_of(const std::string& key, const ConfigNode& value) const {
    auto root = starter_;
    auto& kwargs = *root.find("algo_kwargs");
    kwargs.set(key, value);
    place(*kwargs.find(key));
    try {
      read_train_config(root);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 2) << error.what();
      return error.what();
    }
    return "no error";
  }

  const AlgorithmInfo& info_ = find_algorithm(GetParam());
  const ConfigNode starter_ = load_config(starter_config(GetParam()));
};

INSTANTIATE_TEST_SUITE_P(All, OptionContract, testing::ValuesIn(algorithm_names()), name_of_test);

TEST_P(OptionContract, MisspeltKeysAreRefusedWithASuggestion) {
  for (const auto& row : rows_of(*info_.make_options())) {
    if (row.key.find('.') != std::string::npos) continue;
    const auto misspelt = row.key + "_x";
    EXPECT_EQ(
        error_of(misspelt, ConfigNode::scalar("1")),
        "c.yaml:4: algo_kwargs." + misspelt + ": unknown key (did you mean `" + row.key + "`?)");
  }
}

TEST_P(OptionContract, WrongTypesAreRefused) {
  auto list = ConfigNode();
  list.kind = ConfigNode::Kind::list;
  list.items.push_back(ConfigNode::scalar("oops"));
  const std::set<std::string> types = {"number", "whole number", "switch",       "text",
                                       "choice", "texts",        "whole numbers"};
  for (const auto& row : rows_of(*info_.make_options())) {
    if (row.key.find('.') != std::string::npos) continue;
    if (row.type.starts_with("map")) continue;
    ASSERT_TRUE(types.contains(row.type)) << row.type;
    const bool scalar_fits = row.type == "text";  // every scalar is a valid text
    const auto value = row.type == "texts" ? ConfigNode::map() : list;
    EXPECT_TRUE(error_of(row.key, value).starts_with("c.yaml:4: algo_kwargs." + row.key + ": "))
        << row.key;
    if (scalar_fits || row.type == "texts") continue;
    EXPECT_TRUE(error_of(row.key, ConfigNode::scalar("oops"))
                    .starts_with("c.yaml:4: algo_kwargs." + row.key + ": "))
        << row.key;
  }
}

TEST_P(OptionContract, NumbersBeyondTheirRangeAreRefused) {
  for (const auto& row : rows_of(*info_.make_options())) {
    if (row.type != "number" && row.type != "whole number") continue;
    if (row.key.find('.') != std::string::npos) continue;
    const auto refused = [&](const char* value) {
      return error_of(row.key, ConfigNode::scalar(value))
          .starts_with("c.yaml:4: algo_kwargs." + row.key + ": ");
    };
    EXPECT_TRUE(refused("nan")) << row.key;
    EXPECT_TRUE(refused("inf")) << row.key;
    EXPECT_EQ(refused("-1e9"), row.range.find('>') != std::string::npos) << row.key;
    // If the range of a key has no upper limit, a large value may still be rejected by a rule about
    // several keys. The large value is therefore tested only if there is an upper limit.
    if (row.range.find('<') == std::string::npos) continue;
    EXPECT_TRUE(refused("1e9")) << row.key;
  }
}

TEST_P(OptionContract, EveryOptionSaysWhatItMeans) {
  for (const auto& row : rows_of(*info_.make_options())) EXPECT_NE(row.meaning, "") << row.key;
  EXPECT_NE(info_.title, "");
  EXPECT_TRUE(info_.paper.empty() || info_.paper.starts_with("arXiv:")) << info_.paper;
}

TEST_P(OptionContract, ItsPackagedConfigsAreValid) {
  for (const auto& packaged : packaged_configs()) {
    if (!packaged.name.starts_with(info_.name + "/")) continue;
    EXPECT_EQ(read_train_config(load_config(packaged.name)).algo, info_.name) << packaged.name;
  }
}

TEST_P(OptionContract, HasAConfigToStartFrom) {
  int count = 0;
  for (const char* task : {"pendulum", "pendulum-random", "cartpole", "cartpole-medium"}) {
    const auto name = info_.name + "/" + task;
    // The -medium config counts only if the algorithm has no other starter config.
    if (count > 0 && name.ends_with("-medium")) continue;
    const auto& all = packaged_configs();
    if (std::none_of(all.begin(), all.end(), [&](const auto& each) { return each.name == name; })) {
      continue;
    }
    ++count;
    // A starter config must contain every option of the algorithm, except nested options and
    // options whose default is `none`.
    const auto root = load_config(name);
    const auto* kwargs = root.find("algo_kwargs");
    ASSERT_NE(kwargs, nullptr) << name;
    for (const auto& row : rows_of(*info_.make_options())) {
      if (row.key.find('.') == std::string::npos && row.default_value != "none") {
        EXPECT_NE(kwargs->find(row.key), nullptr) << name << ": " << row.key;
      }
    }
  }
  EXPECT_GE(count, 1);
}

TEST_P(OptionContract, HasAPageThatNamesItsOwnOptions) {
  const auto path = std::string(SOURCE_DIR) + "/docs/algorithms/" + info_.name + ".md";
  ASSERT_TRUE(posix_file_system().exists(path)) << path;
  const auto page = posix_file_system().read_file(path);
  AlgorithmOptions shared;
  std::set<std::string> shared_keys;
  for (const auto& row : rows_of(shared)) shared_keys.insert(row.key);
  for (const auto& row : rows_of(*info_.make_options())) {
    if (shared_keys.contains(row.key)) continue;
    EXPECT_NE(page.find("`" + row.key + "`"), std::string::npos) << path << ": " << row.key;
  }
}

}  // namespace
}  // namespace rl_training
