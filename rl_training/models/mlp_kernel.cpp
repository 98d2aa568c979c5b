#include "rl_training/models/mlp_kernel.h"

#include <algorithm>

#include "rl_training/models/compute.h"
#include "rl_training/models/kernels.h"
#include "rl_training/models/product.h"

namespace rl_training {
namespace {

// A single network is split more finely than an ensemble, whose members already run in parallel.
constexpr int64_t kRowsOfLoneNetwork = 128;
constexpr int64_t kRowsOfMember = 256;
constexpr int64_t kColumnsOfBlock = 128;

}  // namespace

MlpKernel::MlpKernel(const MlpSpec& spec, ThreadPool* pool)
    : spec_(spec), layout_(spec), pool_(pool) {
  for (size_t i = 0; i < layout_.layers.size(); ++i) {
    const int64_t outputs = layout_.layers[i].outputs;
    const int64_t step = spec_.members > 1 ? outputs : kColumnsOfBlock;
    for (int64_t first = 0; first < outputs; first += step) {
      blocks_.push_back({i, first, std::min(step, outputs - first)});
    }
  }
  std::stable_sort(blocks_.begin(), blocks_.end(), [&](const Block& a, const Block& b) {
    return layout_.layers[a.layer].inputs > layout_.layers[b.layer].inputs;
  });
}

int64_t MlpKernel::chunk_rows() const {
  return spec_.members == 1 ? kRowsOfLoneNetwork : kRowsOfMember;
}

int64_t MlpKernel::chunks_of(int64_t rows) const {
  return (rows + chunk_rows() - 1) / chunk_rows();
}

void MlpKernel::reserve_activations(int64_t rows, MlpWorkspace& workspace) const {
  const size_t hidden = layout_.layers.size() - 1;
  if (workspace.activation.size() < hidden) {
    workspace.activation.resize(hidden);
    workspace.before_norm.resize(hidden);
    workspace.mean.resize(hidden);
    workspace.inverse_std.resize(hidden);
    workspace.slope.resize(hidden);
  }
  for (size_t i = 0; i < hidden; ++i) {
    const int64_t count = rows * layout_.layers[i].outputs;
    workspace.activation[i].reserve(count);
    if (spec_.activation == Activation::gelu) workspace.slope[i].reserve(count);
    if (spec_.layer_norm == LayerNorm::none) continue;
    workspace.before_norm[i].reserve(count);
    workspace.mean[i].reserve(rows);
    workspace.inverse_std[i].reserve(rows);
  }
}

void MlpKernel::forward(const float* parameters, const float* x, int64_t rows, int64_t members,
                        MlpWorkspace* kept, float* y) const {
  if (kept != nullptr) {
    kept->members = members;
    kept->rows = rows;
    reserve_activations(members * rows, *kept);
  }
  const int64_t chunks = chunks_of(rows);
  run_tasks(pool_, members * chunks, [&](int64_t task) {
    const int64_t member = task / chunks, first = (task % chunks) * chunk_rows();
    const Chunk chunk = {.member = member,
                         .first = first,
                         .count = std::min(chunk_rows(), rows - first),
                         .offset = member * rows + first};
    if (kept != nullptr) return forward_chunk(parameters, x, chunk, *kept, chunk.offset, y);
    thread_local MlpWorkspace passing;
    reserve_activations(std::min(chunk_rows(), rows), passing);
    forward_chunk(parameters, x, chunk, passing, 0, y);
  });
}

// `offset_rows` is the index of the chunk's first row in the workspace.
void MlpKernel::forward_chunk(const float* parameters, const float* x, const Chunk& chunk,
                              MlpWorkspace& workspace, int64_t offset_rows, float* y) const {
  const auto& k = kernels();
  const float* member = parameters + chunk.member * layout_.size;
  const int64_t count = chunk.count;
  const float* in = x + chunk.first * spec_.inputs;
  using Then = Product::Then;
  const auto apply_layer = [&](const auto& layer, float* out, Then then) {
    multiply({.m = count,
              .n = layer.outputs,
              .k = layer.inputs,
              .a = in,
              .lda = layer.inputs,
              .b = member + layer.weight,
              .ldb = layer.outputs,
              .c = out,
              .ldc = layer.outputs,
              .then = then,
              .operand = member + layer.bias,
              .far = lies_far(workspace, layer.outputs)});
  };
  const size_t last = layout_.layers.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    const auto& layer = layout_.layers[i];
    auto& buffer =
        spec_.layer_norm == LayerNorm::none ? workspace.activation[i] : workspace.before_norm[i];
    float* out = buffer.data() + offset_rows * layer.outputs;
    apply_layer(layer, out, relu_after_product() ? Then::add_bias_relu : Then::add_bias);
    activate(i, member, offset_rows, count, workspace);
    in = workspace.activation[i].data() + offset_rows * layer.outputs;
  }
  const auto& layer = layout_.layers[last];
  float* out = y + chunk.offset * layer.outputs;
  if (layer.outputs <= kFewOutputs) {
    thread_local FloatBuffer column;
    float* w = column.reserve(layer.inputs);
    for (int64_t j = 0; j < layer.outputs; ++j) {
      for (int64_t p = 0; p < layer.inputs; ++p)
        w[p] = member[layer.weight + p * layer.outputs + j];
      k.row_dot(in, w, member[layer.bias + j], count, layer.inputs, out + j, layer.outputs);
    }
  } else {
    apply_layer(layer, out, Then::add_bias);
  }
  const int64_t values = count * layer.outputs;
  if (spec_.output_activation == Activation::tanh) {
    k.tanh(out, values);
  } else if (spec_.output_activation == Activation::relu) {
    k.relu(out, values);
  }
}

// Applies the activation and the LayerNorm of a hidden block, except for a ReLU that is fused with
// the product.
void MlpKernel::activate(size_t index, const float* member, int64_t offset_rows, int64_t count,
                         MlpWorkspace& workspace) const {
  const auto& k = kernels();
  const auto& layer = layout_.layers[index];
  const int64_t width = layer.outputs;
  const int64_t offset = offset_rows * width;
  float* out = workspace.activation[index].data() + offset;
  const auto apply_activation = [&](float* values) {
    if (spec_.activation == Activation::tanh) return k.tanh(values, count * width);
    if (spec_.activation == Activation::elu) return k.elu(values, count * width);
    if (spec_.activation == Activation::gelu) {
      return k.gelu(values, count * width, workspace.slope[index].data() + offset);
    }
    if (!relu_after_product()) k.relu(values, count * width);
  };
  const auto normalise = [&](const float* values) {
    k.layer_norm(values, member + layer.gain, member + layer.shift,
                 static_cast<float>(spec_.layer_norm_eps), count, width,
                 workspace.mean[index].data() + offset_rows,
                 workspace.inverse_std[index].data() + offset_rows, out);
  };
  float* before = workspace.before_norm[index].data() + offset;
  switch (spec_.layer_norm) {
    case LayerNorm::none:
      apply_activation(out);
      break;
    case LayerNorm::before_activation:
      normalise(before);
      apply_activation(out);
      break;
    case LayerNorm::after_activation:
      apply_activation(before);
      normalise(before);
      break;
  }
}

}  // namespace rl_training
