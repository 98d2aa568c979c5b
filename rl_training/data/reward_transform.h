#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/options.h"

namespace rl_training {

// clip(scale * sign(reward) + shift), each part optional, in this order. Applies to datasets and to
// collected rewards; evaluation reports raw rewards.
struct RewardTransform {
  bool sign = false;
  double scale = 1, shift = 0;
  std::optional<double> clip_min, clip_max;

  double apply(double reward) const;
  bool identity() const;
  bool operator==(const RewardTransform&) const = default;
};

// A preset and explicit parts, which override those of the preset.
struct RewardTransformSpec {
  std::string preset;  // "": none
  std::optional<bool> sign;
  std::optional<double> scale, shift, clip_min, clip_max;
};

struct RewardPreset {
  const char* name;
  const char* meaning;
  bool needs_dataset;
};
const std::vector<RewardPreset>& reward_presets();
// The option `key` that names one of them, or "none".
void visit_reward_preset(OptionVisitor& options, const char* key, std::string& preset);

// Presets that depend on the data use `dataset` and are rejected without it. Throws Error{config}
// for an unknown preset, clip_min above clip_max and values that are not finite.
RewardTransform resolve_reward_transform(const RewardTransformSpec& spec,
                                         const TransitionDataset* dataset);

TransitionDataset transform_rewards(const TransitionDataset& dataset,
                                    const RewardTransform& transform);

}  // namespace rl_training
