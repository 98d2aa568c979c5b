#include <algorithm>

#include "rl_training/models/kernels.h"
#include "rl_training/models/mlp_kernel.h"

namespace rl_training {
namespace {

// Moves row i of `values` to index rows[i] for each i. `values` has `count` rows in total; all rows
// that are not in `rows` become zero.
void spread_rows(const std::vector<int64_t>& rows, int64_t count, int64_t width, float* values) {
  thread_local FloatBuffer buffer;
  const int64_t filled = static_cast<int64_t>(rows.size()) * width;
  float* copy = buffer.reserve(filled);
  std::copy_n(values, filled, copy);
  std::fill_n(values, count * width, 0.0f);
  for (const int64_t row : rows) {
    for (int64_t j = 0; j < width; ++j) values[row * width + j] = *copy++;
  }
}

}  // namespace

// Finds the rows whose output has a nonzero gradient and returns their indices. Also moves these
// rows to the front of the chunk in all arrays that the backward pass reads, so that the pass can
// skip the other rows. This saves work for the minimum of several critics, where each row has a
// gradient in only one critic. Valid only for passes without parameter gradients, because the rows
// of x are not moved.
const std::vector<int64_t>& MlpKernel::gather_rows(const Chunk& chunk,
                                                   MlpWorkspace& workspace) const {
  thread_local std::vector<int64_t> rows;
  rows.resize(static_cast<size_t>(chunk.count));
  const float* delta = workspace.delta.back().data() + chunk.delta * spec_.outputs;
  int64_t count = 0;
  for (int64_t i = 0; i < chunk.count; ++i) {  // no branch, because it would be unpredictable
    bool wanted = false;
    for (int64_t j = 0; j < spec_.outputs; ++j) wanted |= delta[i * spec_.outputs + j] != 0.0f;
    rows[static_cast<size_t>(count)] = i;
    count += wanted ? 1 : 0;
  }
  rows.resize(static_cast<size_t>(count));
  if (count == chunk.count) return rows;
  const auto gather = [&](const FloatBuffer& buffer, int64_t offset, int64_t width) {
    kernels().gather_rows(buffer.data() + offset * width, rows.data(), count, width);
  };
  gather(workspace.delta.back(), chunk.delta, spec_.outputs);
  for (size_t i = 0; i + 1 < layout_.layers.size(); ++i) {
    const int64_t width = layout_.layers[i].outputs;
    if (spec_.layer_norm != LayerNorm::after_activation) {
      gather(workspace.activation[i], chunk.offset, width);
    }
    if (spec_.activation == Activation::gelu) gather(workspace.slope[i], chunk.offset, width);
    if (spec_.layer_norm == LayerNorm::none) continue;
    gather(workspace.before_norm[i], chunk.offset, width);
    gather(workspace.mean[i], chunk.offset, 1);
    gather(workspace.inverse_std[i], chunk.offset, 1);
  }
  return rows;
}

// A backward pass that computes only the gradient of the inputs.
void MlpKernel::backward_frozen(const float* parameters, const float* x, const Chunk& chunk,
                                MlpWorkspace& workspace, const Gradients& wanted) const {
  const auto& rows = gather_rows(chunk, workspace);
  Chunk gathered = chunk;
  gathered.count = static_cast<int64_t>(rows.size());
  if (gathered.count > 0) backward_rows(parameters, x, gathered, workspace, wanted, {});
  if (gathered.count < chunk.count && wanted.input != nullptr) {
    spread_rows(rows, chunk.count, wanted.input_count,
                workspace.input_delta.data() + chunk.offset * wanted.input_count);
  }
}

}  // namespace rl_training
