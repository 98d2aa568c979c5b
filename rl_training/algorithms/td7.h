#pragma once
#include "rl_training/algorithms/td3.h"

namespace rl_training {

struct Td7Options : DelayedActorOptions {
  static constexpr const char* kName = "td7";
  int64_t embedding_dim = 256;
  double actor_bc_weight = 0.1;
  int64_t target_update_interval = 250;
  double min_priority = 1.0, priority_exponent = 0.4;
  bool policy_checkpoints = true;
  int64_t checkpoint_episodes = 20, checkpoint_after_updates = 750000;
  double checkpoint_reset_weight = 0.9;

  void visit_options(OptionVisitor& options) override;
  BatchRequest request() const override;
};

// Divides each row of x by the mean of the row's absolute values.
torch::Tensor average_l1_norm(const torch::Tensor& x);

// Embeddings of states, z = AvgL1Norm(f(s)), and of state-action pairs, z_sa = g(z, a). Both are
// [rows, embedding_dim].
struct Td7Encoder {
  Td7Encoder(const Td7Options& options, const AlgorithmContext& context, Rng& rng);
  torch::Tensor embed(const torch::Tensor& obs) const;
  torch::Tensor embed_pair(const torch::Tensor& embedding, const torch::Tensor& actions,
                           Use use = Use::train) const;
  void copy_from(const Td7Encoder& other);
  std::vector<torch::Tensor> parameters() const { return {f.parameters(), g.parameters()}; }
  void visit_state(StateVisitor& state);

  Mlp f, g;
};

// head(AvgL1Norm(first(s)), z): [rows, action_dim]. The output activation of `head` is tanh.
struct Td7Actor {
  Td7Actor(const Td7Options& options, const AlgorithmContext& context, Rng& rng);
  torch::Tensor actions(const torch::Tensor& obs, const torch::Tensor& embedding) const;
  void copy_from(const Td7Actor& other);
  std::vector<torch::Tensor> parameters() const { return {first.parameters(), head.parameters()}; }
  void visit_state(StateVisitor& state);

  Mlp first, head;
};

// Input of a critic: observation, action, and the embeddings z and z_sa.
struct Td7Input {
  torch::Tensor obs, actions, embedding, pair;
};

// head(AvgL1Norm(first(s, a)), z_sa, z): [rows]
struct Td7Critic {
  Td7Critic(const Td7Options& options, const AlgorithmContext& context, Rng& rng);
  torch::Tensor values(const Td7Input& input, Use use) const;
  void copy_from(const Td7Critic& other);
  void visit_state(StateVisitor& state);

  Mlp first, head;
};

struct Td7Critics {
  Td7Critics(const Td7Options& options, const AlgorithmContext& context, Rng& rng)
      : one(options, context, rng), two(options, context, rng) {}
  // [2, rows]
  torch::Tensor values(const Td7Input& input, Use use = Use::train) const {
    return torch::stack({one.values(input, use), two.values(input, use)});
  }
  void copy_from(const Td7Critics& other);
  std::vector<torch::Tensor> parameters() const;
  void visit_state(StateVisitor& state);

  Td7Critic one, two;
};

// Actor and critics use the embeddings of `fixed`. Their target networks use the embeddings of
// `fixed_target`. Every `target_update_interval` updates, `fixed_target` copies `fixed` and then
// `fixed` copies `encoder`.
struct Td7Networks {
  Td7Networks(const Td7Options& options, const AlgorithmContext& context, Rng rng);
  void visit_state(StateVisitor& state);

  Td7Encoder encoder, fixed, fixed_target;
  Td7Actor actor, actor_target;
  Td7Critics critics, critics_target;
};

// Scalar bounds `low` and `high` of bootstrapped values. `see` records the smallest and largest
// target so far, and `follow` copies these two records to the bounds.
struct ValueRange {
  torch::Tensor low = torch::zeros({}), high = torch::zeros({});
  torch::Tensor seen_low = torch::full({}, 1e8f), seen_high = torch::full({}, -1e8f);

  void see(const torch::Tensor& targets);
  void follow();
  void visit_state(StateVisitor& state);
};

struct Td7EncoderLoss {
  torch::Tensor loss;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("encoder_loss", loss);
  }
};
Td7EncoderLoss td7_encoder_loss(const Td7Networks& networks, const Batch& batch);

// The critics' target: [rows], without gradient. `noise` is standard normal, [rows, action_dim].
torch::Tensor td7_target(const Td7Networks& networks, const Batch& batch,
                         const torch::Tensor& noise, const Td7Options& options,
                         const ValueRange& range);

// `values` is [2, rows]; `target` is [rows].
CriticLoss td7_critic_loss(const torch::Tensor& values, const torch::Tensor& target,
                           double min_priority);
// Priorities of the rows: [rows]. `values` is [2, rows]; `target` is [rows].
torch::Tensor td7_priorities(const torch::Tensor& values, const torch::Tensor& target,
                             const Td7Options& options);

struct Td7ActorLoss {
  torch::Tensor loss, bc_loss, q_mean;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
    visit("bc_loss", bc_loss);
    visit("actor_q_mean", q_mean);
  }
};
// `values` are the critics' values of the actor's actions: [2, rows]. `bc_loss` is the mean squared
// difference between these actions and the dataset actions.
Td7ActorLoss td7_actor_loss(const torch::Tensor& values, const torch::Tensor& bc_loss,
                            double bc_weight);

// TD7 (arXiv:2306.02451): TD3 with learnt embeddings of states and actions, prioritised rows and
// hard target updates. With policy_checkpoints, it also keeps a copy of the best policy of the
// online phase so far, and uses this copy for evaluation.
class Td7 final : public Algorithm {
 public:
  Td7(const Td7Options& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor priorities() const override { return priorities_; }
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  void episode_collected(double episode_return) override;
  int64_t updates_now(int64_t due) override;
  torch::Tensor values(const torch::Tensor& obs, const torch::Tensor& actions) const override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override;
  void begin_phase(const PhaseSpec& phase, int64_t planned_updates) override;
  void visit_state(StateVisitor& state) override;

 private:
  void update_actor(const Batch& batch, const Td7Input& input, double lr_scale);
  void update_targets();
  void keep_policy();

  Td7Options options_;
  int64_t processes_;
  Rng rng_;
  Explorer explorer_;
  Td7Networks networks_;
  Td7Encoder checkpoint_encoder_;
  Td7Actor checkpoint_actor_;
  Adam encoder_optimizer_, critic_optimizer_, actor_optimizer_;
  NoiseBuffer noise_;
  ValueRange range_;
  Held<Td7ActorLoss> actor_loss_;
  torch::Tensor priorities_;  // of the latest batch
  int64_t updates_ = 0;
  // State of the online phase.
  bool online_ = false, has_checkpoint_ = false;
  bool rated_ = false;  // the policy's rating is complete, so the postponed updates can run
  int64_t due_updates_ = 0, online_updates_ = 0, rated_episodes_ = 0;
  double lowest_return_, best_lowest_return_;
};

AlgorithmInfoOf<Td7, Td7Options> td7_info();

}  // namespace rl_training
