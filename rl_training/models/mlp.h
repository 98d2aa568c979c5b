#pragma once
#include <memory>
#include <string>

#include "rl_training/models/compute.h"
#include "rl_training/models/mlp_kernel.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Whether a backward pass reaches the network's own numbers, or only its inputs (an actor loss
// looks through the critics without changing them).
enum class Use { train, frozen };

// One MLP or an ensemble of equal ones, with all numbers in one flat tensor. On the CPU in float32
// the whole network is one autograd node (MlpKernel); elsewhere it is made of torch operators.
class Mlp {
 public:
  Mlp(const MlpSpec& spec, Rng& rng, const Compute& compute);
  // An independent network with the same numbers: a target network.
  Mlp(const Mlp& other);
  Mlp& operator=(const Mlp&) = delete;

  const MlpSpec& spec() const;
  const MlpLayout& layout() const;
  // [members * size]; a leaf whose grad() is set by a backward pass through `Use::train`.
  const torch::Tensor& parameters() const { return parameters_; }

  // [rows, inputs] -> [members, rows, outputs]. With `side` the input is (x, side) side by side.
  // `members` > 0 uses only the first so many. `shape`, where given, is what the result looks like.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& side = {},
                        Use use = Use::train, int64_t members = 0,
                        torch::IntArrayRef shape = {}) const;
  // One member alone, without gradients: [rows, outputs].
  torch::Tensor forward_member(int64_t member, const torch::Tensor& x,
                               const torch::Tensor& side = {}) const;
  // The same from torch operators alone: the oracle in tests, and the path of other devices.
  torch::Tensor forward_plain(const torch::Tensor& x, const torch::Tensor& side = {},
                              Use use = Use::train, int64_t members = 0) const;

  // this += tau * (other - this)
  void polyak_from(const Mlp& other, double tau);
  // Names each layer's numbers: "member0.layer1.weight" [inputs, outputs], ...
  void visit_state(StateVisitor& state);

 private:
  struct Shared;  // kernel and spare buffers, also held by the autograd nodes
  std::shared_ptr<Shared> shared_;
  torch::Tensor parameters_;
  ThreadPool* pool_;

  friend class MlpNode;
};

// A tensor as a named part of the state; works in place on the CPU, through a copy elsewhere.
void visit_tensor(StateVisitor& state, const std::string& name, torch::Tensor& tensor);

}  // namespace rl_training
