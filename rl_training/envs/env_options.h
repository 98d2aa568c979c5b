#pragma once
#include <optional>
#include <string>

#include "rl_training/data/reward_transform.h"
#include "rl_training/envs/pixels.h"
#include "rl_training/util/json.h"
#include "rl_training/util/options.h"

namespace rl_training {

// `env_kwargs`: options of an environment and its wrappers.
struct EnvOptions {
  std::optional<int64_t> max_episode_steps;  // none: the task's own limit
  RewardTransformSpec reward;                // `wrappers.reward`
  PixelOptions pixels;                       // `wrappers.pixels`
  Json task = Json::object();  // keys of the task itself; missing keys keep their defaults

  // Visits the keys of every environment, then those of the task `env_id`.
  void visit_options(OptionVisitor& options, const std::string& env_id);

  // Transform of rewards collected online; evaluations report raw rewards. `dataset`, which may be
  // null, is used by presets that depend on data. Throws Error{config} with the offending key.
  RewardTransform reward_transform(const TransitionDataset* dataset) const;
};

}  // namespace rl_training
