#pragma once
#include "rl_training/algorithms/on_policy.h"
#include "rl_training/data/normalizer.h"
#include "rl_training/data/reward_transform.h"
#include "rl_training/data/rollout_buffer.h"
#include "rl_training/data/running_statistics.h"
#include "rl_training/envs/vector_env.h"
#include "rl_training/runtime/episode_log.h"

namespace rl_training {

// Plays in the environments with the current policy and fills a rollout. Where asked for, running
// statistics of what it sees set the policy's normaliser, and rewards are divided by the deviation
// of discounted returns. Only collecting moves the statistics: evaluations and updates find them
// fixed.
class RolloutCollector {
 public:
  struct Options {
    RolloutOptions rollout;
    double gamma = 0.99;
    RewardTransform reward;
  };

  // Not owned: buffer, algorithm and normaliser.
  RolloutCollector(VectorEnv envs, RolloutBuffer& buffer, OnPolicyAlgorithm& algorithm,
                   ObsNormalizer& normalizer, const Options& options);

  // One step of every environment. The step that fills the rollout computes its advantages.
  void step();
  int64_t steps() const { return steps_; }  // of all environments together
  RolloutBuffer& buffer() { return buffer_; }
  EpisodeLog& episodes() { return episodes_; }  // with raw rewards

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
  std::vector<float> discounted_;  // returns so far of the episodes that have not ended
  torch::Tensor obs_, later_obs_;  // as the policy sees them
  std::vector<float> rewards_;     // as a rollout keeps them
  std::vector<uint8_t> ended_;
  EpisodeLog episodes_;
  int64_t steps_ = 0;
  bool started_ = false;
};

}  // namespace rl_training
