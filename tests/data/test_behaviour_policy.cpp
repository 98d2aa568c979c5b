#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include "rl_training/data/behaviour_policy.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/data/hdf5_writer.h"
#include "rl_training/util/error.h"
#include "tests/data/fixture_paths.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

using Values = std::vector<float>;
struct Array {
  std::vector<int64_t> shape;
  Values values;
};
using Arrays = std::map<std::string, Array>;

// A policy with two inputs, two hidden units and one action dimension.
Arrays small_policy() {
  return {{"fc0/weight", {{2, 2}, {1, 0, -1, 2}}},
          {"fc0/bias", {{2}, {0.5f, -1}}},
          {"last_fc/weight", {{1, 2}, {0.5f, -0.25f}}},
          {"last_fc/bias", {{1}, {0.1f}}},
          {"last_fc_log_std/weight", {{1, 2}, {0, 0}}},
          {"last_fc_log_std/bias", {{1}, {std::log(0.5f)}}}};
}

void write(const std::string& path, const Arrays& arrays) {
  Hdf5Writer file;
  for (const auto& [name, array] : arrays) {
    file.add("metadata/policy/" + name, array.shape, std::span<const float>(array.values));
  }
  const auto bytes = file.bytes();
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
}

TEST(BehaviourPolicy, ActsAsItsWeightsSay) {
  const TemporaryDirectory directory;
  const auto path = directory / "policy.hdf5";
  write(path, small_policy());
  auto policy = BehaviourPolicy::read(path);
  EXPECT_EQ(policy.obs_dim(), 2);
  EXPECT_EQ(policy.action_dim(), 1);
  Values mean(1), std(1), action(1);
  const std::vector<double> obs = {1, 2}, other = {-1, 0};
  policy.distribution(obs, mean, std);  // hidden units 1.5 and 2
  EXPECT_FLOAT_EQ(mean[0], 0.5f * 1.5f - 0.25f * 2 + 0.1f);
  EXPECT_FLOAT_EQ(std[0], 0.5f);
  policy.distribution(other, mean, std);  // hidden units -0.5 and 0; ReLU sets both to 0
  EXPECT_FLOAT_EQ(mean[0], 0.1f);
  Rng rng(3), same(3);
  policy.act(obs, rng, action);
  EXPECT_FLOAT_EQ(action[0], std::tanh(0.35f + 0.5f * static_cast<float>(same.normal())));

  auto wide = small_policy();
  wide["last_fc_log_std/bias"].values = {5};
  write(path, wide);
  BehaviourPolicy::read(path).distribution(obs, mean, std);
  EXPECT_FLOAT_EQ(std[0], std::exp(2.0f));  // upper bound of the log standard deviation
}

TEST(BehaviourPolicy, RefusesWhatIsNoSuchPolicy) {
  const TemporaryDirectory directory;
  const auto path = directory / "policy.hdf5";
  const auto expect_error = [&](const Arrays& arrays, const std::string& key,
                                const std::string& message) {
    write(path, arrays);
    try {
      BehaviourPolicy::read(path);
      ADD_FAILURE() << "accepted without " << key;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      EXPECT_EQ(error.place().file, path);
      EXPECT_EQ(error.place().key, "metadata/policy/" + key);
      EXPECT_NE(error.message().find(message), std::string::npos) << error.message();
    }
  };
  auto arrays = small_policy();
  arrays.erase("last_fc_log_std/bias");
  expect_error(arrays, "last_fc_log_std/bias", "no behaviour policy");
  arrays = small_policy();
  arrays["last_fc/weight"] = {{1, 3}, {1, 2, 3}};
  expect_error(arrays, "last_fc/weight", "expected (outputs, 2), got (1, 3)");
  arrays = small_policy();
  arrays["fc0/bias"] = {{1}, {1}};
  expect_error(arrays, "fc0/bias", "wrong shape");
  arrays = small_policy();
  arrays["last_fc_log_std/weight"] = {{2, 2}, {0, 0, 0, 0}};
  arrays["last_fc_log_std/bias"] = {{2}, {0, 0}};
  expect_error(arrays, "last_fc_log_std/weight", "the number of outputs of last_fc, 1");
  arrays = small_policy();
  arrays["fc0/weight"].values[1] = std::numeric_limits<float>::quiet_NaN();
  expect_error(arrays, "fc0/weight", "finite");
}

// The actions in D4RL's own files are samples of the policy that the same file contains.
TEST(BehaviourPolicy, ExplainsTheActionsOfRealFiles) {
  const auto directory = kReal + "d4rl_slices/";
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << "no genuine files at " << directory;
  for (const char* name : {"hopper", "walker2d", "halfcheetah"}) {
    SCOPED_TRACE(name);
    const auto path = directory + name + "_medium-v2.hdf5";
    auto policy = BehaviourPolicy::read(path);
    const auto data = load_dataset_file("d4rl", path);
    ASSERT_EQ(data.obs_dim(), policy.obs_dim());
    ASSERT_EQ(data.action_dim(), policy.action_dim());
    Values mean(static_cast<size_t>(policy.action_dim())), std(mean.size());
    double sum = 0, squares = 0, count = 0;
    for (int64_t row = 0; row < data.rows(); ++row) {
      const std::vector<double> obs(data.obs(row), data.obs(row) + data.obs_dim());
      policy.distribution(obs, mean, std);
      for (size_t i = 0; i < mean.size(); ++i) {
        const double action = data.action(row)[i];
        if (std::abs(action) > 0.999) continue;  // atanh of a float is inaccurate here
        const double error = (std::atanh(action) - mean[i]) / std[i];
        sum += error;
        squares += error * error;
        ++count;
      }
    }
    EXPECT_NEAR(sum / count, 0, 0.1);
    EXPECT_NEAR(std::sqrt(squares / count), 1, 0.1);
  }
}

}  // namespace
}  // namespace rl_training
