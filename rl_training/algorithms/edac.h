#pragma once
#include "rl_training/algorithms/sac_n.h"
#include "rl_training/models/input_slopes.h"

namespace rl_training {

// Defaults are those of the authors for D4RL's halfcheetah sets; both differ from task to task, see
// docs/algorithms/edac.md.
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
// How similar the critics' gradients by the action are, at the data's actions: 0 where they are
// orthogonal, the number of critics where all point the same way. `slopes` are of their shape.
EdacDiversity edac_diversity(const CriticEnsemble& critics, const InputSlopes& slopes,
                             const Batch& batch);

// EDAC (arXiv:2110.01548): SAC-N whose critics are pushed towards different slopes in the action,
// so that fewer of them do.
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
