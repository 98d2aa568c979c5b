#pragma once
#include <torch/types.h>

#include <array>

#include "rl_training/data/batch_request.h"
#include "rl_training/data/space.h"

namespace rl_training {

// The data of one gradient update. Contains only the requested columns. Box actions are scaled to
// [-1, 1]. `terminated` is 1 only where the task itself ended. It is 0 at time-outs, because
// targets still bootstrap from the state after a time-out.
class Batch {
 public:
  Batch() = default;
  // Allocates `request.rows` rows of zeros.
  Batch(const BatchRequest& request, const Space& obs, const Space& action);

  int64_t rows() const { return obs().size(0); }

  // The shapes below are for requests without windows. With windows, the shapes are
  // [rows, window, ...].
  const torch::Tensor& obs() const { return column(BatchColumn::obs); }         // [rows, ...]
  const torch::Tensor& actions() const { return column(BatchColumn::action); }  // [rows, ...]
  const torch::Tensor& rewards() const { return column(BatchColumn::reward); }  // [rows]
  const torch::Tensor& next_obs() const { return column(BatchColumn::next_obs); }
  const torch::Tensor& terminated() const { return column(BatchColumn::terminated); }  // 0 or 1
  const torch::Tensor& discount() const { return column(BatchColumn::discount); }
  const torch::Tensor& next_actions() const { return column(BatchColumn::next_action); }
  const torch::Tensor& next_action_valid() const {
    return column(BatchColumn::next_action_valid);  // 0 or 1
  }
  const torch::Tensor& returns_to_go() const { return column(BatchColumn::return_to_go); }
  const torch::Tensor& timesteps() const { return column(BatchColumn::timestep); }  // int64
  const torch::Tensor& mask() const { return column(BatchColumn::mask); }           // 0 or 1
  const torch::Tensor& log_probs() const { return column(BatchColumn::log_prob); }
  const torch::Tensor& values() const { return column(BatchColumn::value); }
  const torch::Tensor& advantages() const { return column(BatchColumn::advantage); }

  const torch::Tensor& column(BatchColumn which) const {
    const auto& tensor = columns_[static_cast<size_t>(which)];
    TORCH_CHECK(tensor.defined(), "the batch has no column ", column_name(which));
    return tensor;
  }

  // The memory behind the tensors, for a sampler to fill.
  BatchView view() const;

 private:
  std::array<torch::Tensor, kBatchColumns> columns_;
  int64_t steps_ = 1, obs_bytes_ = 0, action_bytes_ = 0;
};

inline Batch::Batch(const BatchRequest& request, const Space& obs, const Space& action)
    : steps_(std::max<int64_t>(1, request.window)),
      obs_bytes_(obs.bytes()),
      action_bytes_(action.bytes()) {
  const auto zeros = [&](const std::vector<int64_t>& entry, torch::ScalarType type) {
    std::vector<int64_t> shape = {request.rows};
    if (request.window > 0) shape.push_back(request.window);
    shape.insert(shape.end(), entry.begin(), entry.end());
    return torch::zeros(shape, type);
  };
  const auto of_space = [&](const Space& space) {
    return zeros(space.shape, space.dtype == DType::f32  ? torch::kFloat
                              : space.dtype == DType::u8 ? torch::kByte
                                                         : torch::kLong);
  };
  for (const auto which : request.columns) {
    auto& tensor = columns_[static_cast<size_t>(which)];
    switch (which) {
      case BatchColumn::obs:
      case BatchColumn::next_obs:
        tensor = of_space(obs);
        break;
      case BatchColumn::action:
      case BatchColumn::next_action:
        tensor = of_space(action);
        break;
      case BatchColumn::timestep:
        tensor = zeros({}, torch::kLong);
        break;
      default:
        tensor = zeros({}, torch::kFloat);
    }
  }
}

inline BatchView Batch::view() const {
  const auto at = [&]<class T>(BatchColumn which, T*& pointer) {
    const auto& tensor = columns_[static_cast<size_t>(which)];
    pointer = tensor.defined() ? static_cast<T*>(tensor.data_ptr()) : nullptr;
  };
  BatchView view;
  view.rows = rows();
  view.steps = steps_;
  view.obs_bytes = obs_bytes_;
  view.action_bytes = action_bytes_;
  at(BatchColumn::obs, view.obs);
  at(BatchColumn::action, view.action);
  at(BatchColumn::reward, view.reward);
  at(BatchColumn::next_obs, view.next_obs);
  at(BatchColumn::terminated, view.terminated);
  at(BatchColumn::discount, view.discount);
  at(BatchColumn::next_action, view.next_action);
  at(BatchColumn::next_action_valid, view.next_action_valid);
  at(BatchColumn::return_to_go, view.return_to_go);
  at(BatchColumn::timestep, view.timestep);
  at(BatchColumn::mask, view.mask);
  at(BatchColumn::log_prob, view.log_prob);
  at(BatchColumn::value, view.value);
  at(BatchColumn::advantage, view.advantage);
  return view;
}

}  // namespace rl_training
