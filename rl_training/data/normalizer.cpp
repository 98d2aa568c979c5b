#include "rl_training/data/normalizer.h"

#include <array>
#include <cmath>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr double kEpsilon = 1e-3;  // keeps constant entries finite, as in TD3+BC

}  // namespace

ObsNormalizer::ObsNormalizer(int64_t obs_dim)
    : mean_(static_cast<size_t>(obs_dim), 0.0f), scale_(static_cast<size_t>(obs_dim), 1.0f) {}

ObsNormalizer ObsNormalizer::fit(const TransitionDataset& dataset) {
  if (dataset.rows() == 0) throw Error(ErrorKind::data, "cannot normalise an empty dataset");
  ObsNormalizer result(dataset.obs_dim());
  const size_t dims = result.mean_.size();
  const auto count = static_cast<double>(dataset.rows());
  std::vector<double> mean(dims, 0.0), variance(dims, 0.0);
  for (int64_t row = 0; row < dataset.rows(); ++row) {
    for (size_t i = 0; i < dims; ++i) mean[i] += dataset.obs(row)[i];
  }
  for (double& value : mean) value /= count;
  // A second pass: sums of squares would lose everything when the mean is large.
  for (int64_t row = 0; row < dataset.rows(); ++row) {
    for (size_t i = 0; i < dims; ++i) {
      const double difference = dataset.obs(row)[i] - mean[i];
      variance[i] += difference * difference;
    }
  }
  for (size_t i = 0; i < dims; ++i) {
    result.mean_[i] = static_cast<float>(mean[i]);
    result.scale_[i] = static_cast<float>(std::sqrt(variance[i] / count) + kEpsilon);
  }
  result.identity_ = false;
  return result;
}

void ObsNormalizer::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> shape = {obs_dim()};
  state.scalar("identity", identity_);
  state.array("mean", DType::f32, shape, mean_.data());
  state.array("scale", DType::f32, shape, scale_.data());
}

}  // namespace rl_training
