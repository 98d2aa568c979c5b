#include "rl_training/deploy/c_act.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace rl_training {
namespace {

using Op = PolicyGraph::Op;
using Node = PolicyGraph::Node;

// Nine significant digits suffice to restore a float32 exactly.
std::string c_number(double value) {
  auto text = fmt::format("{:.9g}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

// Writes the code of the graph's nodes, in their order. Nodes that are computed for every candidate
// action share one loop over the candidates.
class ActWriter {
 public:
  ActWriter(const PolicyGraph& graph, std::string prefix)
      : graph_(graph), prefix_(std::move(prefix)), uses_(graph.nodes().size(), 0) {
    for (const Node& node : graph.nodes()) {
      for (const auto input : node.inputs) ++uses_[input];
    }
  }

  CActCode write() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.rows > 1 && !in_loop_ && node.op != Op::constant) open_loop(node.rows, i);
      if (node.op == Op::best)
        close_loop(node, i);
      else
        names_.push_back(write_node(node, i));
    }
    if (!graph_.is_choice()) {
      loop(graph_.output().width, fmt::format("action[i] = {}[i];", names_.back()));
    }
    return std::move(code_);
  }

 private:
  void line(const std::string& text) { code_.body += (in_loop_ ? "    " : "  ") + text + "\n"; }
  void loop(int64_t width, const std::string& statement) {
    line(fmt::format("for (i = 0; i < {}; ++i) {}", width, statement));
  }

  std::string constant_array(const char* what, size_t number, const std::vector<float>& values) {
    auto name = fmt::format("{}_{}{}", prefix_, what, number);
    code_.constants += c_array(name, std::vector<double>(values.begin(), values.end()));
    return name;
  }

  std::string local(size_t number, int64_t width, const char* start = "") {
    code_.stack_floats += width;
    auto name = fmt::format("v{}", number);
    line(fmt::format("float {}[{}]{};", name, width, start));
    return name;
  }

  // Name of the array for the result. Reuses the input's memory if no later operation reads the
  // input.
  std::string target(const Node& node, size_t number) {
    const auto input = node.inputs[0];
    const bool own = graph_.node(input).op != Op::obs && graph_.node(input).op != Op::constant &&
                     graph_.node(input).op != Op::slice && graph_.node(input).op != Op::repeat;
    if (own && uses_[input] == 1) return names_[input];
    return local(number, node.width);
  }

  void open_loop(int64_t rows, size_t first) {
    // The result of `best` must outlive the loop, so its array is declared before the loop.
    for (size_t i = first; i < graph_.nodes().size(); ++i) {
      if (graph_.nodes()[i].op == Op::best) local(i, graph_.nodes()[i].width, " = {0}");
    }
    line("float best = 0.0f;");
    line("int c;");
    line(fmt::format("for (c = 0; c < {}; ++c) {{", rows));
    in_loop_ = true;
  }

  void close_loop(const Node& node, size_t number) {
    const auto &actions = names_[node.inputs[0]], &score = names_[node.inputs[1]];
    const auto kept = fmt::format("v{}", number);
    line(fmt::format("if (c == 0 || {}[0] > best) {{", score));
    line(fmt::format("  best = {}[0];", score));
    line(fmt::format("  for (i = 0; i < {}; ++i) {}[i] = {}[i];", node.width, kept, actions));
    line("}");
    in_loop_ = false;
    line("}");
    names_.push_back(kept);
  }

  // Writes the code of a node and returns the name of its result.
  std::string write_node(const Node& node, size_t number) {
    auto x = node.inputs.empty() ? "obs" : names_[node.inputs[0]];
    switch (node.op) {
      case Op::obs:
        return "obs";
      case Op::constant: {
        const auto name = constant_array("noise", number, node.a);
        return node.rows > 1 ? fmt::format("({} + c * {})", name, node.width) : name;
      }
      case Op::repeat:
        return x;
      case Op::slice:
        return node.first == 0 ? x : fmt::format("({} + {})", x, node.first);
      case Op::dense: {
        const auto weight = constant_array("weight", number, node.a);
        const auto bias = constant_array("bias", number, node.b);
        auto y = local(number, node.width);
        line(fmt::format("{}_dense({}, {}, {}, {}, {}, {});", prefix_, x, weight, bias,
                         graph_.node(node.inputs[0]).width, node.width, y));
        return y;
      }
      case Op::concat: {
        const int64_t first = graph_.node(node.inputs[0]).width;
        auto y = local(number, node.width);
        loop(first, fmt::format("{}[i] = {}[i];", y, x));
        loop(node.width - first,
             fmt::format("{}[{} + i] = {}[i];", y, first, names_[node.inputs[1]]));
        return y;
      }
      case Op::layer_norm:
        return write_layer_norm(node, number, x);
      case Op::likely:
        return write_likely(node, number, x);
      case Op::argmax: {
        line("int choice = 0;");
        const int64_t width = graph_.node(node.inputs[0]).width;
        line(fmt::format("for (i = 1; i < {}; ++i) {{", width));
        line(fmt::format("  if ({0}[i] > {0}[choice]) choice = i;", x));
        line("}");
        line("return choice;");
        return "choice";
      }
      default:
        return write_elementwise(node, number, x);
    }
  }

  std::string write_likely(const Node& node, size_t number, const std::string& x) {
    const auto& logits = names_[node.inputs[1]];
    const auto largest = fmt::format("largest{}", number);
    auto y = local(number, node.width);
    line(fmt::format("float {} = {}[0];", largest, logits));
    loop(node.width, fmt::format("if ({0}[i] > {1}) {1} = {0}[i];", logits, largest));
    loop(node.width, fmt::format("{}[i] = {}[i] - {} > {} ? {}[i] : {};", y, logits, largest,
                                 c_number(node.eps), x, c_number(PolicyGraph::kUnlikely)));
    return y;
  }

  std::string write_layer_norm(const Node& node, size_t number, const std::string& x) {
    const auto gain = constant_array("gain", number, node.a);
    const auto shift = constant_array("shift", number, node.b);
    auto y = target(node, number);
    line(fmt::format("{}_layer_norm({}, {}, {}, {}, {}, {});", prefix_, x, gain, shift,
                     c_number(node.eps), node.width, y));
    return y;
  }

  std::string write_elementwise(const Node& node, size_t number, const std::string& x) {
    std::string value;
    const auto constant = [&](const char* what, const std::vector<float>& values) {
      return constant_array(what, number, values);
    };
    switch (node.op) {
      case Op::normalize:
        value = fmt::format("({}[i] - {}[i]) / {}[i]", x, constant("mean", node.a),
                            constant("std", node.b));
        break;
      case Op::relu:
        value = fmt::format("{0}[i] < 0.0f ? 0.0f : {0}[i]", x);
        break;
      case Op::tanh:
        value = fmt::format("tanhf({}[i])", x);
        break;
      case Op::exp:
        value = fmt::format("expf({}[i])", x);
        break;
      case Op::clamp: {
        const auto low = constant("low", node.a), high = constant("high", node.b);
        value = fmt::format("{0}[i] < {1}[i] ? {1}[i] : {0}[i] > {2}[i] ? {2}[i] : {0}[i]", x, low,
                            high);
        break;
      }
      case Op::scale: {
        const auto factor = constant("factor", node.a), offset = constant("offset", node.b);
        value = fmt::format("{}[i] * {}[i] + {}[i]", x, factor, offset);
        break;
      }
      case Op::add:
        value = fmt::format("{}[i] + {}[i]", x, names_[node.inputs[1]]);
        break;
      default:  // multiply
        value = fmt::format("{}[i] * {}[i]", x, names_[node.inputs[1]]);
    }
    auto y = target(node, number);
    loop(node.width, fmt::format("{}[i] = {};", y, value));
    return y;
  }

  CActCode code_;
  const PolicyGraph& graph_;
  std::string prefix_;
  std::vector<int> uses_;  // number of uses of each node's result
  std::vector<std::string> names_;
  bool in_loop_ = false;
};

}  // namespace

std::string c_array(const std::string& name, std::span<const double> values) {
  auto text = fmt::format("static const float {}[{}] = {{", name, values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i % 8 == 0 ? "\n  " : " ") + c_number(values[i]) + ",";
  }
  return text + "\n};\n";
}

CActCode write_c_act(const PolicyGraph& graph, const std::string& prefix) {
  return ActWriter(graph, prefix).write();
}

}  // namespace rl_training
