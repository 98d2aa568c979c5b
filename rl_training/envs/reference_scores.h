#pragma once
#include <optional>
#include <string>

namespace rl_training {

// Returns of a random and an expert policy, by which D4RL normalises scores.
struct ReferenceScores {
  double random = 0, expert = 0;
};

// By D4RL's id of a dataset, for example "hopper-medium-v2", or by the id of an environment whose
// tasks all share them, for example "Hopper-v4"; nothing for other ids.
std::optional<ReferenceScores> reference_scores(const std::string& task_id);

// 0 for the random policy, 100 for the expert; nothing if there are no reference scores.
// `others` is used for tasks without D4RL scores.
std::optional<double> normalized_score(const std::string& task_id, double episode_return,
                                       const std::optional<ReferenceScores>& others = {});

}  // namespace rl_training
