#include "rl_training/models/mlp_kernel.h"

#include <algorithm>

#include "rl_training/models/compute.h"
#include "rl_training/models/kernels.h"
#include "rl_training/models/product.h"

namespace rl_training {
namespace {

// A lone network is cut finer than an ensemble, whose members already give parallel work.
constexpr int64_t kRowsOfLoneNetwork = 128;
constexpr int64_t kRowsOfMember = 256;
constexpr int64_t kColumnsOfBlock = 128;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

MlpKernel::MlpKernel(const MlpSpec& spec, ThreadPool* pool)
    : spec_(spec), layout_(spec), pool_(pool) {
  for (size_t i = 0; i < layout_.layers.size(); ++i) {
    const bool whole = spec_.members > 1;
    const int64_t count = whole ? 1 : ceil_div(layout_.layers[i].outputs, kColumnsOfBlock);
    for (int64_t b = 0; b < count; ++b) blocks_.push_back({i, b});
  }
  std::stable_sort(blocks_.begin(), blocks_.end(), [&](const Block& a, const Block& b) {
    return layout_.layers[a.layer].inputs > layout_.layers[b.layer].inputs;
  });
}

int64_t MlpKernel::chunk_rows() const {
  return spec_.members == 1 ? kRowsOfLoneNetwork : kRowsOfMember;
}

void MlpKernel::forward(const float* parameters, const float* x, int64_t rows, int64_t members,
                        MlpWorkspace& workspace, float* y) const {
  const size_t hidden = layout_.layers.size() - 1;
  workspace.members = members;
  workspace.rows = rows;
  workspace.activation.resize(hidden);
  workspace.before_norm.resize(hidden);
  workspace.mean.resize(hidden);
  workspace.inverse_std.resize(hidden);
  for (size_t i = 0; i < hidden; ++i) {
    const int64_t count = members * rows * layout_.layers[i].outputs;
    workspace.activation[i].reserve(count);
    if (spec_.layer_norm == LayerNorm::none) continue;
    workspace.before_norm[i].reserve(count);
    workspace.mean[i].reserve(members * rows);
    workspace.inverse_std[i].reserve(members * rows);
  }
  const int64_t chunks = ceil_div(rows, chunk_rows());
  run_tasks(pool_, members * chunks, [&](int64_t task) {
    const int64_t member = task / chunks;
    const int64_t first = (task % chunks) * chunk_rows();
    forward_chunk(parameters + member * layout_.size, x, first,
                  std::min(chunk_rows(), rows - first), member, workspace, y);
  });
}

void MlpKernel::forward_chunk(const float* member, const float* x, int64_t first, int64_t count,
                              int64_t member_index, MlpWorkspace& workspace, float* y) const {
  const auto& k = kernels();
  const int64_t offset_rows = member_index * workspace.rows + first;
  const float* in = x + first * spec_.inputs;
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
              .operand = member + layer.bias});
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
  float* out = y + offset_rows * layer.outputs;
  if (layer.outputs == 1) {
    k.row_dot(in, member + layer.weight, member[layer.bias], count, layer.inputs, out);
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

// Activation and LayerNorm of a hidden block, as far as its product has not done it already.
void MlpKernel::activate(size_t index, const float* member, int64_t offset_rows, int64_t count,
                         MlpWorkspace& workspace) const {
  const auto& k = kernels();
  const auto& layer = layout_.layers[index];
  const int64_t width = layer.outputs;
  const int64_t offset = offset_rows * width;
  float* out = workspace.activation[index].data() + offset;
  const auto apply_activation = [&](float* values) {
    if (spec_.activation == Activation::tanh) return k.tanh(values, count * width);
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

void MlpKernel::backward(const float* parameters, const float* x, const float* y,
                         const float* y_gradient, MlpWorkspace& workspace,
                         const Gradients& wanted) const {
  const int64_t members = workspace.members;
  const int64_t rows = workspace.rows;
  const int64_t chunks = ceil_div(rows, chunk_rows());
  workspace.delta.resize(layout_.layers.size());
  workspace.norm_sums.resize(layout_.layers.size());
  for (size_t i = 0; i < layout_.layers.size(); ++i) {
    workspace.delta[i].reserve(members * rows * layout_.layers[i].outputs);
    if (layout_.layers[i].gain >= 0) {
      workspace.norm_sums[i].reserve(members * chunks * 2 * layout_.layers[i].outputs);
    }
  }
  if (wanted.input != nullptr) workspace.input_delta.reserve(members * rows * wanted.input_count);

  run_tasks(pool_, members * chunks, [&](int64_t task) {
    backward_chunk(parameters, y, y_gradient, task / chunks, task % chunks, workspace, wanted);
  });

  if (wanted.parameters != nullptr) {
    const auto count = static_cast<int64_t>(blocks_.size());
    run_tasks(pool_, members * count, [&](int64_t task) {
      const auto& block = blocks_[task / members];
      weight_gradient(block.layer, task % members, block.index, x, workspace, wanted.parameters);
    });
  }
  if (wanted.input != nullptr) {  // summed over members in their order
    const int64_t count = rows * wanted.input_count;
    const float* parts = workspace.input_delta.data();
    std::copy(parts, parts + count, wanted.input);
    for (int64_t m = 1; m < members; ++m) {
      for (int64_t j = 0; j < count; ++j) wanted.input[j] += parts[m * count + j];
    }
  }
}

void MlpKernel::backward_chunk(const float* parameters, const float* y, const float* y_gradient,
                               int64_t member_index, int64_t chunk, MlpWorkspace& workspace,
                               const Gradients& wanted) const {
  const auto& k = kernels();
  const float* member = parameters + member_index * layout_.size;
  const int64_t first = chunk * chunk_rows();
  const int64_t count = std::min(chunk_rows(), workspace.rows - first);
  const int64_t offset_rows = member_index * workspace.rows + first;
  const size_t last = layout_.layers.size() - 1;
  {
    const int64_t offset = offset_rows * spec_.outputs;
    const int64_t values = count * spec_.outputs;
    float* delta = workspace.delta[last].data() + offset;
    std::copy(y_gradient + offset, y_gradient + offset + values, delta);
    if (spec_.output_activation == Activation::tanh) {
      k.tanh_backward(delta, y + offset, values);
    } else if (spec_.output_activation == Activation::relu) {
      k.relu_backward(delta, y + offset, values);
    }
  }
  for (size_t i = last; i > 0; --i) {
    const auto& layer = layout_.layers[i];
    const float* delta = workspace.delta[i].data() + offset_rows * layer.outputs;
    float* below = workspace.delta[i - 1].data() + offset_rows * layer.inputs;
    const float* keep = relu_undone_after_product()
                            ? workspace.activation[i - 1].data() + offset_rows * layer.inputs
                            : nullptr;
    if (layer.outputs == 1) {
      k.outer(delta, member + layer.weight, keep, count, layer.inputs, below);
    } else {
      multiply({.transpose_b = true,
                .m = count,
                .n = layer.inputs,
                .k = layer.outputs,
                .a = delta,
                .lda = layer.outputs,
                .b = member + layer.weight,
                .ldb = layer.outputs,
                .c = below,
                .ldc = layer.inputs,
                .then = keep != nullptr ? Product::Then::keep_positive : Product::Then::nothing,
                .operand = keep});
    }
    activate_backward(i - 1, member, member_index, chunk, offset_rows, count, workspace);
  }
  if (wanted.input != nullptr && wanted.input_count == 1) {
    const auto& layer = layout_.layers[0];
    k.row_dot(workspace.delta[0].data() + offset_rows * layer.outputs,
              member + layer.weight + wanted.input_first * layer.outputs, 0.0f, count,
              layer.outputs, workspace.input_delta.data() + offset_rows);
  } else if (wanted.input != nullptr) {
    const auto& layer = layout_.layers[0];
    multiply({.transpose_b = true,
              .m = count,
              .n = wanted.input_count,
              .k = layer.outputs,
              .a = workspace.delta[0].data() + offset_rows * layer.outputs,
              .lda = layer.outputs,
              .b = member + layer.weight + wanted.input_first * layer.outputs,
              .ldb = layer.outputs,
              .c = workspace.input_delta.data() + offset_rows * wanted.input_count,
              .ldc = wanted.input_count});
  }
}

// Turns the gradient at a hidden block's output into the gradient at its product, in place, as far
// as the product that formed it has not done so already.
void MlpKernel::activate_backward(size_t index, const float* member, int64_t member_index,
                                  int64_t chunk, int64_t offset_rows, int64_t count,
                                  MlpWorkspace& workspace) const {
  const auto& k = kernels();
  const auto& layer = layout_.layers[index];
  const int64_t width = layer.outputs;
  const int64_t offset = offset_rows * width;
  float* delta = workspace.delta[index].data() + offset;
  // relu goes with the product above or with LayerNorm
  const auto undo_tanh = [&](const float* activation) {
    if (spec_.activation == Activation::tanh) k.tanh_backward(delta, activation, count * width);
  };
  const float* before = workspace.before_norm[index].data() + offset;
  const auto undo_norm = [&](const float* keep) {
    const int64_t chunks = ceil_div(workspace.rows, chunk_rows());
    float* sums = workspace.norm_sums[index].data() + (member_index * chunks + chunk) * 2 * width;
    k.layer_norm_backward(
        delta, member + layer.gain, before, workspace.mean[index].data() + offset_rows,
        workspace.inverse_std[index].data() + offset_rows, keep, count, width, sums, sums + width);
  };
  switch (spec_.layer_norm) {
    case LayerNorm::none:
      undo_tanh(workspace.activation[index].data() + offset);
      break;
    case LayerNorm::before_activation:
      undo_tanh(workspace.activation[index].data() + offset);
      undo_norm(nullptr);
      break;
    case LayerNorm::after_activation:
      undo_norm(spec_.activation == Activation::relu ? before : nullptr);
      undo_tanh(before);
      break;
  }
}

void MlpKernel::weight_gradient(size_t index, int64_t member_index, int64_t block, const float* x,
                                MlpWorkspace& workspace, float* gradient) const {
  const auto& k = kernels();
  const auto& layer = layout_.layers[index];
  const int64_t rows = workspace.rows;
  const float* in =
      index == 0 ? x : workspace.activation[index - 1].data() + member_index * rows * layer.inputs;
  const float* delta = workspace.delta[index].data() + member_index * rows * layer.outputs;
  float* member = gradient + member_index * layout_.size;
  if (layer.outputs == 1) {
    k.weighted_column_sum(delta, in, rows, layer.inputs, member + layer.weight);
  } else {
    const bool whole = spec_.members > 1;
    const int64_t first = whole ? 0 : block * kColumnsOfBlock;
    const int64_t count = whole ? layer.outputs : std::min(kColumnsOfBlock, layer.outputs - first);
    multiply({.transpose_a = true,
              .m = layer.inputs,
              .n = count,
              .k = rows,
              .a = in,
              .lda = layer.inputs,
              .b = delta + first,
              .ldb = layer.outputs,
              .c = member + layer.weight + first,
              .ldc = layer.outputs});
  }
  if (block != 0) return;
  k.column_sum(delta, rows, layer.outputs, member + layer.bias);
  if (layer.gain < 0) return;
  const int64_t chunks = ceil_div(rows, chunk_rows());
  const float* sums = workspace.norm_sums[index].data() + member_index * chunks * 2 * layer.outputs;
  // gain and shift lie side by side, as their partial sums do
  k.column_sum(sums, chunks, 2 * layer.outputs, member + layer.gain);
}

}  // namespace rl_training
