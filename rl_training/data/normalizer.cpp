#include "rl_training/data/normalizer.h"

#include <array>
#include <cmath>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

constexpr double kEpsilon = 1e-3;  // avoids division by zero for constant entries, as in TD3+BC

}  // namespace

ObsNormalizer::ObsNormalizer(const Space& obs) : bytes_(obs.bytes()) {
  if (obs.is_image()) return;
  mean_.assign(static_cast<size_t>(obs.size()), 0.0f);
  scale_.assign(mean_.size(), 1.0f);
}

void ObsNormalizer::check(const Space& obs) const {
  if (bytes_ == obs.bytes() && mean_.empty() == obs.is_image()) return;
  throw Error(ErrorKind::internal, "normaliser and observations differ in size");
}

ObsNormalizer ObsNormalizer::fit(const TransitionDataset& dataset) {
  if (dataset.rows() == 0) throw Error(ErrorKind::data, "cannot normalise an empty dataset");
  ObsNormalizer result(dataset.obs_space());
  if (dataset.obs_space().is_image()) return result;
  const size_t dims = result.mean_.size();
  const auto count = static_cast<double>(dataset.rows());
  std::vector<double> mean(dims, 0.0), variance(dims, 0.0);
  for (int64_t row = 0; row < dataset.rows(); ++row) {
    for (size_t i = 0; i < dims; ++i) mean[i] += dataset.obs(row)[i];
  }
  for (double& value : mean) value /= count;
  // Computes the variance in a second pass, because sums of squares lose precision if the mean is
  // large.
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

void ObsNormalizer::set(std::span<const double> mean, std::span<const double> scale) {
  for (size_t i = 0; i < mean_.size(); ++i) {
    mean_[i] = static_cast<float>(mean[i]);
    scale_[i] = static_cast<float>(scale[i]);
  }
  identity_ = false;
}

void ObsNormalizer::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> shape = {static_cast<int64_t>(mean_.size())};
  state.scalar("identity", identity_);
  state.array("mean", DType::f32, shape, mean_.data());
  state.array("scale", DType::f32, shape, scale_.data());
}

}  // namespace rl_training
