#pragma once
#include "rl_training/algorithms/cql.h"

namespace rl_training {

struct CalQlOptions : CqlOptions {
  static constexpr const char* kName = "cal_ql";
  // Reward of a step without success in a sparse task, after the reward transform.
  std::optional<double> failure_reward;

  CalQlOptions();
  void visit_options(OptionVisitor& options) override;
  void check() const override;
  BatchRequest request() const override;
};

// Fraction of the policy's sampled actions whose values were raised to CqlVariant::reference.
struct CalQlBound {
  torch::Tensor rate;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("bound_rate", rate);
  }
};

// Cal-QL (arXiv:2303.05479): CQL with a lower bound on the policy's values. It does not push the
// values of the policy's actions in a state below the return that was recorded from this state to
// the end of its episode. The bound avoids a drop in performance when online training starts.
class CalQl final : public Cql {
 public:
  CalQl(const CalQlOptions& options, const AlgorithmContext& context) : Cql(options, context) {}

  Metrics update(const Batch& batch, double lr_scale) override;
};

AlgorithmInfoOf<CalQl, CalQlOptions> cal_ql_info();

}  // namespace rl_training
