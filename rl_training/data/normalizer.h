#pragma once
#include <cstdint>
#include <vector>

#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/copy_few.h"
#include "rl_training/util/state.h"

namespace rl_training {

// (obs - mean) / (std + 1e-3) for each observation entry, or no change at all.
class ObsNormalizer {
 public:
  explicit ObsNormalizer(int64_t obs_dim);  // identity
  // Statistics of the rows' observations; successors are not counted.
  static ObsNormalizer fit(const TransitionDataset& dataset);

  // One observation; `in` and `out` may be the same.
  void apply(const float* in, float* out) const {
    const size_t dims = mean_.size();
    if (identity_) return copy_few(in, static_cast<int64_t>(dims), out);
    const float* mean = mean_.data();
    const float* scale = scale_.data();
    for (size_t i = 0; i < dims; ++i) out[i] = (in[i] - mean[i]) / scale[i];
  }

  bool identity() const { return identity_; }
  int64_t obs_dim() const { return static_cast<int64_t>(mean_.size()); }
  const std::vector<float>& mean() const { return mean_; }
  const std::vector<float>& scale() const { return scale_; }  // std + 1e-3

  void visit_state(StateVisitor& state);

 private:
  bool identity_ = true;
  std::vector<float> mean_, scale_;
};

}  // namespace rl_training
