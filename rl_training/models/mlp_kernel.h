#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "rl_training/models/float_buffer.h"
#include "rl_training/models/mlp_spec.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {

// A head so narrow is formed column by column: tiles of it would be mostly empty.
constexpr int64_t kFewOutputs = 4;

// What one forward pass keeps for its backward pass.
struct MlpWorkspace {
  int64_t members = 0, rows = 0;
  FloatBuffer joined_input;             // [rows, inputs] when two inputs stand side by side
  std::vector<FloatBuffer> activation;  // output of each hidden block [members, rows, width]
  std::vector<FloatBuffer> before_norm, mean, inverse_std;  // LayerNorm only
  std::vector<FloatBuffer> slope;  // of gelu, not recoverable from its output
  std::vector<FloatBuffer> delta;  // gradient at each layer's product [members, rows, width], or
                                   // of one chunk for each group of them
  std::vector<FloatBuffer> norm_sums;  // gain and shift gradients [members, chunks, 2 * width]
  FloatBuffer input_delta;             // [members, rows, wanted inputs]
  FloatBuffer group_sums;              // parameters' gradients [members, groups, size]
};

// A whole MLP, or an ensemble of equal ones, forward and backward on the CPU in float32.
// Work is cut into (member, fixed chunk or group of chunks of rows) and (member, layer, fixed block
// of columns) whatever the number of threads, and sums are formed in a fixed order: same bits with
// any pool.
class MlpKernel {
 public:
  MlpKernel(const MlpSpec& spec, ThreadPool* pool);

  const MlpSpec& spec() const { return spec_; }
  const MlpLayout& layout() const { return layout_; }

  // x: [rows, inputs] -> y: [members, rows, outputs] with the first `members` networks. Without
  // a backward pass `kept` is null: all chunks use the same memory, which stays cached.
  void forward(const float* parameters, const float* x, int64_t rows, int64_t members,
               MlpWorkspace* kept, float* y) const;

  struct Gradients {
    float* parameters = nullptr;               // [members, size]; null: not needed
    bool add_to_parameters = false;            // rather than overwrite what is there
    float* input = nullptr;                    // [rows, input_count], overwritten; null: not needed
    int64_t input_first = 0, input_count = 0;  // which columns of x
  };
  // After `forward` on the same workspace; `y` is its result, `y_gradient` the gradient there.
  void backward(const float* parameters, const float* x, const float* y, const float* y_gradient,
                MlpWorkspace& workspace, const Gradients& wanted) const;

 private:
  // Rows of one member that go through together.
  struct Chunk {
    int64_t member = 0, index = 0;
    int64_t first = 0, count = 0;  // rows of x
    int64_t offset = 0;            // place of the first row in arrays [members, rows]
    int64_t delta = 0;             // and in the workspace's delta
  };
  // Columns of a layer's weight gradient: one unit of work.
  struct Block {
    size_t layer;
    int64_t first, count;
  };

  int64_t chunk_rows() const;
  int64_t chunks_of(int64_t rows) const;
  // Whether relu goes with the product of a hidden layer, forward and backward.
  bool relu_after_product() const {
    return spec_.activation == Activation::relu && spec_.layer_norm != LayerNorm::before_activation;
  }
  bool relu_undone_after_product() const {
    return spec_.activation == Activation::relu && spec_.layer_norm != LayerNorm::after_activation;
  }
  // Whether what a layer put out for all rows is more than a core's cache holds.
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
                      const Gradients& wanted, float* sums) const;
  void backward_frozen(const float* parameters, const float* x, const Chunk& chunk,
                       MlpWorkspace& workspace, const Gradients& wanted) const;
  const std::vector<int64_t>& gather_rows(const Chunk& chunk, MlpWorkspace& workspace) const;
  void backward_rows(const float* parameters, const float* x, const Chunk& chunk,
                     MlpWorkspace& workspace, const Gradients& wanted, float* sums) const;
  void activate_backward(size_t layer, const float* member, const Chunk& chunk,
                         MlpWorkspace& workspace) const;
  void weight_gradient(const Block& block, const Chunk& chunk, const float* x,
                       const MlpWorkspace& workspace, bool add, float* gradient) const;
  float* norm_sums(size_t layer, const Chunk& chunk, const MlpWorkspace& workspace) const;
  void add_groups(int64_t groups, const MlpWorkspace& workspace, const Gradients& wanted) const;

  MlpSpec spec_;
  MlpLayout layout_;
  ThreadPool* pool_;
  std::vector<Block> blocks_;  // the widest layers first, so that threads finish together
};

}  // namespace rl_training
