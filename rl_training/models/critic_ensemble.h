#pragma once
#include "rl_training/models/mlp.h"

namespace rl_training {

// N state-action values Q_1 .. Q_N in one network; twin critics have N = 2.
class CriticEnsemble {
 public:
  struct Options {
    int64_t count = 2;
    int64_t outputs = 1;  // if above 1, each critic outputs a distribution
    std::vector<int64_t> hidden_sizes = {256, 256};
    Activation activation = Activation::relu;
    LayerNorm layer_norm = LayerNorm::none;
    double layer_norm_eps = 1e-5;
    LayerInit hidden_init = {}, output_init = {};
  };

  CriticEnsemble(int64_t obs_dim, int64_t action_dim, const Options& options, Rng& rng,
                 const Compute& compute);
  // Uses the given network, which maps (obs, action) to one value per member.
  explicit CriticEnsemble(std::unique_ptr<FeedForward> network) : network_(std::move(network)) {}
  CriticEnsemble(const CriticEnsemble& other) : network_(other.network_->clone()) {}
  CriticEnsemble& operator=(const CriticEnsemble&) = delete;

  // [count, rows]
  torch::Tensor values(const torch::Tensor& obs, const torch::Tensor& actions, Use use = Use::train,
                       Mode mode = Mode::eval) const;

  // All outputs, [count, rows, outputs].
  torch::Tensor distributions(const torch::Tensor& obs, const torch::Tensor& actions,
                              Use use = Use::train) const;

  // Q_1 alone, [rows]
  torch::Tensor first_value(const torch::Tensor& obs, const torch::Tensor& actions,
                            Use use = Use::train) const;

  FeedForward& network() { return *network_; }
  const FeedForward& network() const { return *network_; }
  void visit_state(StateVisitor& state) { network_->visit_state(state); }

 private:
  std::unique_ptr<FeedForward> network_;
};

}  // namespace rl_training
