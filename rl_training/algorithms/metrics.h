#pragma once
#include <torch/types.h>

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rl_training/models/compute.h"
#include "rl_training/util/state.h"

namespace rl_training {

// The metrics of an update come from the fields of its losses. A loss is a struct with named
// tensors and a function that lists the tensors to report:
//   template <class Visit>
//   void metrics(Visit&& visit) const { visit("critic_loss", loss); ... }
// Metrics of an update are defined only in these functions.

// Named scalars of one update. Each scalar is a tensor, which is read only when it is logged. An
// undefined tensor means "not known yet".
class Metrics {
 public:
  void set(const char* name, const torch::Tensor& value) {
    if (values_.empty()) values_.reserve(12);
    values_.emplace_back(name, value.requires_grad() ? without_graph(value) : value);
  }
  template <class Loss>
  void add(const Loss& loss) {
    loss.metrics([this](const char* name, const torch::Tensor& value) { set(name, value); });
  }
  const std::vector<std::pair<const char*, torch::Tensor>>& values() const { return values_; }

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
  const auto append = [&]<class Loss>(std::type_identity<Loss>) {
    // The names must be available without LibTorch, but a loss object contains tensors, and even an
    // undefined tensor needs LibTorch. This code therefore calls `metrics` without a real object;
    // no field is read.
    alignas(Loss) static constexpr std::byte kNoLoss[sizeof(Loss)]{};
    reinterpret_cast<const Loss*>(kNoLoss)->metrics(
        [&](const char* name, const torch::Tensor&) { names.emplace_back(name); });
  };
  (append(std::type_identity<Losses>()), ...);
  return names;
}

// Several losses on one batch with unchanged networks, for tests and inspection. In contrast,
// `update` steps the networks between its losses.
template <class... Parts>
struct JointLoss {
  std::tuple<Parts...> parts;
  torch::Tensor loss;  // sum of the parts' losses, except a temperature loss

  template <class Part>
  const Part& part() const {
    return std::get<Part>(parts);
  }
  template <class Visit>
  void metrics(Visit&& visit) const {
    std::apply([&](const auto&... each) { (each.metrics(visit), ...); }, parts);
  }
};

template <class First, class... Others>
JointLoss<First, Others...> joint_loss(const First& first, const Others&... others) {
  return {{first, others...}, (first.loss + ... + others.loss)};
}

void visit_metric(StateVisitor& state, const std::string& name, torch::Tensor& value);

// The latest metrics of a part that is not stepped in every update, such as a delayed actor. They
// are reported again until the next step of this part, and are undefined before its first step.
// Only the values are stored, without the autograd graph.
template <class... Losses>
class Held {
 public:
  void hold(const Losses&... losses) { values_ = metrics_of(losses...).values(); }

  template <class Visit>
  void metrics(Visit&& visit) const {
    for (const auto& [name, value] : values_) visit(name, value);
  }
  void visit_state(StateVisitor& state) {
    for (auto& [name, value] : values_) visit_metric(state, name, value);
  }

 private:
  std::vector<std::pair<const char*, torch::Tensor>> values_ = metrics_of(Losses{}...).values();
};

}  // namespace rl_training
