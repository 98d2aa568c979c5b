#pragma once
#include "rl_training/models/mlp.h"

namespace rl_training {

// Moves a proposed action by at most `scale` in each dimension and keeps it in [-1, 1] (BCQ).
class PerturbationActor {
 public:
  struct Options {
    std::vector<int64_t> hidden_sizes = {400, 300};
    double scale = 0.05;
  };

  PerturbationActor(int64_t obs_dim, int64_t action_dim, const Options& options, Rng& rng,
                    const Compute& compute);

  // clip(a + scale * tanh(network(obs, a)), -1, 1), [rows, action_dim]
  torch::Tensor actions(const torch::Tensor& obs, const torch::Tensor& proposed) const;

  PolicyGraph::Value describe(PolicyGraph& graph, PolicyGraph::Value obs,
                              PolicyGraph::Value proposed) const;

  // All leaves to optimise.
  std::vector<torch::Tensor> parameters() const { return {network_.parameters()}; }
  Mlp& network() { return network_; }
  const Mlp& network() const { return network_; }
  void visit_state(StateVisitor& state) { network_.visit_state(state); }

 private:
  double scale_;
  Mlp network_;
};

}  // namespace rl_training
