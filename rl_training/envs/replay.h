#pragma once
#include <cstdint>
#include <string>

namespace rl_training {

struct ReplayReport {
  int64_t steps = 0;
  double max_obs_diff = 0, max_reward_diff = 0;
  int64_t flag_mismatches = 0;
};

// Steps an environment with recorded actions and compares the results with the recording.
//
// Columns of the CSV file:
// - action0.., reward and terminated; optionally truncated, traj and step;
// - the state before the step: state0.., or state and goal, or qpos0.. and qvel0..;
// - the observation after the step: obs0.., or observation and desired_goal.
//
// The environment is set to the recorded state at the start of each episode, then runs freely. An
// episode starts after a termination or truncation and where traj changes. A row with step -1 also
// starts an episode. Such a row contains no step, only the state and the first observation of the
// episode. In a file with such rows, a termination or truncation does not start the next episode.
//
// Throws Error{data} with file and line for a bad file.
ReplayReport replay_trajectory(const std::string& env_id, const std::string& csv_path);

}  // namespace rl_training
