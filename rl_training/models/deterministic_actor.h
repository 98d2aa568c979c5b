#pragma once
#include "rl_training/models/mlp.h"

namespace rl_training {

// a = tanh(network(obs)), in [-1, 1].
class DeterministicActor {
 public:
  struct Options {
    std::vector<int64_t> hidden_sizes = {256, 256};
    LayerInit hidden_init = {}, output_init = {};
  };

  DeterministicActor(int64_t obs_dim, int64_t action_dim, const Options& options, Rng& rng,
                     const Compute& compute);

  // [rows, action_dim]
  torch::Tensor actions(const torch::Tensor& obs) const {
    const std::array<int64_t, 2> shape = {obs.size(0), network_.outputs()};
    return network_.forward(obs, {}, {.shape = shape});
  }

  PolicyGraph::Value describe(PolicyGraph& graph, PolicyGraph::Value obs) const {
    return network_.describe(graph, obs);
  }

  // All leaves to optimise.
  std::vector<torch::Tensor> parameters() const { return {network_.parameters()}; }
  Mlp& network() { return network_; }
  const Mlp& network() const { return network_; }
  void visit_state(StateVisitor& state) { network_.visit_state(state); }

 private:
  Mlp network_;
};

}  // namespace rl_training
