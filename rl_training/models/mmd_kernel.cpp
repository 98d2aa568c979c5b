// This file is compiled once for each instruction set; see kernel_set.h.
#include "rl_training/models/kernel_set.h"

// glibc provides a vector version of expf, accurate to a few units in the last place.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
extern "C" __attribute__((simd("notinbranch"), const)) float expf(float);
#else
extern "C" __attribute__((const)) float expf(float);
#endif

namespace rl_training::KERNEL_SET {
namespace {

// Adds the contribution of the pair of points p and q, in all lanes.
template <bool kAbsolute>
void add_pair(const float* p, const float* q, float weight, int64_t dims, float factor,
              float* squared, float* p_gradient, float* q_gradient) {
  float value[kLanes] = {};
  for (int64_t a = 0; a < dims; ++a) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float difference = p[a * kLanes + lane] - q[a * kLanes + lane];
      value[lane] +=
          kAbsolute ? (difference < 0.0f ? -difference : difference) : difference * difference;
    }
  }
  for (float& lane : value) lane = weight * expf(factor * lane);
  for (int64_t lane = 0; lane < kLanes; ++lane) squared[lane] += value[lane];
  for (int64_t a = 0; a < dims; ++a) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const int64_t at = a * kLanes + lane;
      const float difference = p[at] - q[at];
      const float sign = difference > 0.0f ? 1.0f : difference < 0.0f ? -1.0f : 0.0f;
      const float slope = factor * value[lane] * (kAbsolute ? sign : 2.0f * difference);
      p_gradient[at] += slope;
      q_gradient[at] -= slope;
    }
  }
}

template <bool kAbsolute>
void add_pairs(const float* points, const float* weights, int64_t count, int64_t dims, float factor,
               float* squared, float* gradient) {
  const int64_t step = dims * kLanes;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = i + 1; j < count; ++j) {
      add_pair<kAbsolute>(points + i * step, points + j * step, 2.0f * weights[i] * weights[j],
                          dims, factor, squared, gradient + i * step, gradient + j * step);
    }
  }
}

}  // namespace

void squared_mmd(const float* points, const float* weights, int64_t count, int64_t dims,
                 bool absolute, float factor, float* squared, float* gradient) {
  float alone = 0.0f;
  for (int64_t i = 0; i < count; ++i) alone += weights[i] * weights[i];
  for (int64_t lane = 0; lane < kLanes; ++lane) squared[lane] = alone;
  for (int64_t i = 0; i < count * dims * kLanes; ++i) gradient[i] = 0.0f;
  (absolute ? add_pairs<true> : add_pairs<false>)(points, weights, count, dims, factor, squared,
                                                  gradient);
}

}  // namespace rl_training::KERNEL_SET
