#pragma once
#include "rl_training/algorithms/algorithm.h"
#include "rl_training/data/replay_buffer.h"
#include "rl_training/data/reward_transform.h"
#include "rl_training/envs/vector_env.h"
#include "rl_training/runtime/episode_log.h"

namespace rl_training {

// Collects transitions into the replay buffer, first with uniformly random actions, then with the
// algorithm's actions in explore mode. The buffer stores raw observations and transformed rewards.
class Collector {
 public:
  struct Options {
    int64_t learning_starts = 0;  // environment steps with random actions
    RewardTransform reward = {};
    int64_t processes = 1;  // number of processes; each has the same number of environments
  };

  Collector(VectorEnv envs, ReplayBuffer& buffer, Algorithm& algorithm,
            const ObsNormalizer& normalizer, const Options& options, Rng rng);

  // Steps every environment once.
  void step();
  int64_t steps() const { return steps_; }  // summed over all environments and processes
  const ReplayBuffer& buffer() const { return buffer_; }
  Algorithm& algorithm() const { return algorithm_; }

  EpisodeLog& episodes() { return episodes_; }  // returns are sums of raw rewards

  void visit_state(StateVisitor& state);

 private:
  torch::Tensor choose_actions();
  const torch::Tensor& draw_random_actions();

  VectorEnv envs_;
  ReplayBuffer& buffer_;
  Algorithm& algorithm_;
  const ObsNormalizer& normalizer_;
  Options options_;
  Rng rng_;
  std::unique_ptr<PolicyState> policy_state_;
  torch::Tensor obs_, random_actions_;
  std::vector<unsigned char> acted_on_;  // raw observations before the step
  EpisodeLog episodes_;
  int64_t steps_ = 0;
  bool started_ = false;
};

}  // namespace rl_training
