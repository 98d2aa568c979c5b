#include <algorithm>
#include <cmath>

#include "rl_training/deploy/exported_policy.h"

namespace rl_training {
namespace {

using Op = PolicyGraph::Op;
using Node = PolicyGraph::Node;

// Computes the values of all nodes for one observation. Each value is [rows, width].
class Interpreter {
 public:
  Interpreter(const PolicyGraph& graph, const std::vector<double>& obs,
              std::optional<size_t> choice)
      : graph_(graph), choice_(choice) {
    for (const Node& node : graph.nodes()) {
      values_.push_back(node.op == Op::obs ? rounded(obs) : compute(node));
    }
  }

  const std::vector<double>& output() const { return values_.back(); }
  const std::vector<double>& scores() const { return scores_; }

 private:
  // Rounds to float32, because observations are float32 in every format.
  static std::vector<double> rounded(const std::vector<double>& obs) {
    std::vector<double> result(obs);
    for (double& value : result) value = static_cast<float>(value);
    return result;
  }

  std::vector<double> compute(const Node& node) {
    switch (node.op) {
      case Op::dense:
        return dense(node);
      case Op::layer_norm:
        return layer_norm(node);
      case Op::concat:
        return concat(node);
      case Op::likely:
        return likely(node);
      case Op::best:
        return best(node);
      case Op::argmax:
        return {static_cast<double>(choose(input(node, 0)))};
      default:
        break;
    }
    std::vector<double> y(static_cast<size_t>(node.rows * node.width));
    for (int64_t row = 0; row < node.rows; ++row) {
      for (int64_t j = 0; j < node.width; ++j) y[row * node.width + j] = element(node, row, j);
    }
    return y;
  }

  double element(const Node& node, int64_t row, int64_t j) const {
    const int64_t at = row * node.width + j;
    if (node.op == Op::constant) return node.a[at];
    const auto& x = input(node, 0);
    switch (node.op) {
      case Op::normalize:
        return (x[at] - node.a[j]) / node.b[j];
      case Op::relu:
        return std::max(x[at], 0.0);
      case Op::tanh:
        return std::tanh(x[at]);
      case Op::exp:
        return std::exp(x[at]);
      case Op::clamp:
        return std::min<double>(std::max<double>(x[at], node.a[j]), node.b[j]);
      case Op::scale:
        return x[at] * node.a[j] + node.b[j];
      case Op::add:
        return x[at] + input(node, 1)[at];
      case Op::multiply:
        return x[at] * input(node, 1)[at];
      case Op::slice:
        return x[row * graph_.node(node.inputs[0]).width + node.first + j];
      default:  // repeat
        return x[j];
    }
  }

  std::vector<double> dense(const Node& node) const {
    const auto& x = input(node, 0);
    const int64_t inputs = graph_.node(node.inputs[0]).width;
    std::vector<double> y;
    for (int64_t row = 0; row < node.rows; ++row) {
      std::vector<double> sums(node.b.begin(), node.b.end());
      for (int64_t i = 0; i < inputs; ++i) {
        const float* weights = node.a.data() + i * node.width;
        for (int64_t j = 0; j < node.width; ++j) sums[j] += x[row * inputs + i] * weights[j];
      }
      y.insert(y.end(), sums.begin(), sums.end());
    }
    return y;
  }

  std::vector<double> layer_norm(const Node& node) const {
    auto y = input(node, 0);
    for (int64_t row = 0; row < node.rows; ++row) {
      double* x = y.data() + row * node.width;
      double mean = 0, variance = 0;
      for (int64_t j = 0; j < node.width; ++j) mean += x[j] / static_cast<double>(node.width);
      for (int64_t j = 0; j < node.width; ++j) {
        variance += (x[j] - mean) * (x[j] - mean) / static_cast<double>(node.width);
      }
      for (int64_t j = 0; j < node.width; ++j) {
        x[j] = (x[j] - mean) / std::sqrt(variance + node.eps) * node.a[j] + node.b[j];
      }
    }
    return y;
  }

  std::vector<double> concat(const Node& node) const {
    std::vector<double> y;
    for (int64_t row = 0; row < node.rows; ++row) {
      for (const auto part : node.inputs) {
        const int64_t width = graph_.node(part).width;
        const auto begin = values_[part].begin() + row * width;
        y.insert(y.end(), begin, begin + width);
      }
    }
    return y;
  }

  std::vector<double> likely(const Node& node) const {
    auto y = input(node, 0);
    const auto& logits = input(node, 1);
    const double largest = *std::max_element(logits.begin(), logits.end());
    for (size_t j = 0; j < y.size(); ++j) {
      if (logits[j] - largest <= node.eps) y[j] = PolicyGraph::kUnlikely;
    }
    return y;
  }

  std::vector<double> best(const Node& node) {
    const auto row = static_cast<int64_t>(choose(input(node, 1)));
    const auto begin = input(node, 0).begin() + row * node.width;
    return {begin, begin + node.width};
  }

  size_t choose(const std::vector<double>& scores) {
    const auto largest = std::max_element(scores.begin(), scores.end());
    const double size = std::max(1.0, std::abs(*largest));
    for (const double score : scores) scores_.push_back(score / size);
    return choice_.value_or(static_cast<size_t>(largest - scores.begin()));
  }

  const std::vector<double>& input(const Node& node, size_t which) const {
    return values_[node.inputs[which]];
  }

  const PolicyGraph& graph_;
  std::vector<std::vector<double>> values_;
  std::optional<size_t> choice_;
  std::vector<double> scores_;
};

}  // namespace

InterpretedPolicy interpret_policy(const PolicyGraph& graph, const std::vector<double>& obs,
                                   std::optional<size_t> choice) {
  const Interpreter interpreter(graph, obs, choice);
  return {interpreter.output(), interpreter.scores()};
}

}  // namespace rl_training
