#pragma once
#include <optional>
#include <string>

#include "rl_training/algorithms/metrics.h"
#include "rl_training/models/log_scalar.h"
#include "rl_training/util/options.h"

namespace rl_training {

// What a learnt temperature aims at.
struct TemperatureGoal {
  bool learnt = true;  // false: it stays as it is
  double entropy = -1;
  bool scaled_loss = false;  // alpha (H - H_target) in place of log alpha (H - H_target)
};

// The keys of an entropy temperature.
struct TemperatureOptions {
  std::string alpha = "auto";            // "auto", "auto:<first value>" or a fixed number
  std::optional<double> target_entropy;  // default of the algorithm where not given

  void visit_temperature_options(OptionVisitor& options);
  void check_temperature() const;

  bool automatic_alpha() const { return alpha.starts_with("auto"); }
  double first_alpha() const;  // Error{config} if `alpha` is none of the three
  TemperatureGoal goal(double default_entropy) const {
    return {.learnt = automatic_alpha(), .entropy = target_entropy.value_or(default_entropy)};
  }
};

// An actor that is rewarded for its entropy.
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
  torch::Tensor gradient;  // of the loss by log alpha; undefined if alpha is fixed
  torch::Tensor alpha;     // an update reports the temperature that it ends with

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("temperature_loss", loss);
    visit("alpha", alpha);
  }
};
// `alpha` and `entropy` are scalars.
TemperatureLoss soft_temperature_loss(const torch::Tensor& alpha, const torch::Tensor& entropy,
                                      const TemperatureGoal& goal);

// The weight of the entropy: learnt so that the policy keeps that of the goal, or fixed.
class Temperature {
 public:
  Temperature(const TemperatureOptions& options, const TemperatureGoal& goal, double learning_rate,
              const Compute& compute);

  const torch::Tensor& value() const { return scalar_.value(); }
  // One step; the loss is that before it, `alpha` the value after it.
  TemperatureLoss update(const torch::Tensor& entropy);
  void visit_state(StateVisitor& state) { scalar_.visit_state(state); }

 private:
  TemperatureGoal goal_;
  LogScalar scalar_;
};

}  // namespace rl_training
