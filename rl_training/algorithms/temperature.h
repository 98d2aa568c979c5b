#pragma once
#include <optional>
#include <string>

#include "rl_training/algorithms/metrics.h"
#include "rl_training/models/log_scalar.h"
#include "rl_training/util/options.h"

namespace rl_training {

// How the temperature alpha is learnt. H is the policy's entropy, and H_target is `entropy`.
struct TemperatureGoal {
  bool learnt = true;  // false: fixed
  double entropy = -1;
  // If true, the loss is alpha * (H - H_target). Otherwise it is log(alpha) * (H - H_target).
  bool scaled_loss = false;
};

// Config keys of the entropy temperature.
struct TemperatureOptions {
  std::string alpha = "auto";            // "auto", "auto:<initial value>" or a fixed number
  std::optional<double> target_entropy;  // if unset, the algorithm's default

  void visit_temperature_options(OptionVisitor& options);
  void check_temperature() const;

  bool automatic_alpha() const { return alpha.starts_with("auto"); }
  double first_alpha() const;  // throws Error{config} if `alpha` is invalid
  TemperatureGoal goal(double default_entropy) const {
    return {.learnt = automatic_alpha(), .entropy = target_entropy.value_or(default_entropy)};
  }
};

// Loss of an actor with an entropy bonus.
struct SoftPolicyLoss {
  torch::Tensor loss, entropy;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
    visit("entropy", entropy);
  }
};

struct TemperatureLoss {
  torch::Tensor loss;
  torch::Tensor gradient;  // of the loss with respect to log alpha; undefined if alpha is fixed
  torch::Tensor alpha;     // the temperature after the update

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("temperature_loss", loss);
    visit("alpha", alpha);
  }
};
// `alpha` and `entropy` are scalars.
TemperatureLoss soft_temperature_loss(const torch::Tensor& alpha, const torch::Tensor& entropy,
                                      const TemperatureGoal& goal);

// Weight of the entropy bonus: fixed, or learnt so that the policy's entropy matches the goal.
class Temperature {
 public:
  Temperature(const TemperatureOptions& options, const TemperatureGoal& goal, double learning_rate,
              const Compute& compute);

  const torch::Tensor& value() const { return scalar_.value(); }
  // Takes one gradient step. Returns the loss before the step and `alpha` after the step.
  TemperatureLoss update(const torch::Tensor& entropy);
  void visit_state(StateVisitor& state) { scalar_.visit_state(state); }

 private:
  TemperatureGoal goal_;
  LogScalar scalar_;
};

}  // namespace rl_training
