#pragma once
#include <memory>
#include <string>

#include "rl_training/models/mlp_kernel.h"
#include "rl_training/models/network.h"

namespace rl_training {

// One MLP or an ensemble of equal ones. The whole network is one autograd node (MlpKernel); passes
// that need double backward are made of torch operators.
class Mlp final : public FeedForward {
 public:
  Mlp(const MlpSpec& spec, Rng& rng, const Compute& compute);
  // An independent network with the same parameters: a target network.
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
  // Made of torch operators only.
  torch::Tensor forward_plain(const torch::Tensor& x, const torch::Tensor& side,
                              const Pass& pass) const;

  struct Shared;  // kernel and spare buffers, also held by the autograd nodes
  std::shared_ptr<Shared> shared_;

  friend class MlpNode;
};

}  // namespace rl_training
