#include "rl_training/algorithms/algorithm.h"

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

namespace {

std::span<float> resized(torch::Tensor& values, torch::IntArrayRef shape) {
  if (!values.defined() || values.sizes() != shape) values = torch::empty(shape);
  return {values.data_ptr<float>(), static_cast<size_t>(values.numel())};
}

}  // namespace

const torch::Tensor& NoiseBuffer::normal(Rng& rng, torch::IntArrayRef shape) {
  rng.fill_normal(resized(values_, shape));
  return values_;
}

const torch::Tensor& NoiseBuffer::uniform(Rng& rng, torch::IntArrayRef shape, double low,
                                          double high) {
  rng.fill_uniform(resized(values_, shape), static_cast<float>(low), static_cast<float>(high));
  return values_;
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

void AlgorithmOptions::visit_supervised_options(OptionVisitor& options) {
  options.integer("batch_size", batch_size, between(1, 1 << 20), "rows of a minibatch");
  options.integers("hidden_sizes", hidden_sizes, between(1, 1 << 14),
                   "widths of the hidden layers");
  options.number("learning_rate", learning_rate, above(0), "Adam step size");
  options.number("gamma", gamma, between(0, 1), "discount of future rewards");
}

void AlgorithmOptions::visit_options(OptionVisitor& options) {
  visit_supervised_options(options);
  options.number("tau", tau, above_up_to(0, 1), "share of the online networks in a target update");
}

}  // namespace rl_training
