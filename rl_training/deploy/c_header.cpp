#include "rl_training/deploy/c_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "rl_training/deploy/c_act.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string c_comment(std::string text) {
  for (size_t at = 0; (at = text.find("*/", at)) != std::string::npos;) text.replace(at, 2, "* /");
  return printable(text);
}

int64_t candidates_of(const PolicyGraph& graph) {
  int64_t rows = 1;
  for (const auto& node : graph.nodes()) rows = std::max(rows, node.rows);
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
  text += fmt::format(" * input: {} raw observation values; normalisation is included\n",
                      graph.obs_dim());
  if (graph.is_choice()) {
    text += fmt::format(" * output: one of {} discrete actions, counted from 0\n",
                        graph.node(graph.output().inputs[0]).width);
  } else {
    text += fmt::format(" * output: an action of size {} in {}\n", graph.output().width,
                        range_text(policy));
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
      if (!(error <= largest)) largest = error; /* also if it is NaN */
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
  const CActCode act = write_c_act(policy.graph, name);
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
