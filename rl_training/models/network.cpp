#include "rl_training/models/network.h"

#include <algorithm>

#include "rl_training/models/kernels.h"

namespace rl_training {

void Network::polyak_from(const Network& other, double tau) {
  auto* target = parameters_.data_ptr<float>();
  const auto* source = other.parameters_.data_ptr<float>();
  run_pieces(pool_, parameters_.numel(), [&](int64_t first, int64_t count) {
    kernels().polyak(target + first, source + first, count, static_cast<float>(tau));
  });
  parameters_.unsafeGetTensorImpl()->bump_version();
}

void Network::copy_from(const Network& other) {
  const torch::NoGradGuard no_grad;
  parameters_.copy_(other.parameters_);
}

void visit_tensor(StateVisitor& state, const std::string& name, torch::Tensor& tensor) {
  TORCH_CHECK(tensor.is_contiguous() && tensor.scalar_type() == torch::kFloat,
              "state tensors are contiguous float32: ", name);
  state.array(name, DType::f32, tensor.sizes(), tensor.data_ptr<float>());
}

std::vector<float> copy_values(const torch::Tensor& tensor, int64_t first, int64_t count) {
  TORCH_CHECK(first >= 0 && first + count <= tensor.numel(), "values outside of the tensor");
  const float* begin = tensor.data_ptr<float>() + first;
  return {begin, begin + count};
}

}  // namespace rl_training
