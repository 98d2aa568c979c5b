#pragma once
#include "rl_training/algorithms/algorithm.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/critic_ensemble.h"
#include "rl_training/models/deterministic_actor.h"

namespace rl_training {

struct Td3Options : AlgorithmOptions {
  static constexpr const char* kName = "td3";
  double policy_noise = 0.2;
  double noise_clip = 0.5;
  int64_t policy_delay = 2;
  double exploration_noise = 0.1;
  int64_t critics = 2;  // not a key: DDPG has one
  CollectOptions environment;

  CollectOptions* collect() override { return &environment; }
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override;
  void visit_options(OptionVisitor& options) override;
};

// Actor, critics and their targets.
struct Td3Networks {
  Td3Networks(const std::vector<int64_t>& hidden_sizes, int64_t critic_count,
              const AlgorithmContext& context, Rng rng);
  DeterministicActor actor, actor_target;
  CriticEnsemble critics, critics_target;

  void move_targets(double tau);
  void visit_state(StateVisitor& state);
};

// critic_loss, target_q_mean. `noise` is standard normal, [rows, action_dim].
Loss td3_critic_loss(const Td3Networks& networks, const Batch& batch, const torch::Tensor& noise,
                     double policy_noise, double noise_clip);
// actor_loss, actor_q_mean.
Loss td3_actor_loss(const Td3Networks& networks, const Batch& batch);
// Both on one batch with the networks as they are.
Loss td3_loss(const Td3Networks& networks, const Batch& batch, const torch::Tensor& noise,
              const Td3Options& options);

// actions + exploration_noise * N(0, 1), inside [-1, 1].
torch::Tensor explore_around(const torch::Tensor& actions, double exploration_noise, Rng& rng,
                             NoiseBuffer& buffer);

// TD3 (arXiv:1802.09477): twin critics, delayed actor, smoothed target policy.
class Td3 : public Algorithm {
 public:
  Td3(const Td3Options& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  void visit_state(StateVisitor& state) override;

 private:
  Td3Options options_;
  Rng rng_, explore_rng_;
  Td3Networks networks_;
  Adam actor_optimizer_, critic_optimizer_;
  NoiseBuffer noise_, explore_noise_;
  DelayedMetrics actor_metrics_;
  int64_t updates_ = 0;
};

AlgorithmInfo td3_info();

}  // namespace rl_training
