#include "rl_training/models/policy_graph.h"

#include <c10/util/Exception.h>

#include <utility>

namespace rl_training {

PolicyGraph::Value PolicyGraph::push(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<Value>(nodes_.size()) - 1;
}

PolicyGraph::Value PolicyGraph::like(Value x, Op op) {
  return push({.op = op, .inputs = {x}, .width = node(x).width, .rows = node(x).rows});
}

PolicyGraph::Value PolicyGraph::obs(int64_t width) {
  TORCH_CHECK(nodes_.empty(), "the observation is the first value of a policy");
  return push({.op = Op::obs, .inputs = {}, .width = width});
}

PolicyGraph::Value PolicyGraph::constant(int64_t rows, int64_t width, std::vector<float> values) {
  TORCH_CHECK(static_cast<int64_t>(values.size()) == rows * width, "value sizes do not match");
  return push(
      {.op = Op::constant, .inputs = {}, .width = width, .rows = rows, .a = std::move(values)});
}

PolicyGraph::Value PolicyGraph::normalize(Value x, std::vector<float> mean,
                                          std::vector<float> scale) {
  const auto value = like(x, Op::normalize);
  nodes_.back().a = std::move(mean);
  nodes_.back().b = std::move(scale);
  return value;
}

PolicyGraph::Value PolicyGraph::dense(Value x, std::vector<float> weight, std::vector<float> bias) {
  const auto value = like(x, Op::dense);
  Node& made = nodes_.back();
  TORCH_CHECK(weight.size() == static_cast<size_t>(made.width) * bias.size(),
              "the weights of a layer do not match its input");
  made.width = static_cast<int64_t>(bias.size());
  made.a = std::move(weight);
  made.b = std::move(bias);
  return value;
}

PolicyGraph::Value PolicyGraph::layer_norm(Value x, std::vector<float> gain,
                                           std::vector<float> shift, double eps) {
  const auto value = like(x, Op::layer_norm);
  nodes_.back().a = std::move(gain);
  nodes_.back().b = std::move(shift);
  nodes_.back().eps = eps;
  return value;
}

PolicyGraph::Value PolicyGraph::clamp(Value x, std::vector<float> low, std::vector<float> high) {
  const auto value = like(x, Op::clamp);
  nodes_.back().a = std::move(low);
  nodes_.back().b = std::move(high);
  return value;
}

PolicyGraph::Value PolicyGraph::clamp(Value x, double low, double high) {
  const auto width = static_cast<size_t>(node(x).width);
  return clamp(x, std::vector<float>(width, static_cast<float>(low)),
               std::vector<float>(width, static_cast<float>(high)));
}

PolicyGraph::Value PolicyGraph::scale(Value x, std::vector<float> factor,
                                      std::vector<float> offset) {
  const auto value = like(x, Op::scale);
  nodes_.back().a = std::move(factor);
  nodes_.back().b = std::move(offset);
  return value;
}

PolicyGraph::Value PolicyGraph::scale(Value x, double factor, double offset) {
  const auto width = static_cast<size_t>(node(x).width);
  return scale(x, std::vector<float>(width, static_cast<float>(factor)),
               std::vector<float>(width, static_cast<float>(offset)));
}

PolicyGraph::Value PolicyGraph::add(Value x, Value y) {
  const auto value = like(x, Op::add);
  nodes_.back().inputs.push_back(y);
  return value;
}

PolicyGraph::Value PolicyGraph::multiply(Value x, Value y) {
  const auto value = like(x, Op::multiply);
  nodes_.back().inputs.push_back(y);
  return value;
}

PolicyGraph::Value PolicyGraph::concat(Value x, Value y) {
  TORCH_CHECK(node(x).rows == node(y).rows, "vectors of different rows do not join");
  const auto value = like(x, Op::concat);
  nodes_.back().inputs.push_back(y);
  nodes_.back().width += node(y).width;
  return value;
}

PolicyGraph::Value PolicyGraph::slice(Value x, int64_t first, int64_t width) {
  const auto value = like(x, Op::slice);
  nodes_.back().width = width;
  nodes_.back().first = first;
  return value;
}

PolicyGraph::Value PolicyGraph::repeat(Value x, int64_t rows) {
  TORCH_CHECK(node(x).rows == 1, "candidates do not repeat");
  if (rows == 1) return x;
  const auto value = like(x, Op::repeat);
  nodes_.back().rows = rows;
  return value;
}

PolicyGraph::Value PolicyGraph::likely(Value x, Value logits, double log_share) {
  TORCH_CHECK(node(x).rows == 1 && node(x).width == node(logits).width, "one logit for each value");
  const auto value = like(x, Op::likely);
  nodes_.back().inputs.push_back(logits);
  nodes_.back().eps = log_share;
  return value;
}

PolicyGraph::Value PolicyGraph::best(Value rows, Value scores) {
  const auto value = like(rows, Op::best);
  nodes_.back().inputs.push_back(scores);
  nodes_.back().rows = 1;
  return value;
}

PolicyGraph::Value PolicyGraph::argmax(Value x) {
  const auto value = like(x, Op::argmax);
  nodes_.back().width = 1;
  return value;
}

}  // namespace rl_training
