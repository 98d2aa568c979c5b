#pragma once
#include <memory>
#include <string>

#include "rl_training/models/mlp_kernel.h"
#include "rl_training/models/network.h"

namespace rl_training {

// An MLP, or an ensemble of MLPs of the same shape. The whole network is one autograd node
// (MlpKernel). Passes that need double backward use torch operators instead.
class Mlp final : public FeedForward {
 public:
  Mlp(const MlpSpec& spec, Rng& rng, const Compute& compute);
  // An independent network with the same parameter values, for use as a target network.
  Mlp(const Mlp& other);

  const MlpSpec& spec() const;
  const MlpLayout& layout() const;

  std::unique_ptr<FeedForward> clone() const override { return std::make_unique<Mlp>(*this); }
  int64_t outputs() const override { return spec().outputs; }
  int64_t members() const override { return spec().members; }
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& side = {},
                        const Pass& pass = {}) const override;
  torch::Tensor forward_member(int64_t member, const torch::Tensor& x,
                               const torch::Tensor& side = {}) const override;
  PolicyGraph::Value describe(PolicyGraph& graph, PolicyGraph::Value x) const override;
  // Names each layer's parameters: "member0.layer1.weight" [inputs, outputs], ...
  void visit_state(StateVisitor& state) override;

 private:
  // A forward pass that uses only torch operators, for double backward.
  torch::Tensor forward_plain(const torch::Tensor& x, const torch::Tensor& side,
                              const Pass& pass) const;

  struct Shared;  // kernel and spare buffers, shared with the autograd nodes
  std::shared_ptr<Shared> shared_;

  friend class MlpNode;
};

}  // namespace rl_training
