#include "rl_training/algorithms/algorithm.h"

namespace rl_training {

torch::Tensor Metrics::get(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (name == key) return value;
  }
  return {};
}

DelayedMetrics::DelayedMetrics(const std::vector<const char*>& names) {
  for (const char* name : names) values_.emplace_back(name, torch::Tensor());
}

void DelayedMetrics::hold(const Metrics& metrics) {
  for (auto& [name, value] : values_) value = metrics.get(name);
}

void DelayedMetrics::report(Metrics& metrics) const {
  for (const auto& [name, value] : values_) metrics.set(name, value);
}

void DelayedMetrics::visit_state(StateVisitor& state) {
  for (auto& [name, value] : values_) {
    bool known = value.defined();
    float number = known ? value.item<float>() : 0.0f;
    state.scalar(std::string(name) + ".known", known);
    state.array(name, DType::f32, {}, &number);
    value = known ? torch::full({}, number) : torch::Tensor();
  }
}

void AlgorithmOptions::visit_options(OptionVisitor& options) {
  options.integer("batch_size", batch_size, between(1, 1 << 20), "rows of a minibatch");
  options.integers("hidden_sizes", hidden_sizes, between(1, 1 << 14),
                   "widths of the hidden layers");
  options.number("learning_rate", learning_rate, above(0), "Adam step size");
  options.number("gamma", gamma, between(0, 1), "discount of future rewards");
  options.number("tau", tau, above_up_to(0, 1), "share of the online networks in a target update");
}

}  // namespace rl_training
