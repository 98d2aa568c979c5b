// Checks every transition of public recordings of Gymnasium's tasks: from the recorded observation,
// our simulation must reach the recorded next observation. The files contain float32 values, so
// each value has a rounding error of up to half a unit in the last place. For each state, the test
// measures how much such errors change the next observation. The difference between the simulated
// and the recorded next observation must not exceed the sum of these changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "rl_training/data/d4rl.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/envs/registry.h"

namespace rl_training {
namespace {

struct Experts {
  const char* id;
  const char* file;
  int64_t rows;  // expected number of rows without clipped velocities
};
constexpr Experts kExperts[] = {
    {"Hopper-v4", "expert_data_Hopper-v4.converted.hdf5", 1644},
    {"HalfCheetah-v4", "expert_data_HalfCheetah-v4.converted.hdf5", 2000}};

constexpr double kHalfUnit = 0x1p-24;  // relative rounding error of a float

class ExpertData : public testing::TestWithParam<Experts> {
 protected:
  void SetUp() override {
    path_ = std::string(SHARED_DIR) + "/fixtures/real/cs285_experts/" + GetParam().file;
    if (!std::filesystem::exists(path_)) GTEST_SKIP() << "no recordings at " << path_;
    env_ = make_environment(GetParam().id);
    next_.resize(static_cast<size_t>(env_->spec().observation.size()));
  }

  // The observation is the state without the first position. No force depends on this position, so
  // it is set to 0.
  std::vector<double> successor(std::vector<double> state, const std::vector<double>& action) {
    state.insert(state.begin(), 0.0);
    env_->set_state(state);
    reward_ = env_->step(action, next_).reward;
    return next_;
  }

  std::string path_;
  std::unique_ptr<Environment> env_;
  std::vector<double> next_;
  double reward_ = 0;
};

TEST_P(ExpertData, EveryTransitionReplaysToTheLastDigitOfAFloat) {
  DatasetReadOptions options;
  options.timeout_policy = TimeoutPolicy::keep;
  const auto data = load_dataset_file("d4rl", path_, options);
  const int64_t obs_dim = data.obs_dim(), action_dim = data.action_dim();
  double worst = 0, worst_share = 0, worst_reward = 0;
  int64_t rows = 0;
  for (int64_t row = 0; row < data.rows(); ++row) {
    const std::vector<double> state(data.obs(row), data.obs(row) + obs_dim);
    const std::vector<double> action(data.action(row), data.action(row) + action_dim);
    // Hopper clips the observed velocities to 10, so the true velocity is unknown in these rows.
    if (std::string(GetParam().id) == "Hopper-v4" &&
        std::any_of(state.begin() + 5, state.end(), [](double v) { return std::abs(v) >= 10; })) {
      continue;
    }
    const auto found = successor(state, action);
    const double reward = reward_;
    std::vector<double> explained(static_cast<size_t>(obs_dim));
    double reward_explained = std::abs(data.reward(row)) * kHalfUnit;
    for (size_t i = 0; i < explained.size(); ++i) {
      explained[i] = std::abs(data.next_obs(row)[i]) * kHalfUnit;
    }
    for (size_t i = 0; i < state.size(); ++i) {
      auto moved = state;
      moved[i] += std::abs(state[i]) * kHalfUnit;
      const auto other = successor(moved, action);
      for (size_t j = 0; j < explained.size(); ++j) explained[j] += std::abs(other[j] - found[j]);
      reward_explained += std::abs(reward_ - reward);
    }
    for (size_t j = 0; j < explained.size(); ++j) {
      const double off = std::abs(found[j] - data.next_obs(row)[j]);
      worst = std::max(worst, off);
      worst_share = std::max(worst_share, off / explained[j]);
    }
    worst_reward = std::max(worst_reward, std::abs(reward - data.reward(row)) / reward_explained);
    ++rows;
  }
  EXPECT_EQ(rows, GetParam().rows);
  EXPECT_LE(worst_share, 1.0) << "the largest difference is " << worst;
  EXPECT_LE(worst_reward, 1.0);
}

INSTANTIATE_TEST_SUITE_P(Mujoco, ExpertData, testing::ValuesIn(kExperts),
                         [](const auto& at) { return at.index == 0 ? "Hopper" : "HalfCheetah"; });

}  // namespace
}  // namespace rl_training
