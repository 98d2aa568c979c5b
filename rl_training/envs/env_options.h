#pragma once
#include <optional>
#include <string>

#include "rl_training/data/reward_transform.h"
#include "rl_training/envs/pixels.h"
#include "rl_training/util/json.h"
#include "rl_training/util/options.h"

namespace rl_training {

// `env_kwargs`: how one environment is made and what a learner gets of it.
struct EnvOptions {
  std::optional<int64_t> max_episode_steps;  // none: the task's own limit
  RewardTransformSpec reward;                // `wrappers.reward`
  PixelOptions pixels;                       // `wrappers.pixels`
  Json task = Json::object();  // keys of the task itself; missing keys keep their defaults

  // The keys that every environment has, then those of the task `env_id`.
  void visit_options(OptionVisitor& options, const std::string& env_id);

  // What is done to rewards collected online; evaluations report raw ones. `dataset`, which may be
  // null, serves presets that depend on data. Error{config} with the key of the part at fault.
  RewardTransform reward_transform(const TransitionDataset* dataset) const;
};

}  // namespace rl_training
