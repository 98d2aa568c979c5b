#include "rl_training/deploy/c_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

using Op = PolicyGraph::Op;
using Node = PolicyGraph::Node;

// Nine digits represent a float32 exactly.
std::string c_number(double value) {
  auto text = fmt::format("{:.9g}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

template <class Values>
std::string c_array(const std::string& name, const Values& values) {
  auto text = fmt::format("static const float {}[{}] = {{", name, values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i % 8 == 0 ? "\n  " : " ") + c_number(values[i]) + ",";
  }
  return text + "\n};\n";
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string c_comment(std::string text) {
  for (size_t at = 0; (at = text.find("*/", at)) != std::string::npos;) text.replace(at, 2, "* /");
  return printable(text);
}

// The body of NAME_act: the nodes in order, with a loop over candidates.
class ActWriter {
 public:
  ActWriter(const PolicyGraph& graph, std::string prefix)
      : graph_(graph), prefix_(std::move(prefix)), uses_(graph.nodes().size(), 0) {
    for (const Node& node : graph.nodes()) {
      for (const auto input : node.inputs) ++uses_[input];
    }
  }

  std::string constants;
  std::string body;
  int64_t stack_floats = 0;

  void write() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.rows > 1 && !in_loop_ && node.op != Op::constant) open_loop(node.rows, i);
      if (node.op == Op::best)
        close_loop(node, i);
      else
        names_.push_back(write_node(node, i));
    }
    if (graph_.is_choice()) return;
    line(fmt::format("for (i = 0; i < {}; ++i) action[i] = {}[i];", graph_.output().width,
                     names_.back()));
  }

 private:
  void line(const std::string& text) { body += (in_loop_ ? "    " : "  ") + text + "\n"; }
  void loop(int64_t width, const std::string& statement) {
    line(fmt::format("for (i = 0; i < {}; ++i) {}", width, statement));
  }

  std::string constant_array(const char* what, size_t number, const std::vector<float>& values) {
    auto name = fmt::format("{}_{}{}", prefix_, what, number);
    constants += c_array(name, values);
    return name;
  }

  std::string local(size_t number, int64_t width, const char* start = "") {
    stack_floats += width;
    auto name = fmt::format("v{}", number);
    line(fmt::format("float {}[{}]{};", name, width, start));
    return name;
  }

  // Reuses the input's memory if no later operation reads it; otherwise allocates.
  std::string target(const Node& node, size_t number) {
    const auto input = node.inputs[0];
    const bool own = graph_.node(input).op != Op::obs && graph_.node(input).op != Op::constant &&
                     graph_.node(input).op != Op::slice && graph_.node(input).op != Op::repeat;
    if (own && uses_[input] == 1) return names_[input];
    return local(number, node.width);
  }

  void open_loop(int64_t rows, size_t first) {
    // Its result must outlive the loop.
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

  // The name of the result.
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

  const PolicyGraph& graph_;
  std::string prefix_;
  std::vector<int> uses_;
  std::vector<std::string> names_;
  bool in_loop_ = false;
};

int64_t candidates_of(const PolicyGraph& graph) {
  int64_t rows = 1;
  for (const Node& node : graph.nodes()) rows = std::max(rows, node.rows);
  return rows;
}

std::string range_text(const ExportedPolicy& policy) {
  std::vector<std::string> ranges;
  for (size_t i = 0; i < policy.action_low.size(); ++i) {
    ranges.push_back(fmt::format("[{:g}, {:g}]", policy.action_low[i], policy.action_high[i]));
  }
  return join(ranges, " ");
}

std::string head_comment(const ExportedPolicy& policy, int64_t stack_floats) {
  const auto& graph = policy.graph;
  const auto& name = policy.name;
  auto text =
      fmt::format("/* {}.h: a policy, written by `rl_training export --format c`.\n *\n", name);
  for (const auto& fact : policy.facts) text += " * " + c_comment(fact) + "\n";
  text +=
      fmt::format(" * observation: {} raw values; normalisation is included\n", graph.obs_dim());
  if (graph.is_choice()) {
    text += fmt::format(" * action: one of {} discrete actions, counted from 0\n",
                        graph.node(graph.output().inputs[0]).width);
  } else {
    text += fmt::format(" * action: {} in {}\n", graph.output().width, range_text(policy));
  }
  if (const auto count = candidates_of(graph); count > 1) {
    text += fmt::format(
        " * candidates: the best of {} sampled actions; their noise was drawn at\n"
        " *   export with seed 0, the same as `rl_training predict` uses\n",
        count);
  }
  text += graph.is_choice()
              ? fmt::format(" *\n *   int choice = {}_act(obs);\n", name)
              : fmt::format(" *\n *   float action[{}_ACTION_DIM];\n *   {}_act(obs, action);\n",
                            upper(name), name);
  text += fmt::format(
      " *\n * C99 or C++, needs math.h only. No allocation, no state: any thread may call it. "
      "Takes\n"
      " * about {} bytes of stack. {}_self_test() computes the test vectors at the end of this "
      "file\n"
      " * and returns the largest error: {}.\n"
      " * More than 1e-5 is a failure.\n */\n",
      4 * stack_floats, name,
      graph.is_choice()
          ? "1 if an action differs, else 0"
          : "absolute, or relative to half the range of the action if that is larger than 1");
  return text;
}

std::string helpers(const std::string& name, bool layer_norm) {
  auto text = fmt::format(R"(
#ifdef __cplusplus
#define {1}_RESTRICT __restrict
#else
#define {1}_RESTRICT restrict
#endif

/* y = x w + b, w [inputs][outputs]: the inner loops run over outputs and vectorise. */
static inline void {0}_dense(const float *{1}_RESTRICT x, const float *{1}_RESTRICT w,
                             const float *{1}_RESTRICT b, int inputs, int outputs,
                             float *{1}_RESTRICT y) {{
  int i, j;
  for (j = 0; j < outputs; ++j) y[j] = b[j];
  for (i = 0; i + 4 <= inputs; i += 4) {{
    const float x0 = x[i], x1 = x[i + 1], x2 = x[i + 2], x3 = x[i + 3];
    const float *{1}_RESTRICT w1 = w + outputs;
    const float *{1}_RESTRICT w2 = w1 + outputs;
    const float *{1}_RESTRICT w3 = w2 + outputs;
    for (j = 0; j < outputs; ++j) {{
      y[j] += x0 * w[j] + x1 * w1[j] + (x2 * w2[j] + x3 * w3[j]);
    }}
    w = w3 + outputs;
  }}
  for (; i < inputs; ++i, w += outputs) {{
    for (j = 0; j < outputs; ++j) y[j] += x[i] * w[j];
  }}
}}
)",
                          name, upper(name));
  if (layer_norm) {
    text += fmt::format(R"(
/* x and y may be the same. */
static inline void {0}_layer_norm(const float *x, const float *gain, const float *shift, float eps,
                                  int width, float *y) {{
  float mean = 0.0f, variance = 0.0f, factor;
  int i;
  for (i = 0; i < width; ++i) mean += x[i];
  mean /= (float)width;
  for (i = 0; i < width; ++i) variance += (x[i] - mean) * (x[i] - mean);
  factor = 1.0f / sqrtf(variance / (float)width + eps);
  for (i = 0; i < width; ++i) y[i] = (x[i] - mean) * factor * gain[i] + shift[i];
}}
)",
                        name);
  }
  return text;
}

std::string self_test(const ExportedPolicy& policy) {
  std::vector<double> obs, action;
  for (const auto& example : policy.examples) {
    obs.insert(obs.end(), example.obs.begin(), example.obs.end());
    action.insert(action.end(), example.action.begin(), example.action.end());
  }
  const auto& name = policy.name;
  auto text = "\n" + c_array(name + "_test_obs", obs) + c_array(name + "_test_action", action);
  if (policy.graph.is_choice()) {
    return text + fmt::format(R"(
static inline float {0}_self_test(void) {{
  int n;
  for (n = 0; n < {1}; ++n) {{
    if ((float){0}_act({0}_test_obs + n * {2}_OBS_DIM) != {0}_test_action[n]) return 1.0f;
  }}
  return 0.0f;
}}
)",
                              name, policy.examples.size(), upper(name));
  }
  text += c_array(name + "_unit", policy.action_unit);
  return text + fmt::format(R"(
static inline float {0}_self_test(void) {{
  float largest = 0.0f;
  int n, i;
  for (n = 0; n < {1}; ++n) {{
    float action[{2}_ACTION_DIM];
    {0}_act({0}_test_obs + n * {2}_OBS_DIM, action);
    for (i = 0; i < {2}_ACTION_DIM; ++i) {{
      const float expected = {0}_test_action[n * {2}_ACTION_DIM + i];
      const float error = fabsf(action[i] - expected) / {0}_unit[i];
      if (!(error <= largest)) largest = error; /* also where it is not a number */
    }}
  }}
  return largest;
}}
)",
                            name, policy.examples.size(), upper(name));
}

}  // namespace

std::string write_c_header(const ExportedPolicy& policy) {
  const auto &name = policy.name, guard = upper(policy.name) + "_H";
  ActWriter act(policy.graph, name);
  act.write();
  const bool layer_norm = act.body.find("_layer_norm(") != std::string::npos;
  auto text = head_comment(policy, act.stack_floats);
  text += fmt::format("#ifndef {0}\n#define {0}\n\n#include <math.h>\n\n", guard);
  text += fmt::format("#define {}_OBS_DIM {}\n", upper(name), policy.graph.obs_dim());
  if (policy.graph.is_choice()) {
    text += fmt::format("#define {}_CHOICES {}\n", upper(name),
                        policy.graph.node(policy.graph.output().inputs[0]).width);
  } else {
    text += fmt::format("#define {}_ACTION_DIM {}\n", upper(name), policy.graph.output().width);
  }
  text += helpers(name, layer_norm) + "\n" + act.constants;
  text +=
      policy.graph.is_choice()
          ? fmt::format("\nstatic inline int {}_act(const float *obs) {{\n", name)
          : fmt::format("\nstatic inline void {}_act(const float *obs, float *action) {{\n", name);
  text += "  int i;\n" + act.body + "}\n";
  return text + self_test(policy) + "\n#endif\n";
}

std::string write_c_probe(const ExportedPolicy& policy, const std::string& header_path) {
  const auto& name = policy.name;
  const auto large = upper(name);
  const auto act =
      policy.graph.is_choice()
          ? fmt::format("float action[1];\n    action[0] = (float){}_act(obs);", name)
          : fmt::format("float action[{}_ACTION_DIM];\n    {}_act(obs, action);", large, name);
  return fmt::format(R"(#include "{1}"
#include <stdio.h>

int main(void) {{
  float obs[{2}_OBS_DIM];
  if (!({0}_self_test() <= 1e-5f)) return 3;
  while (fread(obs, sizeof obs, 1, stdin) == 1) {{
    {3}
    if (fwrite(action, sizeof action, 1, stdout) != 1) return 4;
  }}
  return 0;
}}
)",
                     name, header_path, large, act);
}

}  // namespace rl_training
