#include "rl_training/algorithms/temperature.h"

#include <charconv>
#include <cmath>

#include "rl_training/models/losses.h"
#include "rl_training/util/error.h"

namespace rl_training {

void TemperatureOptions::visit_temperature_options(OptionVisitor& options) {
  options.text("alpha", alpha,
               "entropy temperature: auto or auto:<initial value> (learnt), or a fixed number");
  options.number("target_entropy", target_entropy, any_number(),
                 "entropy that an automatic temperature aims at; the default depends on the number "
                 "of actions");
}

double TemperatureOptions::first_alpha() const {
  if (alpha == "auto") return 1.0;
  const std::string_view text =
      alpha.starts_with("auto:") ? std::string_view(alpha).substr(5) : std::string_view(alpha);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = error == std::errc() && end == text.data() + text.size();
  if (number && std::isfinite(value) && (automatic_alpha() ? value > 0 : value >= 0)) return value;
  throw Error(ErrorKind::config, {"", 0, "alpha"},
              "not a temperature (expected auto, auto:<number above 0> or a number >= 0, got " +
                  (alpha.empty() ? "nothing" : alpha) + ")");
}

void TemperatureOptions::check_temperature() const {
  first_alpha();
  if (automatic_alpha() || !target_entropy) return;
  throw Error(ErrorKind::config, {"", 0, "target_entropy"},
              "has no effect on a fixed temperature (expected alpha: auto, got " + alpha + ")");
}

// L = log(alpha) * (H - H_target), or alpha * (H - H_target) with scaled_loss, without gradient
// through the entropy H
TemperatureLoss soft_temperature_loss(const torch::Tensor& alpha, const torch::Tensor& entropy,
                                      const TemperatureGoal& goal) {
  if (!goal.learnt) return {scalar(0), {}, alpha};
  const double excess = static_cast<double>(number(entropy)) - goal.entropy;
  const auto multiplier = static_cast<double>(number(alpha));
  if (goal.scaled_loss) {
    const auto loss = scalar(multiplier * excess);
    return {loss, loss, alpha};
  }
  return {scalar(std::log(multiplier) * excess), scalar(excess), alpha};
}

Temperature::Temperature(const TemperatureOptions& options, const TemperatureGoal& goal,
                         double learning_rate, const Compute& compute)
    : goal_(goal),
      scalar_({.initial_log = std::log(options.first_alpha()), .learning_rate = learning_rate},
              compute) {}

TemperatureLoss Temperature::update(const torch::Tensor& entropy) {
  auto result = soft_temperature_loss(value(), entropy, goal_);
  if (result.gradient.defined()) scalar_.descend(result.gradient);
  result.alpha = value();
  return result;
}

}  // namespace rl_training
