#pragma once
#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/models/mlp.h"

namespace rl_training {

// What algorithms for discrete actions share: networks that see an observation and give one value
// for each choice (Q, or logits).

MlpSpec choice_spec(const AlgorithmOptions& options, const AlgorithmContext& context,
                    int64_t members = 1);

// Of a single network: [rows, choices].
torch::Tensor choice_values(const Mlp& network, const torch::Tensor& obs);

// The values of the choices that were made: [..., rows, choices], [rows] -> [..., rows].
torch::Tensor values_of(const torch::Tensor& values, const torch::Tensor& choices);

// A choice for each row, by uniform draws [rows, 1] in [0, 1): [rows, choices] -> [rows] (int64)
torch::Tensor draw_choices(const torch::Tensor& log_probs, const torch::Tensor& uniform);

// How far the values of all choices exceed that of the one made: mean (log sum_b exp Q(s, b) -
// Q(s, a)), CQL's penalty. [..., rows, choices], [..., rows] -> scalar
torch::Tensor conservative_difference(const torch::Tensor& values, const torch::Tensor& chosen);

// Q(s, a) for every choice, and its target network.
struct DiscreteQNetworks {
  DiscreteQNetworks(const AlgorithmOptions& options, const AlgorithmContext& context, Rng rng);
  void visit_state(StateVisitor& state);

  Mlp critics, critics_target;  // one member each
};

// The loss, and Q(s, .) [rows, choices] and Q(s, a) [rows] that it compares with the target.
struct DiscreteTdLoss {
  CriticLoss critic;
  torch::Tensor values, chosen;
};
// `next_choices` [rows] are the choices at s' that the target network evaluates.
DiscreteTdLoss discrete_td_loss(const DiscreteQNetworks& networks, const Batch& batch,
                                const torch::Tensor& next_choices);
// argmax_a Q(s', a) of the network that is trained, without gradient: [rows].
torch::Tensor double_q_choices(const DiscreteQNetworks& networks, const Batch& batch);

// Greedy choices, and with probability epsilon any. Draws come from the stream "explore/policy".
class EpsilonGreedy {
 public:
  explicit EpsilonGreedy(uint64_t seed) : rng_(seed, "explore/policy") {}

  torch::Tensor explore(const torch::Tensor& greedy, int64_t choices, double epsilon);
  // Adds "explore_rng" to the state of its owner.
  void visit_state(StateVisitor& state) { state.part("explore_rng", rng_); }

 private:
  Rng rng_;
};

// Holds what changes in training. An algorithm adds its losses and update, and names what else it
// changes in visit_state.
class DiscreteQ : public Algorithm {
 public:
  DiscreteQ(const AlgorithmOptions& options, const AlgorithmContext& context);

  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  torch::Tensor values(const torch::Tensor& obs, const torch::Tensor& actions) const override;
  void visit_state(StateVisitor& state) override;

 protected:
  // Without gradient, [rows]: the choice with the largest value.
  virtual torch::Tensor greedy(const torch::Tensor& obs) const;
  // How often exploring leaves the greedy choice; asked once for each step of `rows` environments.
  virtual double next_epsilon(int64_t rows) = 0;

  DiscreteQNetworks networks_;

 private:
  EpsilonGreedy explorer_;
};

}  // namespace rl_training
