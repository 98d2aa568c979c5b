#pragma once
#include "rl_training/models/gaussian.h"
#include "rl_training/models/mlp.h"

namespace rl_training {

// A normal distribution over actions at each observation. In BC, IQL, XQL and AWAC, it is
// unsquashed and has the same standard deviation at every observation. In the other algorithms that
// use this class, tanh squashes it into [-1, 1].
class GaussianActor {
 public:
  struct Options {
    std::vector<int64_t> hidden_sizes = {256, 256};
    bool squash = true;
    bool tanh_mean = false;           // mean in [-1, 1]; only if unsquashed with a free log std
    bool state_dependent_std = true;  // false: one free log std per action dimension, initially 0
    bool learn_free_std = true;       // false: the free log std is constant
    // If true, the log std is m x + c, where x is the network's output. Initially m = 1 and c = -1.
    bool learn_std_scale = false;
    double log_std_min = -20.0, log_std_max = 2.0;
    LayerNorm layer_norm = LayerNorm::none;
    double layer_norm_eps = 1e-5;
    LayerInit hidden_init = {}, output_init = {};
  };

  GaussianActor(int64_t obs_dim, int64_t action_dim, const Options& options, Rng& rng,
                const Compute& compute);
  // Uses the given network, which maps observations to the values of the head.
  GaussianActor(std::unique_ptr<FeedForward> network, int64_t action_dim, const Options& options);
  GaussianActor(const GaussianActor& other);  // an independent copy, for target networks
  GaussianActor& operator=(const GaussianActor&) = delete;

  GaussianHead head(const torch::Tensor& obs, Mode mode = Mode::eval) const;
  // Reparameterised samples. With noise [rows * n, action_dim], each row has n samples.
  GaussianSample sample(const torch::Tensor& obs, const torch::Tensor& noise,
                        Mode mode = Mode::eval) const {
    return gaussian_sample(head(obs, mode), noise);
  }
  // The mode of the unsquashed distribution, mapped into [-1, 1]; used for evaluation.
  torch::Tensor mode(const torch::Tensor& obs) const;

  // For export: the mode, and samples computed from constant noise [rows, action_dim].
  PolicyGraph::Value describe_mode(PolicyGraph& graph, PolicyGraph::Value obs) const;
  PolicyGraph::Value describe_samples(PolicyGraph& graph, PolicyGraph::Value obs,
                                      PolicyGraph::Value noise) const;

  int64_t action_dim() const { return action_dim_; }
  // All leaves to optimise.
  std::vector<torch::Tensor> parameters() const;
  void polyak_from(const GaussianActor& other, double tau);
  void visit_state(StateVisitor& state);

 private:
  void add_free_parameters();

  Options options_;
  int64_t action_dim_;
  std::unique_ptr<FeedForward> network_;
  torch::Tensor free_log_std_;  // [action_dim]; undefined if the std depends on the state
  torch::Tensor std_scale_;     // m and c of learn_std_scale; undefined if they are not learnt
};

}  // namespace rl_training
