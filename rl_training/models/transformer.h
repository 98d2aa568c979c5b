#pragma once
#include <string>
#include <vector>

#include "rl_training/models/network.h"
#include "rl_training/util/rng.h"

namespace rl_training {

struct TransformerSpec {
  int64_t obs_dim = 0, action_dim = 0;
  int64_t embed_dim = 128, layers = 3, heads = 1;  // `heads` must divide `embed_dim`
  int64_t max_steps = 1000;                        // number of timestep embeddings
  double dropout = 0.1;
};

// Segments of episodes, each in chronological order. A segment may have fewer than `steps` steps.
// The values after its last step are then arbitrary, and so are their predictions.
struct Trajectories {
  torch::Tensor returns;    // [rows, steps], scaled returns-to-go
  torch::Tensor obs;        // [rows, steps, obs_dim]
  torch::Tensor actions;    // [rows, steps, action_dim]
  torch::Tensor timesteps;  // [rows, steps], int64, below max_steps
};

// A causal transformer over the tokens (return, observation, action) of each step. Each token is a
// linear map of its value plus a timestep embedding, followed by layer norm and dropout. The tokens
// then pass through several blocks. A block consists of attention and a GELU network of four times
// the width; both are residual and preceded by a layer norm. Another layer norm follows the last
// block.
class Transformer final : public Network {
 public:
  Transformer(const TransformerSpec& spec, Rng& rng, const Compute& compute);

  // Predicted actions in [-1, 1] after each observation: [rows, steps, action_dim]. The action of
  // step t depends on earlier steps and on the return and observation of step t. If `dropout` is
  // not null, dropout masks are drawn from this random stream. If it is null, there is no dropout.
  torch::Tensor forward(const Trajectories& input, Rng* dropout = nullptr) const;

  void visit_state(StateVisitor& state) override;

 private:
  enum class Start { normal, zero, one };
  // A part of the flat parameters. The parts are adjacent and in order.
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
