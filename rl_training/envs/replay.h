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
// The CSV has columns action0.., reward, terminated and optionally truncated and traj; the
// state before the step as state0.. (or state and goal, or qpos0.. and qvel0..); and the
// observation after it as obs0.. (or observation and desired_goal). The state is set where an
// episode begins; from there it runs freely. A row with step -1 begins an episode and holds only
// its first observation; in a file with such rows, only these and changes of traj begin episodes.
// Throws Error{data} with file and line for a bad file.
ReplayReport replay_trajectory(const std::string& env_id, const std::string& csv_path);

}  // namespace rl_training
