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
// - action, reward and terminated; optionally truncated, traj and step;
// - the state before the step, as the concatenation of state, goal, qpos and qvel;
// - the observation after the step, as the concatenation of achieved, desired, obs, observation and
//   desired_goal.
// The file need not have columns for every name of the state and the observation, but the columns
// it has must yield a complete state and a complete observation. Several values of one name are in
// numbered columns, for example obs0, obs1, ...
//
// The environment is set to the recorded state at the start of each episode, then runs freely. An
// episode starts at the first row, after a termination or truncation, and where traj changes. A row
// with step -1 also starts an episode. Such a row contains no step, only the state and the first
// observation of the episode. If the first row of a file is such a row, a termination or truncation
// does not start the next episode.
//
// Throws Error{data} with file and line for a bad file.
ReplayReport replay_trajectory(const std::string& env_id, const std::string& csv_path);

}  // namespace rl_training
