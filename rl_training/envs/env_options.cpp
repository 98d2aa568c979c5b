#include "rl_training/envs/env_options.h"

#include <cmath>

#include "rl_training/envs/registry.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

void visit_reward(OptionVisitor& options, RewardTransformSpec& reward) {
  visit_reward_preset(options, "preset", reward.preset);
  options.flag("sign", reward.sign, "replace the reward by its sign, before the other parts");
  options.number("scale", reward.scale, any_number(), "factor of the reward");
  options.number("shift", reward.shift, any_number(), "added to the scaled reward");
  Interval clip;
  clip.low = reward.clip_min.value_or(clip.low);
  clip.high = reward.clip_max.value_or(clip.high);
  options.interval("clip", clip, "bounds of the result");
  const auto bound = [](double value) {
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  };
  reward.clip_min = bound(clip.low);
  reward.clip_max = bound(clip.high);
}

}  // namespace

void EnvOptions::visit_options(OptionVisitor& options, const std::string& env_id) {
  options.integer("max_episode_steps", max_episode_steps, at_least(1),
                  "steps after which an episode is truncated; none: the task's limit");
  options.group("wrappers", "wrappers between task and learner", [&](OptionVisitor& wrappers) {
    wrappers.group(
        "reward", "transform of the rewards collected online; evaluations stay raw",
        [&](OptionVisitor& inner) { visit_reward(inner, reward); }, nullptr, "preset");
    wrappers.group(
        "pixels", "observe rendered frames of the task instead of its own observations",
        [&](OptionVisitor& inner) { pixels.visit_options(inner); }, &pixels.used, "size");
  });
  // Unknown and unavailable environments are skipped here, because the code that reads `env_id`
  // reports them.
  const EnvInfo* info = find_environment(env_id);
  if (info == nullptr || !info->unavailable.empty()) return;
  const auto prototype = info->make();
  set_task_options(*prototype, task);
  prototype->visit_options(options);
  task = write_options([&](OptionVisitor& writer) { prototype->visit_options(writer); });
}

RewardTransform EnvOptions::reward_transform(const TransitionDataset* dataset) const {
  try {
    return resolve_reward_transform(reward, dataset);
  } catch (const Error& error) {
    const std::string key = error.place().key.substr(std::string("reward_").size());
    const std::string map = "env_kwargs.wrappers.reward.";
    if (!key.starts_with("clip_")) throw Error(error.kind(), {"", 0, map + key}, error.message());
    throw Error(error.kind(), {"", 0, map + "clip"},
                "the lower bound is above the upper bound (some bounds come from the preset)");
  }
}

}  // namespace rl_training
