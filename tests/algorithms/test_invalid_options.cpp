// Hyper-parameters that make no sense are refused by name before anything is trained.
#include <gtest/gtest.h>

#include "rl_training/experiment/train_config.h"

namespace rl_training {
namespace {

struct Invalid {
  const char* algo;
  std::vector<const char*> assignments;
  const char* key;
};

void PrintTo(const Invalid& invalid, std::ostream* out) {
  *out << invalid.algo << ": " << invalid.assignments.back();
}

class InvalidOptions : public testing::TestWithParam<Invalid> {};

TEST_P(InvalidOptions, AreRefusedByName) {
  const auto& invalid = GetParam();
  auto root = load_config(std::string(invalid.algo) + "/pendulum");
  read_train_config(root);
  for (const char* assignment : invalid.assignments) set_config_value(root, assignment);
  try {
    read_train_config(root);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_EQ(error.place().key, std::string("algo_kwargs.") + invalid.key);
  }
}

INSTANTIATE_TEST_SUITE_P(
    WeightedCloning, InvalidOptions,
    testing::Values(
        Invalid{"iql", {"expectile=0"}, "expectile"}, Invalid{"iql", {"expectile=1"}, "expectile"},
        Invalid{"iql", {"beta=-0.1"}, "beta"}, Invalid{"iql", {"max_weight=0"}, "max_weight"},
        Invalid{"iql", {"policy=tanh"}, "policy"},
        Invalid{"iql", {"log_std_min=2", "log_std_max=2"}, "log_std_min"},
        Invalid{"awac", {"awac_lambda=0"}, "awac_lambda"},
        Invalid{"awac", {"max_weight=0"}, "max_weight"},
        Invalid{"awac", {"weight_normalisation=none"}, "weight_normalisation"},
        Invalid{"awac", {"log_std_min=3"}, "log_std_min"}, Invalid{"crr", {"beta=0"}, "beta"},
        Invalid{"crr", {"n_action_samples=0"}, "n_action_samples"},
        Invalid{"crr", {"max_weight=0"}, "max_weight"},
        Invalid{"crr", {"advantage_type=median"}, "advantage_type"},
        Invalid{"crr", {"weight_type=softmax"}, "weight_type"},
        Invalid{"crr", {"log_std_max=-6"}, "log_std_min"},
        Invalid{
            "crr", {"n_action_samples=1", "critic_weighted_policy=true"}, "critic_weighted_policy"},
        Invalid{"bc", {"policy=expert"}, "policy"}, Invalid{"bc", {"log_std_min=5"}, "log_std_min"},
        Invalid{"bc", {"tau=0.005"}, "tau"},
        Invalid{"bc", {"dataset_top_fraction=0"}, "dataset_top_fraction"},
        Invalid{"bc", {"dataset_top_fraction=1.01"}, "dataset_top_fraction"}));

}  // namespace
}  // namespace rl_training
