#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rl_training/data/transition_dataset.h"
#include "rl_training/util/copy_entry.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Computes (obs - mean) / scale for each entry of a float vector, or copies the vector unchanged
// (the identity). Images are never changed.
class ObsNormalizer {
 public:
  explicit ObsNormalizer(const Space& obs);  // identity
  explicit ObsNormalizer(int64_t obs_dim) : ObsNormalizer(Space::unbounded(obs_dim)) {}
  // Computes the statistics of the observations of all rows. Next observations are not included.
  // `scale` is the standard deviation plus 1e-3.
  static ObsNormalizer fit(const TransitionDataset& dataset);

  // Normalises one observation. `in` and `out` may point to the same memory.
  void apply(const unsigned char* in, unsigned char* out) const {
    if (identity_) return copy_entry(in, bytes_, out);
    apply(reinterpret_cast<const float*>(in), reinterpret_cast<float*>(out));
  }
  void apply(const float* in, float* out) const {
    const size_t dims = mean_.size();
    const float* mean = mean_.data();
    const float* scale = scale_.data();
    for (size_t i = 0; i < dims; ++i) out[i] = (in[i] - mean[i]) / scale[i];
  }
  // Replaces the statistics. Later calls to apply() use the new values.
  void set(std::span<const double> mean, std::span<const double> scale);
  // Throws Error{internal} if the space does not match.
  void check(const Space& obs) const;

  bool identity() const { return identity_; }
  const std::vector<float>& mean() const { return mean_; }
  const std::vector<float>& scale() const { return scale_; }

  void visit_state(StateVisitor& state);

 private:
  bool identity_ = true;
  int64_t bytes_;  // size of one observation
  std::vector<float> mean_, scale_;
};

}  // namespace rl_training
