#include "rl_training/algorithms/metrics.h"

namespace rl_training {

torch::Tensor Metrics::get(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (name == key) return value;
  }
  return {};
}

void Metrics::append(const Metrics& other) {
  for (const auto& [name, value] : other.values()) values_.emplace_back(name, value);
}

void visit_metric(StateVisitor& state, const char* name, torch::Tensor& value) {
  bool known = value.defined();
  float number = known ? value.item<float>() : 0.0f;
  state.scalar(std::string(name) + ".known", known);
  state.array(name, DType::f32, {}, &number);
  value = known ? torch::full({}, number) : torch::Tensor();
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
  for (auto& [name, value] : values_) visit_metric(state, name, value);
}

}  // namespace rl_training
