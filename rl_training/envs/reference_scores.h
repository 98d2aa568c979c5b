#pragma once
#include <optional>
#include <string>

namespace rl_training {

// Returns of a random and an expert policy. D4RL normalises scores by them.
struct ReferenceScores {
  double random = 0, expert = 0;
};

// Accepts a D4RL dataset id, for example "hopper-medium-v2", or an environment id whose datasets
// all share the scores, for example "Hopper-v4". Returns nullopt for other ids.
std::optional<ReferenceScores> reference_scores(const std::string& task_id);

// Returns 0 for the random policy, 100 for the expert, and nullopt without reference scores. Tasks
// without D4RL scores use `others`.
std::optional<double> normalized_score(const std::string& task_id, double episode_return,
                                       const std::optional<ReferenceScores>& others = {});

}  // namespace rl_training
