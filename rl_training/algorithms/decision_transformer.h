#pragma once
#include "rl_training/algorithms/algorithm.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/transformer.h"

namespace rl_training {

struct DecisionTransformerOptions : AlgorithmOptions {
  static constexpr const char* kName = "decision_transformer";
  std::optional<double> target_return;  // required
  double return_scale = 1000.0;
  int64_t context_length = 20;
  int64_t max_episode_length = 1000;
  int64_t embed_dim = 128, num_layers = 3, num_heads = 1;
  double dropout = 0.1;
  double weight_decay = 1e-4;
  double gradient_clip_norm = 0.25;

  DecisionTransformerOptions();
  void visit_options(OptionVisitor& options) override;
  BatchRequest request() const override;
  void check() const override;
};

struct DecisionTransformerLoss {
  torch::Tensor loss;
  torch::Tensor gradient_norm;  // before clipping; set after the optimiser step
  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
    visit("gradient_norm", gradient_norm);
  }
};

// Mean of (predicted - actions)^2 over the steps whose mask is 1. Actions are [rows, steps,
// action_dim]; the mask is [rows, steps].
torch::Tensor masked_squared_error(const torch::Tensor& predicted, const torch::Tensor& actions,
                                   const torch::Tensor& mask);

// If `dropout` is null, there is no dropout.
DecisionTransformerLoss decision_transformer_loss(const Transformer& network, const Batch& batch,
                                                  double return_scale, Rng* dropout);

// Decision Transformer (arXiv:2106.01345): a sequence model that clones the actions of episodes,
// conditioned on the return-to-go and the preceding steps. Its policy stores the last
// `context_length` steps.
class DecisionTransformer final : public Algorithm {
 public:
  DecisionTransformer(const DecisionTransformerOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  // Both modes return the same actions, because the policy has no noise.
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const override;
  std::unique_ptr<PolicyState> make_policy_state(int64_t rows) const override;
  void visit_state(StateVisitor& state) override;

 private:
  DecisionTransformerOptions options_;
  int64_t obs_dim_, action_dim_;
  Rng dropout_rng_;
  Transformer network_;
  Adam optimizer_;
};

AlgorithmInfoOf<DecisionTransformer, DecisionTransformerOptions> decision_transformer_info();

}  // namespace rl_training
