#pragma once
#include <memory>
#include <vector>

#include "rl_training/models/batch_renorm.h"
#include "rl_training/models/mlp_spec.h"

namespace rl_training {

struct RenormMlpSpec {
  int64_t inputs = 0, outputs = 0;
  std::vector<int64_t> hidden_sizes = {256, 256};
  LayerInit init = {};
  int64_t members = 1;
  RenormOptions renorm = {};
};

// An MLP with ReLU, or an ensemble of such MLPs of the same shape, whose inputs and hidden
// activations are batch renormalised. The layers are renorm, linear, relu, renorm, linear, relu,
// ..., renorm, linear. A pass in Mode::train uses the statistics of its batch, with a gradient
// through them, and then updates the running statistics. A pass in Mode::eval uses the running
// statistics and does not change them.
class RenormMlp final : public FeedForward {
 public:
  RenormMlp(const RenormMlpSpec& spec, Rng& rng, const Compute& compute);
  RenormMlp(const RenormMlp& other);

  std::unique_ptr<FeedForward> clone() const override { return std::make_unique<RenormMlp>(*this); }
  int64_t outputs() const override { return spec_.outputs; }
  int64_t members() const override { return spec_.members; }
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& side = {},
                        const Pass& pass = {}) const override;
  torch::Tensor forward_member(int64_t member, const torch::Tensor& x,
                               const torch::Tensor& side = {}) const override;
  // Folds each renormalisation into the following weights and biases.
  PolicyGraph::Value describe(PolicyGraph& graph, PolicyGraph::Value x) const override;

  // Running statistics, [members, features]: the features of the input, followed by those of each
  // hidden layer.
  const torch::Tensor& running_mean() const { return statistics_->mean; }
  const torch::Tensor& running_var() const { return statistics_->var; }
  int64_t training_passes() const { return statistics_->passes; }

  // Names each layer's parameters: "member0.layer1.norm_gain", "norm_shift", "weight"
  // [inputs, outputs], "bias"; then the running statistics.
  void visit_state(StateVisitor& state) override;

 private:
  // Statistics are not parameters: neither optimisers nor target updates change them.
  struct Statistics {
    torch::Tensor mean, var;  // [members, features]
    int64_t passes = 0;       // number of passes in Mode::train
  };
  struct Layer {
    int64_t inputs, outputs;
    int64_t feature;  // index of the layer's first input in the statistics
    int64_t size() const { return 2 * inputs + inputs * outputs + outputs; }
  };
  static std::vector<Layer> layers_of(const RenormMlpSpec& spec);
  static torch::Tensor initial_parameters(const RenormMlpSpec& spec, Rng& rng);
  torch::Tensor forward_members(int64_t first, int64_t count, const torch::Tensor& x,
                                const torch::Tensor& side, const Pass& pass) const;
  void average_statistics() const;

  RenormMlpSpec spec_;
  std::vector<Layer> layers_;
  std::unique_ptr<Statistics> statistics_;  // a pointer, so that const passes can change it
};

}  // namespace rl_training
