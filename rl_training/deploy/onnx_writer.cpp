#include <fmt/format.h>

#include <bit>

#include "build_info.h"
#include "onnx_model.pb.h"
#include "rl_training/deploy/onnx_file.h"

namespace rl_training {
namespace {

using Op = PolicyGraph::Op;
using Node = PolicyGraph::Node;
static_assert(std::endian::native == std::endian::little, "raw ONNX tensors are little-endian");

constexpr int64_t kIrVersion = 8, kOpset = 17;

// Writes the nodes of a policy as ONNX nodes. A value with one vector per observation is a tensor
// [N, width]; a value with one vector per candidate action is [N, rows, width].
class OnnxWriter {
 public:
  OnnxWriter(const PolicyGraph& policy, onnx_model::Graph& graph)
      : policy_(policy), graph_(graph) {}

  void write() {
    const auto& nodes = policy_.nodes();
    for (size_t i = 0; i < nodes.size(); ++i) {
      number_ = i;
      name_ = i + 1 == nodes.size() ? "action" : fmt::format("v{}", i);
      names_.push_back(nodes[i].op == Op::obs ? "obs" : write_node(nodes[i]));
    }
  }

 private:
  std::string emit(const char* op, std::vector<std::string> inputs, const std::string& output) {
    auto* node = graph_.add_node();
    node->set_op_type(op);
    node->set_name(output + "_" + op);
    for (auto& input : inputs) node->add_input(std::move(input));
    node->add_output(output);
    return output;
  }
  void attribute(const char* name, int64_t value) {
    auto* attribute = last().add_attribute();
    attribute->set_name(name);
    attribute->set_i(value);
    attribute->set_type(onnx_model::Attribute::INT);
  }
  void attribute(const char* name, float value) {
    auto* attribute = last().add_attribute();
    attribute->set_name(name);
    attribute->set_f(value);
    attribute->set_type(onnx_model::Attribute::FLOAT);
  }
  onnx_model::Node& last() { return *graph_.mutable_node(graph_.node_size() - 1); }

  template <class T>
  std::string tensor(const char* what, const std::vector<int64_t>& shape,
                     const std::vector<T>& values) {
    auto* made = graph_.add_initializer();
    made->set_name(fmt::format("{}{}", what, number_));
    for (const int64_t extent : shape) made->add_dims(extent);
    made->set_data_type(std::is_same_v<T, float> ? onnx_model::Tensor::FLOAT
                                                 : onnx_model::Tensor::INT64);
    made->set_raw_data(values.data(), values.size() * sizeof(T));
    return made->name();
  }
  std::string integers(const char* what, const std::vector<int64_t>& values) {
    return tensor(what, {static_cast<int64_t>(values.size())}, values);
  }
  std::string vector(const char* what, const std::vector<float>& values) {
    return tensor(what, {static_cast<int64_t>(values.size())}, values);
  }
  std::string between(const char* part) const { return fmt::format("v{}_{}", number_, part); }

  std::string write_node(const Node& node) {
    const auto x = node.inputs.empty() ? std::string("obs") : names_[node.inputs[0]];
    switch (node.op) {
      case Op::constant:
        return write_constant(node);
      case Op::normalize:
        return emit(
            "Div",
            {emit("Sub", {x, vector("mean", node.a)}, between("sub")), vector("std", node.b)},
            name_);
      case Op::dense:
        return write_dense(node, x);
      case Op::layer_norm:
        emit("LayerNormalization", {x, vector("gain", node.a), vector("shift", node.b)}, name_);
        attribute("axis", int64_t{-1});
        attribute("epsilon", static_cast<float>(node.eps));
        return name_;
      case Op::relu:
        return emit("Relu", {x}, name_);
      case Op::tanh:
        return emit("Tanh", {x}, name_);
      case Op::exp:
        return emit("Exp", {x}, name_);
      case Op::clamp:
        return emit(
            "Min",
            {emit("Max", {x, vector("low", node.a)}, between("max")), vector("high", node.b)},
            name_);
      case Op::scale:
        return emit(
            "Add",
            {emit("Mul", {x, vector("factor", node.a)}, between("mul")), vector("offset", node.b)},
            name_);
      case Op::add:
        return emit("Add", {x, names_[node.inputs[1]]}, name_);
      case Op::multiply:
        return emit("Mul", {x, names_[node.inputs[1]]}, name_);
      case Op::concat:
        emit("Concat", {x, names_[node.inputs[1]]}, name_);
        attribute("axis", int64_t{-1});
        return name_;
      case Op::slice:
        return emit("Slice",
                    {x, integers("first", {node.first}), integers("end", {node.first + node.width}),
                     integers("axis", {-1})},
                    name_);
      case Op::repeat:
        return emit("Expand",
                    {emit("Unsqueeze", {x, integers("axis", {1})}, between("row")),
                     integers("shape", {1, node.rows, 1})},
                    name_);
      case Op::likely:
        return write_likely(node, x);
      case Op::best:
        return write_best(node, x);
      default:  // argmax
        emit("ArgMax", {x}, name_);
        attribute("axis", int64_t{1});
        attribute("keepdims", int64_t{0});
        return name_;
    }
  }

  // Repeats the constant [rows, width] for each of the N observations. Without candidates, rows is
  // 1 and the result is [N, width].
  std::string write_constant(const Node& node) {
    auto shape = std::vector<int64_t>{node.rows, node.width};
    if (node.rows == 1) shape = {node.width};
    emit("Shape", {"obs"}, between("batch"));
    attribute("start", int64_t{0});
    attribute("end", int64_t{1});
    emit("Concat", {between("batch"), integers("shape", shape)}, between("shape"));
    attribute("axis", int64_t{0});
    return emit("Expand", {tensor("noise", shape, node.a), between("shape")}, name_);
  }

  std::string write_dense(const Node& node, const std::string& x) {
    const int64_t inputs = policy_.node(node.inputs[0]).width;
    const auto weight = tensor("weight", {inputs, node.width}, node.a);
    const auto bias = vector("bias", node.b);
    if (node.rows == 1) return emit("Gemm", {x, weight, bias}, name_);
    return emit("Add", {emit("MatMul", {x, weight}, between("product")), bias}, name_);
  }

  std::string write_likely(const Node& node, const std::string& x) {
    const auto& logits = names_[node.inputs[1]];
    emit("ArgMax", {logits}, between("index"));
    attribute("axis", int64_t{1});
    attribute("keepdims", int64_t{1});
    emit("GatherElements", {logits, between("index")}, between("largest"));
    attribute("axis", int64_t{1});
    emit("Sub", {logits, between("largest")}, between("below"));
    emit("Greater", {between("below"), vector("share", {static_cast<float>(node.eps)})},
         between("likely"));
    return emit(
        "Where",
        {between("likely"), x, vector("unlikely", {static_cast<float>(PolicyGraph::kUnlikely)})},
        name_);
  }

  std::string write_best(const Node& node, const std::string& x) {
    emit("ArgMax", {names_[node.inputs[1]]}, between("index"));
    attribute("axis", int64_t{1});
    attribute("keepdims", int64_t{1});
    emit("Expand", {between("index"), integers("shape", {1, 1, node.width})}, between("indices"));
    emit("GatherElements", {x, between("indices")}, between("rows"));
    attribute("axis", int64_t{1});
    return emit("Squeeze", {between("rows"), integers("axis", {1})}, name_);
  }

  const PolicyGraph& policy_;
  onnx_model::Graph& graph_;
  size_t number_ = 0;
  std::string name_;
  std::vector<std::string> names_;
};

void describe_value(onnx_model::ValueInfo& info, const char* name, int type, int64_t width) {
  info.set_name(name);
  auto* tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape()->add_dim()->set_dim_param("N");
  if (width > 0) tensor->mutable_shape()->add_dim()->set_dim_value(width);
}

}  // namespace

std::string write_onnx(const ExportedPolicy& policy) {
  onnx_model::Model model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("rl_training");
  model.set_producer_version(RL_TRAINING_VERSION);
  model.add_opset_import()->set_version(kOpset);
  for (const auto& fact : policy.facts) {
    const auto colon = fact.find(": ");
    auto* entry = model.add_metadata_props();
    entry->set_key(fact.substr(0, colon));
    entry->set_value(fact.substr(colon + 2));
  }
  auto* graph = model.mutable_graph();
  graph->set_name(policy.name);
  describe_value(*graph->add_input(), "obs", onnx_model::Tensor::FLOAT, policy.graph.obs_dim());
  const bool choice = policy.graph.is_choice();
  describe_value(*graph->add_output(), "action",
                 choice ? onnx_model::Tensor::INT64 : onnx_model::Tensor::FLOAT,
                 choice ? 0 : policy.graph.output().width);
  OnnxWriter(policy.graph, *graph).write();
  return model.SerializeAsString();
}

}  // namespace rl_training
