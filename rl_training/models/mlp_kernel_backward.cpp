#include <algorithm>

#include "rl_training/models/compute.h"
#include "rl_training/models/kernels.h"
#include "rl_training/models/mlp_kernel.h"
#include "rl_training/models/product.h"

namespace rl_training {
namespace {

// Largest number of groups into which a member's chunks are divided. With more chunks than this,
// some groups have several chunks. A group processes its chunks in order, and adds the parameter
// gradients of each chunk to its sums while the chunk is still in the cache.
constexpr int64_t kMostGroups = 8;

// Number of values in one unit of work of add_groups.
constexpr int64_t kPiece = 1 << 14;

// out[inputs, outputs] += in' delta, column by column, for layers with few outputs.
void add_narrow_weights(const LayerLayout& layer, const float* in, const float* delta, int64_t rows,
                        float* out) {
  const auto add = [&](const float* column, float* sums) {
    kernels().add_weighted_columns(column, in, rows, layer.inputs, sums);
  };
  if (layer.outputs == 1) return add(delta, out);
  thread_local FloatBuffer buffer;
  float* sums = buffer.reserve(layer.inputs + rows);
  float* column = sums + layer.inputs;
  for (int64_t j = 0; j < layer.outputs; ++j) {
    for (int64_t i = 0; i < rows; ++i) column[i] = delta[i * layer.outputs + j];
    std::fill_n(sums, layer.inputs, 0.0f);
    add(column, sums);
    for (int64_t p = 0; p < layer.inputs; ++p) out[p * layer.outputs + j] += sums[p];
  }
}

}  // namespace

void MlpKernel::backward(const float* parameters, const float* x, const float* y,
                         const float* y_gradient, MlpWorkspace& workspace,
                         const Gradients& wanted) const {
  const int64_t members = workspace.members, rows = workspace.rows, chunks = chunks_of(rows);
  const bool grouped = chunks > kMostGroups;
  const int64_t groups = std::min(chunks, kMostGroups);
  const int64_t delta_rows = grouped ? members * groups * chunk_rows() : members * rows;
  workspace.delta.resize(layout_.layers.size());
  workspace.norm_sums.resize(layout_.layers.size());
  for (size_t i = 0; i < layout_.layers.size(); ++i) {
    const auto& layer = layout_.layers[i];
    workspace.delta[i].reserve(delta_rows * layer.outputs);
    if (layer.gain >= 0) workspace.norm_sums[i].reserve(members * chunks * 2 * layer.outputs);
  }
  if (wanted.input != nullptr) workspace.input_delta.reserve(members * rows * wanted.input_count);
  // If every thread has at least one member, each task computes both the row gradients and the
  // weight gradients of one member, layer by layer, while the layer is still in the cache.
  const int64_t threads = pool_ == nullptr ? 1 : pool_->size();
  const bool by_member = chunks == 1 && members > 1 && threads <= members;
  const bool summed = grouped && wanted.parameters != nullptr;
  if (summed) workspace.group_sums.reserve(members * groups * layout_.size);

  run_tasks(pool_, members * groups, [&](int64_t task) {
    const int64_t member = task / groups, group = task % groups;
    WeightSums sums;
    if (summed) {
      sums = {.out = workspace.group_sums.data() + task * layout_.size, .add = true};
      std::fill_n(sums.out, layout_.size, 0.0f);
    } else if (by_member && wanted.parameters != nullptr) {
      sums = {.out = wanted.parameters + member * layout_.size, .add = wanted.add_to_parameters};
    }
    for (int64_t c = group * chunks / groups; c < (group + 1) * chunks / groups; ++c) {
      const int64_t first = c * chunk_rows(), offset = member * rows + first;
      const Chunk chunk = {.member = member,
                           .index = c,
                           .first = first,
                           .count = std::min(chunk_rows(), rows - first),
                           .offset = offset,
                           .delta = grouped ? task * chunk_rows() : offset};
      backward_chunk(parameters, x, y, y_gradient, chunk, workspace, wanted, sums);
    }
  });
  if (summed) {
    add_groups(groups, workspace, wanted);
  } else if (wanted.parameters != nullptr && !by_member) {
    const auto count = static_cast<int64_t>(blocks_.size());
    run_tasks(pool_, members * count, [&](int64_t task) {
      const int64_t member = task / count, offset = member * rows;
      const Chunk all = {.member = member, .count = rows, .offset = offset, .delta = offset};
      weight_gradient(blocks_[task % count], all, x, workspace, wanted.add_to_parameters,
                      wanted.parameters + member * layout_.size);
    });
  }
  if (wanted.input != nullptr) {  // sum over members, in order
    const int64_t count = rows * wanted.input_count;
    const float* parts = workspace.input_delta.data();
    std::copy(parts, parts + count, wanted.input);
    for (int64_t m = 1; m < members; ++m) {
      for (int64_t j = 0; j < count; ++j) wanted.input[j] += parts[m * count + j];
    }
  }
}

void MlpKernel::backward_chunk(const float* parameters, const float* x, const float* y,
                               const float* y_gradient, const Chunk& chunk, MlpWorkspace& workspace,
                               const Gradients& wanted, const WeightSums& sums) const {
  const auto& k = kernels();
  const int64_t offset = chunk.offset * spec_.outputs, values = chunk.count * spec_.outputs;
  float* delta = workspace.delta.back().data() + chunk.delta * spec_.outputs;
  std::copy(y_gradient + offset, y_gradient + offset + values, delta);
  if (spec_.output_activation == Activation::tanh) {
    k.tanh_backward(delta, y + offset, values);
  } else if (spec_.output_activation == Activation::relu) {
    k.relu_backward(delta, y + offset, values);
  }
  if (wanted.parameters == nullptr) return backward_frozen(parameters, x, chunk, workspace, wanted);
  backward_rows(parameters, x, chunk, workspace, wanted, sums);
}

void MlpKernel::backward_rows(const float* parameters, const float* x, const Chunk& chunk,
                              MlpWorkspace& workspace, const Gradients& wanted,
                              const WeightSums& sums) const {
  const auto& k = kernels();
  const float* member = parameters + chunk.member * layout_.size;
  const int64_t count = chunk.count;
  const size_t last = layout_.layers.size() - 1;
  const auto add_weights = [&](size_t layer) {
    if (sums.out == nullptr) return;
    const Block whole = {layer, 0, layout_.layers[layer].outputs};
    weight_gradient(whole, chunk, x, workspace, sums.add, sums.out);
  };
  for (size_t i = last; i > 0; --i) {
    const auto& layer = layout_.layers[i];
    const float* delta = workspace.delta[i].data() + chunk.delta * layer.outputs;
    float* below = workspace.delta[i - 1].data() + chunk.delta * layer.inputs;
    const float* keep = relu_undone_after_product()
                            ? workspace.activation[i - 1].data() + chunk.offset * layer.inputs
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
                .operand = keep,
                .far = lies_far(workspace, layer.inputs)});
    }
    add_weights(i);
    activate_backward(i - 1, member, chunk, workspace);
  }
  add_weights(0);
  if (wanted.input != nullptr && wanted.input_count == 1) {
    const auto& layer = layout_.layers[0];
    k.row_dot(workspace.delta[0].data() + chunk.delta * layer.outputs,
              member + layer.weight + wanted.input_first * layer.outputs, 0.0f, count,
              layer.outputs, workspace.input_delta.data() + chunk.offset, 1);
  } else if (wanted.input != nullptr) {
    const auto& layer = layout_.layers[0];
    multiply({.transpose_b = true,
              .m = count,
              .n = wanted.input_count,
              .k = layer.outputs,
              .a = workspace.delta[0].data() + chunk.delta * layer.outputs,
              .lda = layer.outputs,
              .b = member + layer.weight + wanted.input_first * layer.outputs,
              .ldb = layer.outputs,
              .c = workspace.input_delta.data() + chunk.offset * wanted.input_count,
              .ldc = wanted.input_count});
  }
}

// Converts the gradient at a hidden block's output into the gradient at the block's product, in
// place.
void MlpKernel::activate_backward(size_t index, const float* member, const Chunk& chunk,
                                  MlpWorkspace& workspace) const {
  const auto& k = kernels();
  const auto& layer = layout_.layers[index];
  const int64_t width = layer.outputs;
  const int64_t offset = chunk.offset * width;
  float* delta = workspace.delta[index].data() + chunk.delta * width;
  // ReLU is not handled here, because it is fused with the product of the next layer or with
  // LayerNorm.
  const auto undo_activation = [&](const float* activation) {
    if (spec_.activation == Activation::tanh) {
      k.tanh_backward(delta, activation, chunk.count * width);
    } else if (spec_.activation == Activation::elu) {
      k.elu_backward(delta, activation, chunk.count * width);
    } else if (spec_.activation == Activation::gelu) {
      k.multiply_by(delta, workspace.slope[index].data() + offset, chunk.count * width);
    }
  };
  const float* before = workspace.before_norm[index].data() + offset;
  const auto undo_norm = [&](const float* keep) {
    float* sums = norm_sums(index, chunk, workspace);
    k.layer_norm_backward(delta, member + layer.gain, before,
                          workspace.mean[index].data() + chunk.offset,
                          workspace.inverse_std[index].data() + chunk.offset, keep, chunk.count,
                          width, sums, sums + width);
  };
  switch (spec_.layer_norm) {
    case LayerNorm::none:
      undo_activation(workspace.activation[index].data() + offset);
      break;
    case LayerNorm::before_activation:
      undo_activation(workspace.activation[index].data() + offset);
      undo_norm(nullptr);
      break;
    case LayerNorm::after_activation:
      undo_norm(spec_.activation == Activation::relu ? before : nullptr);
      undo_activation(before);
      break;
  }
}

// Computes the gradient of a block of weight columns from the rows of the chunk. `gradient` is the
// gradient of one member; with `add`, the result is added to it. The first block of a layer also
// computes the gradients of bias, gain and shift.
void MlpKernel::weight_gradient(const Block& block, const Chunk& chunk, const float* x,
                                const MlpWorkspace& workspace, bool add, float* gradient) const {
  const auto& k = kernels();
  const auto& layer = layout_.layers[block.layer];
  const float* in =
      block.layer == 0 ? x + chunk.first * layer.inputs
                       : workspace.activation[block.layer - 1].data() + chunk.offset * layer.inputs;
  const float* delta = workspace.delta[block.layer].data() + chunk.delta * layer.outputs;
  const auto add_rows = [&](int64_t place, int64_t count, const auto& rows) {
    if (!add) std::fill_n(gradient + place, count, 0.0f);
    rows(gradient + place);
  };
  if (layer.outputs <= kFewOutputs) {
    add_rows(layer.weight, layer.inputs * layer.outputs,
             [&](float* out) { add_narrow_weights(layer, in, delta, chunk.count, out); });
  } else {
    multiply({.transpose_a = true,
              .m = layer.inputs,
              .n = block.count,
              .k = chunk.count,
              .a = in,
              .lda = layer.inputs,
              .b = delta + block.first,
              .ldb = layer.outputs,
              .c = gradient + layer.weight + block.first,
              .ldc = layer.outputs,
              .then = add ? Product::Then::add_old : Product::Then::nothing});
  }
  if (block.first != 0) return;
  add_rows(layer.bias, layer.outputs,
           [&](float* out) { k.add_columns(delta, chunk.count, layer.outputs, out); });
  if (layer.gain < 0) return;
  // Gain and shift are adjacent in memory, and so are their partial sums.
  add_rows(layer.gain, 2 * layer.outputs, [&](float* out) {
    k.add_columns(norm_sums(block.layer, chunk, workspace), chunks_of(chunk.count),
                  2 * layer.outputs, out);
  });
}

// Address of the gradients of gain and shift, summed over the rows of the chunk. The sums of the
// next chunks follow.
float* MlpKernel::norm_sums(size_t layer, const Chunk& chunk, const MlpWorkspace& workspace) const {
  const int64_t before = chunk.member * chunks_of(workspace.rows) + chunk.index;
  return workspace.norm_sums[layer].data() + before * 2 * layout_.layers[layer].outputs;
}

// Adds the parameter gradients of a member's groups, always in the same order, so that results do
// not depend on the number of threads.
void MlpKernel::add_groups(int64_t groups, const MlpWorkspace& workspace,
                           const Gradients& wanted) const {
  const int64_t size = layout_.size, pieces = (size + kPiece - 1) / kPiece;
  run_tasks(pool_, workspace.members * pieces, [&](int64_t task) {
    const int64_t member = task / pieces, first = task % pieces * kPiece;
    const int64_t count = std::min(kPiece, size - first);
    const float* part = workspace.group_sums.data() + member * groups * size + first;
    float* out = wanted.parameters + member * size + first;
    if (!wanted.add_to_parameters) std::fill_n(out, count, 0.0f);
    for (int64_t g = 0; g < groups; ++g) kernels().add_columns(part + g * size, 1, count, out);
  });
}

}  // namespace rl_training
