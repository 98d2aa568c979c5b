#pragma once
#include <torch/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rl_training/models/compute.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Metrics of an update come from the fields of its losses. A loss is a struct with a list
//   template <class Visit> void metrics(Visit&& visit) { visit("critic_loss", loss); ... }
// that names those of its fields that are reported: the one place where a metric lives.
//
// Named scalars of one update, as tensors: reading them is left to the moment they are logged. An
// undefined tensor stands for "not known yet".
class Metrics {
 public:
  void set(const char* name, const torch::Tensor& value) {
    if (values_.empty()) values_.reserve(12);
    values_.emplace_back(name, value.requires_grad() ? without_graph(value) : value);
  }
  template <class Loss>
  void add(Loss loss) {
    loss.metrics([this](const char* name, const torch::Tensor& value) { set(name, value); });
  }
  const std::vector<std::pair<const char*, torch::Tensor>>& values() const { return values_; }
  void append(const Metrics& other);
  // The value of that name; an undefined tensor when there is none.
  torch::Tensor get(std::string_view name) const;

 private:
  std::vector<std::pair<const char*, torch::Tensor>> values_;
};

template <class... Losses>
Metrics metrics_of(const Losses&... losses) {
  Metrics metrics;
  (metrics.add(losses), ...);
  return metrics;
}

// The names that these losses report, in order.
template <class... Losses>
std::vector<std::string> metric_names_of() {
  std::vector<std::string> names;
  const auto append = [&](auto loss) {
    loss.metrics([&](const char* name, const torch::Tensor&) { names.emplace_back(name); });
  };
  (append(Losses{}), ...);
  return names;
}

// A loss to minimise and what to report of it.
struct Loss {
  torch::Tensor loss;
  Metrics metrics;
};

class DelayedMetrics {
 public:
  explicit DelayedMetrics(const std::vector<const char*>& names);
  void hold(const Metrics& metrics);
  void report(Metrics& metrics) const;
  void visit_state(StateVisitor& state);

 private:
  std::vector<std::pair<const char*, torch::Tensor>> values_;
};

void visit_metric(StateVisitor& state, const char* name, torch::Tensor& value);

// The latest loss of a part that is not updated every time (a delayed actor): between two such
// updates its metrics are reported again, before the first one as not known.
template <class Loss>
class Held {
 public:
  // Keeps the reported values, not the graph that they came from.
  void hold(const Loss& loss) {
    loss_ = loss;
    loss_.metrics([](const char*, torch::Tensor& value) {
      if (value.requires_grad()) value = without_graph(value);
    });
  }
  void report(Metrics& metrics) const { metrics.add(loss_); }
  void visit_state(StateVisitor& state) {
    loss_.metrics(
        [&](const char* name, torch::Tensor& value) { visit_metric(state, name, value); });
  }

 private:
  Loss loss_;
};

}  // namespace rl_training
