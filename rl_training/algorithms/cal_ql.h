#pragma once
#include "rl_training/algorithms/cql.h"

namespace rl_training {

struct CalQlOptions : CqlOptions {
  static constexpr const char* kName = "cal_ql";
  std::optional<double> failure_reward;  // of sparse tasks, as it is learnt from

  CalQlOptions();
  void visit_options(OptionVisitor& options) override;
  void check() const override;
  BatchRequest request() const override;
};

// Share of the sampled actions of the policy whose value was raised to the reference.
struct CalQlBound {
  torch::Tensor rate;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("bound_rate", rate);
  }
};

// Cal-QL (arXiv:2303.05479): CQL that pushes no value of the policy's actions below the return that
// the data's own policy had from there, so that learning online begins without a dip.
class CalQl final : public Cql {
 public:
  CalQl(const CalQlOptions& options, const AlgorithmContext& context) : Cql(options, context) {}

  Metrics update(const Batch& batch, double lr_scale) override;
};

AlgorithmInfoOf<CalQl, CalQlOptions> cal_ql_info();

}  // namespace rl_training
