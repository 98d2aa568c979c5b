#pragma once
#include <optional>
#include <string>

namespace rl_training {

// Returns of a random and an expert policy. D4RL uses them to normalise scores.
struct ReferenceScores {
  double random = 0, expert = 0;
};

// Accepts a D4RL dataset id, for example "hopper-medium-v2". Also accepts an environment id, for
// example "Hopper-v4", if all D4RL datasets of this environment have the same reference scores.
// Returns nullopt for other ids.
std::optional<ReferenceScores> reference_scores(const std::string& task_id);

// Scales a return so that the random policy has a score of 0 and the expert a score of 100. Tasks
// without D4RL reference scores use `others`; returns nullopt if `others` is not set either.
std::optional<double> normalized_score(const std::string& task_id, double episode_return,
                                       const std::optional<ReferenceScores>& others = {});

}  // namespace rl_training
