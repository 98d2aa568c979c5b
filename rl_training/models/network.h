#pragma once
#include <torch/types.h>

#include <memory>
#include <string>

#include "rl_training/models/compute.h"
#include "rl_training/models/policy_graph.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Whether a backward pass also reaches the network's parameters (train), or only its inputs
// (frozen). For example, an actor loss differentiates through frozen critics.
enum class Use { train, frozen };

// Whether batch renormalisation uses the statistics of the batch (train) or the running statistics
// (eval). Networks without batch renormalisation ignore the mode.
enum class Mode { train, eval };

// A function with learnable parameters in one flat tensor. Optimisers, target updates and the
// exchange between processes treat this tensor as a single leaf.
class Network {
 public:
  virtual ~Network() = default;
  Network& operator=(const Network&) = delete;

  // An autograd leaf. Its grad() is set by the backward pass of any loss that depends on outputs
  // computed with `Use::train`.
  const torch::Tensor& parameters() const { return parameters_; }
  // this += tau * (other - this). Statistics that are not parameters do not change.
  void polyak_from(const Network& other, double tau);
  // Copies the parameters bit for bit. polyak_from with tau = 1 may round.
  void copy_from(const Network& other);
  virtual void visit_state(StateVisitor& state) = 0;

 protected:
  // `parameters` becomes an autograd leaf.
  Network(const torch::Tensor& parameters, const Compute& compute)
      : parameters_(parameters.set_requires_grad(true)),
        pool_(compute.pool),
        processes_(compute.processes) {}
  // An independent copy.
  Network(const Network& other)
      : parameters_(other.parameters_.detach().clone().set_requires_grad(true)),
        pool_(other.pool_),
        processes_(other.processes_) {}

  torch::Tensor parameters_;
  ThreadPool* pool_;
  ProcessGroup* processes_;
};

// Options of a pass through a feed-forward network.
struct Pass {
  Use use = Use::train;
  Mode mode = Mode::eval;
  int64_t members = 0;            // if above 0, use only the first `members` of an ensemble
  torch::IntArrayRef shape = {};  // shape of the result, if not [members, rows, outputs]
  // If true, the result supports double backward, which TRPO needs. Such a pass is slower, because
  // it uses torch operators.
  bool twice_differentiable = false;
};

// A network that maps vectors to vectors, or an ensemble of such networks of the same shape.
// Actors, critics and value functions contain a FeedForward.
class FeedForward : public Network {
 public:
  using Network::Network;

  virtual std::unique_ptr<FeedForward> clone() const = 0;
  virtual int64_t outputs() const = 0;
  virtual int64_t members() const = 0;
  // [rows, inputs] -> [members, rows, outputs]. With `side`, the input is the concatenation (x,
  // side).
  virtual torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& side,
                                const Pass& pass) const = 0;
  // One member alone, without gradients: [rows, outputs].
  virtual torch::Tensor forward_member(int64_t member, const torch::Tensor& x,
                                       const torch::Tensor& side) const = 0;
  // Describes the outputs of the first member at `x`, in Mode::eval.
  virtual PolicyGraph::Value describe(PolicyGraph& graph, PolicyGraph::Value x) const = 0;
};

// `count` values of a contiguous float32 tensor, starting at `first`.
std::vector<float> copy_values(const torch::Tensor& tensor, int64_t first, int64_t count);

// Visits a contiguous float32 tensor as a named part of the state.
void visit_tensor(StateVisitor& state, const std::string& name, torch::Tensor& tensor);

}  // namespace rl_training
