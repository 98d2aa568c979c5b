#include "rl_training/models/backward.h"

#include <torch/csrc/autograd/function.h>

#include <algorithm>

namespace rl_training {
namespace {

namespace autograd = torch::autograd;

// A node that was reached from the loss, with the gradients received so far.
struct Visit {
  autograd::Node* node;
  int64_t waiting_for = 0;  // edges whose gradient is still missing
  autograd::variable_list gradients;
};

class Graph {
 public:
  explicit Graph(autograd::Node* root) {
    visits_.reserve(8);
    visit_of(root);
    for (size_t i = 0; i < visits_.size() && !too_large(); ++i) {  // the loop extends `visits_`
      for (const auto& edge : visits_[i].node->next_edges()) {
        if (edge.is_valid()) ++visit_of(edge.function.get()).waiting_for;
      }
    }
  }

  // `visit_of` searches linearly, which is efficient only for small graphs.
  bool too_large() const { return visits_.size() > 64; }

  void deliver(autograd::Node* node, uint32_t input, torch::Tensor gradient) {
    auto& visit = visit_of(node);
    if (visit.gradients.empty()) visit.gradients.resize(node->num_inputs());
    auto& slot = visit.gradients[input];
    slot = slot.defined() ? slot + gradient : std::move(gradient);
  }

  // The most recently created node with no missing gradients, or null if no node is left. The
  // autograd engine chooses in the same order.
  Visit* next() {
    Visit* chosen = nullptr;
    for (auto& visit : visits_) {
      if (visit.node == nullptr || visit.waiting_for > 0) continue;
      if (chosen == nullptr || visit.node->sequence_nr() > chosen->node->sequence_nr()) {
        chosen = &visit;
      }
    }
    return chosen;
  }

  Visit& visit_of(autograd::Node* node) {
    const auto found = std::find_if(visits_.begin(), visits_.end(),
                                    [&](const Visit& visit) { return visit.node == node; });
    if (found != visits_.end()) return *found;
    return visits_.emplace_back(Visit{node, 0, {}});
  }

 private:
  std::vector<Visit> visits_;
};

// Sums the gradient over broadcast dimensions, and converts it to the type of the input. The types
// differ if a factor was a C++ double.
torch::Tensor fitted(torch::Tensor gradient, const autograd::InputMetadata& input) {
  if (!input.is_same_shape(gradient)) gradient = input.reduce_grad(gradient);
  return gradient.dtype() == input.dtype() ? gradient : gradient.to(input.options().dtype());
}

}  // namespace

void run_backward(const torch::Tensor& loss) {
  TORCH_CHECK(loss.numel() == 1 && loss.grad_fn() != nullptr, "backward needs a scalar with graph");
  const auto& root = loss.grad_fn();
  Graph graph(root.get());
  if (graph.too_large()) {
    loss.backward();
    return;
  }
  const torch::AutoGradMode without_graph(false);
  static const torch::Tensor one = torch::ones({});
  graph.deliver(root.get(), loss.output_nr(), loss.dim() == 0 ? one : one.expand(loss.sizes()));
  while (Visit* visit = graph.next()) {
    autograd::Node& node = *visit->node;
    auto incoming = std::move(visit->gradients);
    visit->node = nullptr;  // done
    incoming.resize(node.num_inputs());
    auto outgoing = node(std::move(incoming));
    for (size_t i = 0; i < outgoing.size(); ++i) {
      const auto& edge = node.next_edge(i);
      if (!edge.is_valid()) continue;
      --graph.visit_of(edge.function.get()).waiting_for;
      if (!outgoing[i].defined()) continue;
      auto& input = edge.function->input_metadata(edge.input_nr);
      graph.deliver(edge.function.get(), edge.input_nr, fitted(std::move(outgoing[i]), input));
    }
  }
}

}  // namespace rl_training
