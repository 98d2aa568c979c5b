#pragma once
#include "rl_training/algorithms/sac_n.h"
#include "rl_training/models/input_slopes.h"

namespace rl_training {

// The defaults are the authors' settings for D4RL's halfcheetah datasets. The number of critics and
// `eta` depend on the task; see docs/algorithms/edac.md.
struct EdacOptions : SacNOptions {
  static constexpr const char* kName = "edac";
  double eta = 1.0;

  void visit_options(OptionVisitor& options) override;
};

struct EdacDiversity {
  torch::Tensor loss;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("diversity_loss", loss);
  }
};
// Similarity of the critics' action gradients at dataset actions. It is 0 if the gradients are
// orthogonal, and the number of critics if all gradients point in the same direction. `slopes` must
// have been created for critics of the same shape.
EdacDiversity edac_diversity(const CriticEnsemble& critics, const InputSlopes& slopes,
                             const Batch& batch);

// EDAC (arXiv:2110.01548): SAC-N with a penalty that makes the critics' action gradients differ, so
// that fewer critics suffice.
class Edac final : public SoftActorCritic {
 public:
  Edac(const EdacOptions& options, const AlgorithmContext& context)
      : SoftActorCritic(options, options.design(context.action_dim()), context),
        eta_(options.eta),
        slopes_(networks_.critics, context.compute) {}

  Metrics update(const Batch& batch, double lr_scale) override;

 private:
  double eta_;
  InputSlopes slopes_;
};

AlgorithmInfoOf<Edac, EdacOptions> edac_info();

}  // namespace rl_training
