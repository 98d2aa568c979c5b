#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/options.h"

namespace rl_training {

// Computes clip(scale * sign(reward) + shift); each operation is optional. The transform applies to
// datasets and to collected rewards. Evaluation reports raw rewards.
struct RewardTransform {
  bool sign = false;
  double scale = 1, shift = 0;
  std::optional<double> clip_min, clip_max;

  double apply(double reward) const;
  bool identity() const;
  bool operator==(const RewardTransform&) const = default;
};

// A preset and explicit values, which override the values of the preset.
struct RewardTransformSpec {
  std::string preset;  // "" for no preset
  std::optional<bool> sign;
  std::optional<double> scale, shift, clip_min, clip_max;
};

struct RewardPreset {
  const char* name;
  const char* meaning;
  bool needs_dataset;
};
const std::vector<RewardPreset>& reward_presets();
// Visits the option `key`, whose value is the name of a preset or "none".
void visit_reward_preset(OptionVisitor& options, const char* key, std::string& preset);

// Combines the preset and the explicit values. Presets that depend on the data require `dataset`.
// Throws Error{config} for an unknown preset, a missing or empty dataset, clip_min above clip_max,
// and values that are not finite. Throws Error{data} if the preset divides by 0 because all rewards
// or all returns are equal.
RewardTransform resolve_reward_transform(const RewardTransformSpec& spec,
                                         const TransitionDataset* dataset);

TransitionDataset transform_rewards(const TransitionDataset& dataset,
                                    const RewardTransform& transform);

}  // namespace rl_training
