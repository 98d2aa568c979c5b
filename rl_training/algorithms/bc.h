#pragma once
#include "rl_training/algorithms/algorithm.h"
#include "rl_training/algorithms/log_std_bounds.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/gaussian_actor.h"

namespace rl_training {

struct BcOptions : AlgorithmOptions {
  static constexpr const char* kName = "bc";
  std::string policy = "deterministic";
  LogStdBounds log_std;

  void visit_options(OptionVisitor& options) override;
  BatchRequest request() const override;
  void check() const override { log_std.check(); }
  bool deterministic() const { return policy == "deterministic"; }
};

struct BcNetworks {
  BcNetworks(const BcOptions& options, const AlgorithmContext& context, Rng rng);
  // What the optimiser moves; the log std of a deterministic policy stays as it is.
  std::vector<torch::Tensor> leaves(const BcOptions& options) const;

  GaussianActor actor;
};

// actor_loss, bc_loss.
Loss bc_loss(const BcNetworks& networks, const Batch& batch, const BcOptions& options);

// Behaviour cloning: supervised learning of the dataset's actions. With `dataset_top_fraction` it
// is %BC, cloning of the best episodes.
class Bc final : public Algorithm {
 public:
  Bc(const BcOptions& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  void visit_state(StateVisitor& state) override;

 private:
  BcOptions options_;
  Rng explore_rng_;
  BcNetworks networks_;
  Adam optimizer_;
  NoiseBuffer noise_;
};

AlgorithmInfo bc_info();

}  // namespace rl_training
