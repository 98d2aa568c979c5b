#pragma once
#include <cstdint>
#include <vector>

namespace rl_training {

// A policy as a list of operations on vectors. Algorithms use it to describe their greedy policy
// for export to other formats (deploy/). A value is either one vector per observation or `rows`
// vectors, one per candidate action. Values are numbered in the order of computation.
class PolicyGraph {
 public:
  using Value = int;
  // In the formulas, x and y are the inputs of the node. The names a, b, eps, first, rows and width
  // are fields of Node.
  enum class Op {
    obs,         // the raw observation
    constant,    // a [rows, width]
    normalize,   // (x - a) / b
    dense,       // x a + b, a [inputs, width]
    layer_norm,  // a (x - mean) / sqrt(variance + eps) + b
    relu,
    tanh,
    exp,
    clamp,     // min(max(x, a), b)
    scale,     // x a + b, elementwise
    add,       // x + y
    multiply,  // x y, elementwise
    concat,    // (x, y)
    slice,     // x[first .. first + width)
    repeat,    // `rows` copies of x
    likely,    // x where y > max(y) + eps, kUnlikely elsewhere
    best,      // the first row of x at which y [rows, 1] is largest
    argmax,    // the first index of the largest entry
  };
  struct Node {
    Op op;
    std::vector<Value> inputs = {};
    int64_t width = 0;
    int64_t rows = 1;
    std::vector<float> a = {}, b = {};  // constants
    double eps = 0;                     // of layer_norm and likely
    int64_t first = 0;                  // of slice
  };

  static constexpr double kUnlikely = -1e30;  // replaces -infinity, which C99 does not guarantee

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(Value value) const { return nodes_[static_cast<size_t>(value)]; }
  // The last node, which computes the action.
  const Node& output() const { return nodes_.back(); }
  bool is_choice() const { return output().op == Op::argmax; }
  int64_t obs_dim() const { return nodes_.front().width; }

  Value obs(int64_t width);  // the first node
  Value constant(int64_t rows, int64_t width, std::vector<float> values);
  Value normalize(Value x, std::vector<float> mean, std::vector<float> scale);
  Value dense(Value x, std::vector<float> weight, std::vector<float> bias);
  Value layer_norm(Value x, std::vector<float> gain, std::vector<float> shift, double eps);
  Value relu(Value x) { return like(x, Op::relu); }
  Value tanh(Value x) { return like(x, Op::tanh); }
  Value exp(Value x) { return like(x, Op::exp); }
  Value clamp(Value x, std::vector<float> low, std::vector<float> high);
  Value clamp(Value x, double low, double high);
  Value scale(Value x, std::vector<float> factor, std::vector<float> offset);
  Value scale(Value x, double factor, double offset);
  Value add(Value x, Value y);
  Value multiply(Value x, Value y);
  Value concat(Value x, Value y);
  Value slice(Value x, int64_t first, int64_t width);
  Value repeat(Value x, int64_t rows);
  // An action is likely if its logit exceeds the largest logit plus `log_share`, which is negative.
  Value likely(Value x, Value logits, double log_share);
  Value best(Value rows, Value scores);
  Value argmax(Value x);

 private:
  Value push(Node node);
  Value like(Value x, Op op);

  std::vector<Node> nodes_;
};

}  // namespace rl_training
