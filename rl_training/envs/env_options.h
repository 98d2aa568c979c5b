#pragma once
#include <optional>
#include <string>

#include "rl_training/data/reward_transform.h"
#include "rl_training/envs/pixels.h"
#include "rl_training/util/json.h"
#include "rl_training/util/options.h"

namespace rl_training {

// `env_kwargs`: options of an environment and of its wrappers.
struct EnvOptions {
  std::optional<int64_t> max_episode_steps;  // nullopt: the task's own limit
  RewardTransformSpec reward;                // `wrappers.reward`
  PixelOptions pixels;                       // `wrappers.pixels`
  Json task = Json::object();  // options of the task itself; missing keys keep their defaults

  // Visits the keys that all environments share, then the keys of the task `env_id`.
  void visit_options(OptionVisitor& options, const std::string& env_id);

  // Returns the transform that is applied to rewards collected online. Evaluations report raw
  // rewards. Reward presets that depend on data use `dataset`, which may be null for other presets.
  // Throws Error{config} that names the key if a value is invalid.
  RewardTransform reward_transform(const TransitionDataset* dataset) const;
};

}  // namespace rl_training
