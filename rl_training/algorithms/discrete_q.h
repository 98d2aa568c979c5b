#pragma once
#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/models/mlp.h"

namespace rl_training {

// Parts that algorithms for discrete actions share. The networks map an observation to one value
// per action (Q or a logit). In shapes, "choices" is the number of actions.

MlpSpec choice_spec(const AlgorithmOptions& options, const AlgorithmContext& context,
                    int64_t members = 1);

// Output of a single network: [rows, choices].
torch::Tensor choice_values(const Mlp& network, const torch::Tensor& obs);

// The values of the given actions: [..., rows, choices], [rows] -> [..., rows].
torch::Tensor values_of(const torch::Tensor& values, const torch::Tensor& choices);

// Samples an action for each row: [rows, choices] -> [rows] (int64). `uniform` contains draws in
// [0, 1): [rows, 1].
torch::Tensor draw_choices(const torch::Tensor& log_probs, const torch::Tensor& uniform);

// CQL's penalty: mean (log sum_b exp Q(s, b) - Q(s, a)) with the dataset action a.
// Shapes: [..., rows, choices], [..., rows] -> scalar.
torch::Tensor conservative_difference(const torch::Tensor& values, const torch::Tensor& chosen);

// A network that computes Q(s, a) for every action a, and its target network.
struct DiscreteQNetworks {
  DiscreteQNetworks(const AlgorithmOptions& options, const AlgorithmContext& context, Rng rng);
  void visit_state(StateVisitor& state);

  Mlp critics, critics_target;  // each has one member
};

// The TD loss and the values from which it was computed.
struct DiscreteTdLoss {
  CriticLoss critic;
  torch::Tensor values, chosen;  // Q(s, .), [rows, choices]; Q(s, a), [rows]
};
// `next_choices` [rows] are the actions at s' that the target network evaluates.
DiscreteTdLoss discrete_td_loss(const DiscreteQNetworks& networks, const Batch& batch,
                                const torch::Tensor& next_choices);
// The next actions of Double DQN: argmax_a Q(s', a), where Q is the trained network and not the
// target network. [rows], without gradient.
torch::Tensor double_q_choices(const DiscreteQNetworks& networks, const Batch& batch);

// Replaces each greedy action by a uniformly random action with probability epsilon. The draws come
// from the random stream "explore/policy".
class EpsilonGreedy {
 public:
  explicit EpsilonGreedy(uint64_t seed) : rng_(seed, "explore/policy") {}

  torch::Tensor explore(const torch::Tensor& greedy, int64_t choices, double epsilon);
  // Adds the random stream to the owner's state under the name "explore_rng".
  void visit_state(StateVisitor& state) { state.part("explore_rng", rng_); }

 private:
  Rng rng_;
};

// Base class with the networks and epsilon-greedy exploration. A derived algorithm adds its losses,
// its optimiser, `update` and `next_epsilon`, and extends `visit_state`.
class DiscreteQ : public Algorithm {
 public:
  DiscreteQ(const AlgorithmOptions& options, const AlgorithmContext& context);

  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  torch::Tensor values(const torch::Tensor& obs, const torch::Tensor& actions) const override;
  void visit_state(StateVisitor& state) override;

 protected:
  // The action with the largest value: [rows], without gradient.
  virtual torch::Tensor greedy(const torch::Tensor& obs) const;
  // Probability of a random action; called once for each step of `rows` environments.
  virtual double next_epsilon(int64_t rows) = 0;

  DiscreteQNetworks networks_;

 private:
  EpsilonGreedy explorer_;
};

}  // namespace rl_training
