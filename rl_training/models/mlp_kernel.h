#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "rl_training/models/float_buffer.h"
#include "rl_training/models/mlp_spec.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {

// Output layers of at most this width are computed column by column, because a matrix product would
// compute tiles that are mostly empty.
constexpr int64_t kFewOutputs = 4;

// Values that a forward pass stores for its backward pass.
struct MlpWorkspace {
  int64_t members = 0, rows = 0;
  FloatBuffer joined_input;             // [rows, inputs], the concatenation of two inputs
  std::vector<FloatBuffer> activation;  // output of each hidden block [members, rows, width]
  std::vector<FloatBuffer> before_norm, mean, inverse_std;  // only for LayerNorm
  std::vector<FloatBuffer> slope;  // derivative of GELU, which cannot be computed from its output
  // Gradient with respect to each layer's matrix product [members, rows, width]. If chunks of rows
  // are processed in groups (see kMostGroups), the buffer has memory for only one chunk per group.
  std::vector<FloatBuffer> delta;
  std::vector<FloatBuffer> norm_sums;  // gain and shift gradients [members, chunks, 2 * width]
  FloatBuffer input_delta;             // [members, rows, wanted inputs]
  FloatBuffer group_sums;              // gradients of the parameters [members, groups, size]
};

// Forward and backward passes of an MLP, or of an ensemble of MLPs of the same shape, on the CPU in
// float32. Work is split by member and rows. The weight gradients of passes with few rows are split
// by member, layer and columns instead. The split does not depend on the number of threads, and
// sums are computed in a fixed order, so results are bit-identical for any pool.
class MlpKernel {
 public:
  MlpKernel(const MlpSpec& spec, ThreadPool* pool);

  const MlpSpec& spec() const { return spec_; }
  const MlpLayout& layout() const { return layout_; }

  // x: [rows, inputs] -> y: [members, rows, outputs] with the first `members` networks. If no
  // backward pass follows, pass null for `kept`: all chunks of a thread then reuse the same memory,
  // which stays in the cache.
  void forward(const float* parameters, const float* x, int64_t rows, int64_t members,
               MlpWorkspace* kept, float* y) const;

  struct Gradients {
    float* parameters = nullptr;               // [members, size]; null: not needed
    bool add_to_parameters = false;            // add to the old gradient instead of overwriting it
    float* input = nullptr;                    // [rows, input_count], overwritten; null: not needed
    int64_t input_first = 0, input_count = 0;  // columns of x that need a gradient
  };
  // Call this function after `forward`, with the same workspace. `y` is the result of `forward`,
  // and `y_gradient` is the gradient with respect to `y`.
  void backward(const float* parameters, const float* x, const float* y, const float* y_gradient,
                MlpWorkspace& workspace, const Gradients& wanted) const;

 private:
  // Rows of one member that are processed together.
  struct Chunk {
    int64_t member = 0, index = 0;
    int64_t first = 0, count = 0;  // rows of x
    int64_t offset = 0;            // index of the first row in arrays [members, rows]
    int64_t delta = 0;             // index of the first row in the workspace's delta
  };
  // Columns of a layer's weight gradient: one unit of work.
  struct Block {
    size_t layer;
    int64_t first, count;
  };

  // Gradients of a member's parameters that a pass over a chunk computes. With `add`, the gradients
  // of the chunk are added to the values in `out`.
  struct WeightSums {
    float* out = nullptr;  // [size]; null: not computed
    bool add = false;
  };

  int64_t chunk_rows() const;
  int64_t chunks_of(int64_t rows) const;
  // Whether ReLU is fused with the product of a hidden layer: in the forward pass
  // (relu_after_product) and in the backward pass (relu_undone_after_product).
  bool relu_after_product() const {
    return spec_.activation == Activation::relu && spec_.layer_norm != LayerNorm::before_activation;
  }
  bool relu_undone_after_product() const {
    return spec_.activation == Activation::relu && spec_.layer_norm != LayerNorm::after_activation;
  }
  // Whether the output of a layer for all rows exceeds a core's cache.
  static bool lies_far(const MlpWorkspace& workspace, int64_t width) {
    constexpr int64_t kNumbersInCache = 1 << 19;
    return workspace.members * workspace.rows * width >= kNumbersInCache;
  }
  void reserve_activations(int64_t rows, MlpWorkspace& workspace) const;
  void forward_chunk(const float* parameters, const float* x, const Chunk& chunk,
                     MlpWorkspace& workspace, int64_t offset_rows, float* y) const;
  void activate(size_t layer, const float* member, int64_t offset_rows, int64_t count,
                MlpWorkspace& workspace) const;
  void backward_chunk(const float* parameters, const float* x, const float* y,
                      const float* y_gradient, const Chunk& chunk, MlpWorkspace& workspace,
                      const Gradients& wanted, const WeightSums& sums) const;
  void backward_frozen(const float* parameters, const float* x, const Chunk& chunk,
                       MlpWorkspace& workspace, const Gradients& wanted) const;
  const std::vector<int64_t>& gather_rows(const Chunk& chunk, MlpWorkspace& workspace) const;
  void backward_rows(const float* parameters, const float* x, const Chunk& chunk,
                     MlpWorkspace& workspace, const Gradients& wanted,
                     const WeightSums& sums) const;
  void activate_backward(size_t layer, const float* member, const Chunk& chunk,
                         MlpWorkspace& workspace) const;
  void weight_gradient(const Block& block, const Chunk& chunk, const float* x,
                       const MlpWorkspace& workspace, bool add, float* gradient) const;
  float* norm_sums(size_t layer, const Chunk& chunk, const MlpWorkspace& workspace) const;
  void add_groups(int64_t groups, const MlpWorkspace& workspace, const Gradients& wanted) const;

  MlpSpec spec_;
  MlpLayout layout_;
  ThreadPool* pool_;
  std::vector<Block> blocks_;  // layers with the most inputs first, to balance threads
};

}  // namespace rl_training
