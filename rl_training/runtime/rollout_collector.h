#pragma once
#include "rl_training/algorithms/on_policy.h"
#include "rl_training/data/normalizer.h"
#include "rl_training/data/reward_transform.h"
#include "rl_training/data/rollout_buffer.h"
#include "rl_training/data/running_statistics.h"
#include "rl_training/envs/vector_env.h"
#include "rl_training/runtime/episode_log.h"

namespace rl_training {

// Collects rollouts with the current policy. Optionally, the policy's normaliser is set from
// running statistics of the observations, and rewards are divided by the standard deviation of
// discounted returns. Only collection updates these statistics; evaluations and updates do not.
class RolloutCollector {
 public:
  struct Options {
    RolloutOptions rollout;
    double gamma = 0.99;
    RewardTransform reward;
  };

  // Buffer, algorithm and normaliser are not owned.
  RolloutCollector(VectorEnv envs, RolloutBuffer& buffer, OnPolicyAlgorithm& algorithm,
                   ObsNormalizer& normalizer, const Options& options);

  // Steps every environment once. The step that fills the rollout also computes the advantages.
  void step();
  int64_t steps() const { return steps_; }  // summed over all environments
  RolloutBuffer& buffer() { return buffer_; }
  EpisodeLog& episodes() { return episodes_; }  // returns are sums of raw rewards

  void visit_state(StateVisitor& state);

 private:
  void observe();
  void take_rewards();
  void normalize_rewards();
  void bootstrap_time_outs();

  VectorEnv envs_;
  RolloutBuffer& buffer_;
  OnPolicyAlgorithm& algorithm_;
  ObsNormalizer& normalizer_;
  Options options_;
  RunningStatistics obs_statistics_, return_statistics_;
  std::vector<float> discounted_;  // discounted returns of the unfinished episodes so far
  torch::Tensor obs_, later_obs_;  // normalised
  std::vector<float> rewards_;     // rewards of the step, as stored in the rollout
  std::vector<uint8_t> ended_;
  EpisodeLog episodes_;
  int64_t steps_ = 0;
  bool started_ = false;
};

}  // namespace rl_training
