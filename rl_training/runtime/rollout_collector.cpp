#include "rl_training/runtime/rollout_collector.h"

#include <algorithm>

#include "rl_training/runtime/acting.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr float kRewardLimit = 10.0f;  // bound of normalised rewards

// If a warm start copied a normaliser, the running statistics start from the normaliser's values,
// with the weight of one rollout.
RunningStatistics first_statistics(const ObsNormalizer& normalizer, int64_t rollout_steps) {
  if (normalizer.identity())
    return RunningStatistics(static_cast<int64_t>(normalizer.mean().size()));
  return {normalizer.mean(), normalizer.scale(), static_cast<double>(rollout_steps)};
}

}  // namespace

RolloutCollector::RolloutCollector(VectorEnv envs, RolloutBuffer& buffer,
                                   OnPolicyAlgorithm& algorithm, ObsNormalizer& normalizer,
                                   const Options& options)
    : envs_(std::move(envs)),
      buffer_(buffer),
      algorithm_(algorithm),
      normalizer_(normalizer),
      options_(options),
      obs_statistics_(first_statistics(normalizer, options.rollout.steps)),
      return_statistics_(1),
      discounted_(static_cast<size_t>(envs_.count())),
      obs_(obs_buffer(envs_)),
      later_obs_(obs_buffer(envs_)),
      rewards_(discounted_.size()),
      ended_(discounted_.size()),
      episodes_(envs_.count()) {
  // If environments step together, some of their steps only begin an episode. A rollout cannot
  // store such steps.
  if (!envs_.spec().steps_together) return;
  throw Error(ErrorKind::config, {"", 0, "env_id"},
              envs_.spec().id +
                  ": rollouts are not collected in vectors of environments (expected one "
                  "environment, and num_envs)");
}

// Adds the current observations to the running statistics, and sets the normaliser to the result.
void RolloutCollector::observe() {
  if (!options_.rollout.normalize_observations) return;
  obs_statistics_.add(envs_.obs());
  normalizer_.set(obs_statistics_.mean(), obs_statistics_.deviation());
}

void RolloutCollector::step() {
  if (!started_) {
    envs_.reset();
    observe();
  }
  started_ = true;
  normalized_obs(envs_, normalizer_, obs_);
  const auto chosen = algorithm_.roll(obs_);
  step_with(envs_, chosen.actions);
  take_rewards();
  observe();
  bootstrap_time_outs();
  buffer_.add({.obs = obs_.data_ptr(),
               .actions = chosen.actions.data_ptr(),
               .log_probs = chosen.log_probs.data_ptr<float>(),
               .values = chosen.values.data_ptr<float>(),
               .rewards = rewards_.data(),
               .ended = ended_.data()});
  steps_ += envs_.count();
  if (!buffer_.full()) return;
  normalized_obs(envs_, normalizer_, later_obs_);
  const auto last = algorithm_.state_values(later_obs_);
  buffer_.finish({last.data_ptr<float>(), static_cast<size_t>(last.numel())}, options_.gamma,
                 options_.rollout.gae_lambda);
}

void RolloutCollector::take_rewards() {
  for (int64_t i = 0; i < envs_.count(); ++i) {
    const bool ended = envs_.terminated()[i] != 0 || envs_.truncated()[i] != 0;
    const double reward = envs_.rewards()[i];
    episodes_.add(i, reward, ended);
    ended_[i] = ended ? 1 : 0;
    rewards_[i] = static_cast<float>(options_.reward.apply(reward));
  }
  if (options_.rollout.normalize_rewards) normalize_rewards();
}

void RolloutCollector::normalize_rewards() {
  const auto gamma = static_cast<float>(options_.gamma);
  for (size_t i = 0; i < rewards_.size(); ++i) {
    discounted_[i] = gamma * discounted_[i] + rewards_[i];
  }
  return_statistics_.add(discounted_);
  const auto deviation = static_cast<float>(return_statistics_.deviation()[0]);
  for (size_t i = 0; i < rewards_.size(); ++i) {
    rewards_[i] = std::clamp(rewards_[i] / deviation, -kRewardLimit, kRewardLimit);
    if (ended_[i] != 0) discounted_[i] = 0;
  }
}

// Adds gamma V(final observation) to the last reward of a truncated episode, because the episode
// would have continued.
void RolloutCollector::bootstrap_time_outs() {
  const auto cut = [&](int64_t i) {
    return envs_.truncated()[i] != 0 && envs_.terminated()[i] == 0;
  };
  torch::Tensor values;
  for (int64_t i = 0; i < envs_.count(); ++i) {
    if (!cut(i)) continue;
    if (!values.defined()) {
      const int64_t bytes = envs_.spec().observation.bytes();
      auto* out = static_cast<unsigned char*>(later_obs_.data_ptr());
      for (int64_t j = 0; j < envs_.count(); ++j) {
        normalizer_.apply(envs_.final_obs_of(j), out + j * bytes);
      }
      values = algorithm_.state_values(later_obs_);
    }
    rewards_[i] += static_cast<float>(options_.gamma) * values.data_ptr<float>()[i];
  }
}

void RolloutCollector::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> shape = {envs_.count()};
  state.scalar("started", started_);
  if (started_) state.part("envs", envs_);
  state.part("obs_statistics", obs_statistics_);
  state.part("return_statistics", return_statistics_);
  state.array("discounted", DType::f32, shape, discounted_.data());
  episodes_.visit_state(state);
  state.scalar("steps", steps_);
}

}  // namespace rl_training
