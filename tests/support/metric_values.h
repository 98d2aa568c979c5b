#pragma once
#include <string_view>

#include "rl_training/algorithms/metrics.h"

namespace rl_training {

// Returns the metric of this name, or an undefined tensor if there is none.
inline torch::Tensor find_metric(const Metrics& metrics, std::string_view name) {
  for (const auto& [key, value] : metrics.values()) {
    if (name == key) return value;
  }
  return {};
}

inline double metric(const Metrics& metrics, std::string_view name) {
  return find_metric(metrics, name).item<double>();
}

// Returns the metric `name` of a loss.
template <class Loss>
double metric(const Loss& loss, std::string_view name) {
  return metric(metrics_of(loss), name);
}

inline std::vector<std::string> names_of(const Metrics& metrics) {
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics.values()) names.emplace_back(name);
  return names;
}

template <class Loss>
std::vector<std::string> names_of(const Loss& loss) {
  return names_of(metrics_of(loss));
}

}  // namespace rl_training
