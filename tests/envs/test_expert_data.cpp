// Checks every transition of public recordings of Gymnasium's v4 tasks and of D4RL's datasets: from
// the recorded observation, our simulation must reach the recorded next observation. The files
// contain float32 values, so each value has a rounding error of up to half a unit in the last
// place. For each state, the test measures how much such errors change the next observation. The
// difference between the simulated and the recorded next observation must not exceed the sum of
// these changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <vector>

#include "rl_training/data/d4rl.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/envs/registry.h"

namespace rl_training {
namespace {

struct Experts {
  const char* name;
  const char* id;
  const char* file;
  size_t clipped;  // index of the first observed velocity, if the task clips these to 10; else 0
  int64_t rows;    // expected number of compared rows

  bool is_d4rl() const { return std::string(id).ends_with("-v2"); }
  bool in_maze() const { return std::string(id).starts_with("antmaze"); }
};
constexpr Experts kExperts[] = {
    {"Hopper", "Hopper-v4", "cs285_experts/expert_data_Hopper-v4.converted.hdf5", 5, 1644},
    {"HalfCheetah", "HalfCheetah-v4", "cs285_experts/expert_data_HalfCheetah-v4.converted.hdf5", 0,
     2000},
    {"D4rlHopper", "Hopper-v2", "d4rl_slices/hopper_medium-v2.hdf5", 5, 761},
    {"D4rlHopperReplay", "Hopper-v2", "d4rl_slices/hopper_medium_replay-v1.hdf5", 5, 49},
    {"D4rlWalker2d", "Walker2d-v2", "d4rl_slices/walker2d_medium-v2.hdf5", 8, 1419},
    {"D4rlWalker2dRandom", "Walker2d-v2", "d4rl_slices/walker2d_random-v1.hdf5", 8, 9},
    {"D4rlHalfCheetah", "HalfCheetah-v2", "d4rl_slices/halfcheetah_medium-v2.hdf5", 0, 2000},
    {"D4rlAntUMaze", "antmaze-umaze-v2", "d4rl_slices/antmaze-umaze-v0.hdf5", 0, 1400},
    {"D4rlAntMedium", "antmaze-medium-diverse-v2", "d4rl_slices/antmaze-medium-diverse-v0.hdf5", 0,
     64}};

constexpr double kHalfUnit = 0x1p-24;  // relative rounding error of a float

class ExpertData : public testing::TestWithParam<Experts> {
 protected:
  void SetUp() override {
    path_ = std::string(SHARED_DIR) + "/fixtures/real/" + GetParam().file;
    if (!std::filesystem::exists(path_)) GTEST_SKIP() << "no recordings at " << path_;
    env_ = make_environment(GetParam().id);
    next_.resize(static_cast<size_t>(env_->spec().observation.size()));
  }

  // The observation is the state without the first position or, in mazes, without the goal. No
  // force depends on these values, so they are set to 0.
  std::vector<double> successor(std::vector<double> state, const std::vector<double>& action) {
    state.insert(state.begin(), GetParam().in_maze() ? 2 : 1, 0.0);
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
    // D4RL's antmaze files do not contain the observation after a termination.
    if (GetParam().in_maze() && data.terminated(row)) continue;
    // The true velocity is unknown in rows with clipped velocities.
    const auto velocities = std::span(state).subspan(GetParam().clipped);
    if (GetParam().clipped > 0 && std::any_of(velocities.begin(), velocities.end(),
                                              [](double v) { return std::abs(v) >= 10; })) {
      continue;
    }
    const auto found = successor(state, action);
    const double reward = reward_;
    std::vector<double> explained(static_cast<size_t>(obs_dim));
    double reward_explained = std::abs(data.reward(row)) * kHalfUnit;
    for (size_t i = 0; i < explained.size(); ++i) {
      explained[i] = std::abs(data.next_obs(row)[i]) * kHalfUnit;
    }
    const auto explain = [&](const std::vector<double>& other) {
      for (size_t j = 0; j < explained.size(); ++j) explained[j] += std::abs(other[j] - found[j]);
      reward_explained += std::abs(reward_ - reward);
    };
    for (size_t i = 0; i < state.size(); ++i) {
      auto moved = state;
      moved[i] += std::abs(state[i]) * kHalfUnit;
      explain(successor(moved, action));
    }
    // D4RL's recorder mapped an action from [-1, 1] to the bounds of the task in float32, so the
    // recorded and the executed action differ by the rounding of `action + 1`.
    for (size_t i = 0; GetParam().is_d4rl() && i < action.size(); ++i) {
      auto moved = action;
      moved[i] += (1 + std::abs(action[i])) * kHalfUnit;
      explain(successor(state, moved));
    }
    for (size_t j = 0; j < explained.size(); ++j) {
      const double off = std::abs(found[j] - data.next_obs(row)[j]);
      worst = std::max(worst, off);
      worst_share = std::max(worst_share, off / explained[j]);
    }
    if (GetParam().in_maze()) reward_explained = 1;  // depends on the goal, which differs
    worst_reward = std::max(worst_reward, std::abs(reward - data.reward(row)) / reward_explained);
    ++rows;
  }
  EXPECT_EQ(rows, GetParam().rows);
  EXPECT_LE(worst_share, 1.0) << "the largest difference is " << worst;
  EXPECT_LE(worst_reward, 1.0);
}

INSTANTIATE_TEST_SUITE_P(Mujoco, ExpertData, testing::ValuesIn(kExperts),
                         [](const auto& at) { return at.param.name; });

}  // namespace
}  // namespace rl_training
