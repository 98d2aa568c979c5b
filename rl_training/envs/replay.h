#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

struct ReplayReport {
  int64_t steps = 0;
  double max_obs_diff = 0, max_reward_diff = 0;
  int64_t flag_mismatches = 0;
};

// Steps an environment with recorded actions and compares what it says with the recording.
// The CSV has columns state0.., action0.., obs0.. (after the step), reward, terminated and, if it
// likes, truncated and traj. The state is set where an episode begins; from there it runs freely.
// A bad file: Error{data} with file and line.
ReplayReport replay_trajectory(const std::string& env_id, const std::string& csv_path);

}  // namespace rl_training
