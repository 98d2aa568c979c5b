#pragma once
#include "rl_training/algorithms/iql.h"

namespace rl_training {

// The defaults are the authors' settings for D4RL's locomotion datasets. `gumbel_temperature`
// depends on the dataset; see docs/algorithms/xql.md.
struct XqlOptions : ImplicitOptions {
  static constexpr const char* kName = "xql";
  double gumbel_temperature = 2.0;
  double gumbel_clip = 7.0;
  double value_action_noise = 0.0;

  XqlOptions() { batch_size = 1024; }
  void visit_options(OptionVisitor& options) override;
};

IqlValueLoss xql_value_loss(const IqlNetworks& networks, const Batch& batch,
                            const torch::Tensor& target_q, const XqlOptions& options);
CriticLoss xql_critic_loss(const IqlNetworks& networks, const Batch& batch);

// XQL (arXiv:2301.02328): IQL whose value is a soft maximum of Q over dataset actions, learnt by
// Gumbel regression.
class Xql final : public ImplicitQ {
 public:
  Xql(const XqlOptions& options, const AlgorithmContext& context)
      : ImplicitQ(options, context, LayerNorm::before_activation),
        options_(options),
        rng_(context.own_seed(), "policy") {}

  void visit_state(StateVisitor& state) override;

 protected:
  IqlValueLoss value_loss(const Batch& batch, const torch::Tensor& target_q) override;
  CriticLoss critic_loss(const Batch& batch) override { return xql_critic_loss(networks(), batch); }

 private:
  XqlOptions options_;
  Rng rng_;
  NoiseBuffer noise_;
};

AlgorithmInfoOf<Xql, XqlOptions> xql_info();

}  // namespace rl_training
