#include "rl_training/runtime/acting.h"

namespace rl_training {

torch::Tensor obs_buffer(const VectorEnv& envs) {
  const Space& space = envs.spec().observation;
  std::vector<int64_t> shape = {envs.count()};
  shape.insert(shape.end(), space.shape.begin(), space.shape.end());
  return torch::empty(shape, space.is_image() ? torch::kByte : torch::kFloat);
}

void normalized_obs(const VectorEnv& envs, const ObsNormalizer& normalizer, torch::Tensor& obs) {
  const int64_t bytes = envs.spec().observation.bytes();
  auto* out = static_cast<unsigned char*>(obs.data_ptr());
  for (int64_t i = 0; i < envs.count(); ++i) normalizer.apply(envs.obs_of(i), out + i * bytes);
}

void step_with(VectorEnv& envs, const torch::Tensor& actions) {
  const auto count = static_cast<size_t>(actions.numel());
  if (envs.spec().action.is_discrete()) {
    envs.step(std::span<const int64_t>(actions.data_ptr<int64_t>(), count));
  } else {
    envs.step(std::span<const float>(actions.data_ptr<float>(), count));
  }
}

}  // namespace rl_training
