#pragma once
#include <string>
#include <vector>

#include "rl_training/models/network.h"
#include "rl_training/util/rng.h"

namespace rl_training {

struct TransformerSpec {
  int64_t obs_dim = 0, action_dim = 0;
  int64_t embed_dim = 128, layers = 3, heads = 1;  // heads divide embed_dim
  int64_t max_steps = 1000;                        // entries of the table of timesteps
  double dropout = 0.1;
};

// Segments of episodes from their earliest step; what follows the last step of a shorter one
// may be anything.
struct Trajectories {
  torch::Tensor returns;    // [rows, steps], to go, scaled
  torch::Tensor obs;        // [rows, steps, obs_dim]
  torch::Tensor actions;    // [rows, steps, action_dim]
  torch::Tensor timesteps;  // [rows, steps], int64, below max_steps
};

// A causal transformer over the tokens (return, observation, action) of each step: each token is a
// linear map of its value plus an entry of the table of timesteps, then layer norm and dropout;
// blocks of attention and a GELU network of four times the width, each behind a layer norm and
// added to what came in; a last layer norm.
class Transformer final : public Network {
 public:
  Transformer(const TransformerSpec& spec, Rng& rng, const Compute& compute);

  // Actions in [-1, 1] that follow each observation, [rows, steps, action_dim]: those of step t see
  // steps before t, and of step t the return and the observation. With `dropout` (Mode::train)
  // masks are drawn from that stream, without it there are none (Mode::eval).
  torch::Tensor forward(const Trajectories& input, Rng* dropout = nullptr) const;

  void visit_state(StateVisitor& state) override;

 private:
  enum class Start { normal, zero, one };
  // Of the flat parameters, one after the other.
  struct Part {
    std::string name;
    std::vector<int64_t> shape;
    Start start;
    int64_t size() const;
  };
  class Reader;

  static std::vector<Part> parts_of(const TransformerSpec& spec);
  static torch::Tensor initial_parameters(const TransformerSpec& spec, Rng& rng);
  torch::Tensor embed(const Trajectories& input, Reader& parts) const;
  torch::Tensor attend(const torch::Tensor& x, Reader& parts, Rng* dropout) const;
  torch::Tensor linear(const torch::Tensor& x, Reader& parts) const;
  torch::Tensor norm(const torch::Tensor& x, Reader& parts) const;

  TransformerSpec spec_;
  std::vector<Part> parts_;
};

}  // namespace rl_training
