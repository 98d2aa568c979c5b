// Sums along the rows of a matrix, for heads with few outputs, LayerNorm and quantiles. This file
// is compiled once for each instruction set; see kernel_set.h. Every set forms the same partial
// sums of a row.
#include "rl_training/models/kernel_set.h"

namespace rl_training::KERNEL_SET {
namespace {

// Repeatedly adds the upper half of the lanes to the lower half. The order is the same for every
// instruction set.
float sum_lanes(float* lanes) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  }
  return lanes[0];
}

float dot(const float* a, const float* b, int64_t count) {
  float lanes[kLanes] = {};
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += a[j + k] * b[j + k];
  }
  for (int64_t k = 0; j + k < count; ++k) lanes[k] += a[j + k] * b[j + k];
  return sum_lanes(lanes);
}

float sum(const float* a, int64_t count) {
  float lanes[kLanes] = {};
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += a[j + k];
  }
  for (int64_t k = 0; j + k < count; ++k) lanes[k] += a[j + k];
  return sum_lanes(lanes);
}

// The partial sums of a row as one vector, which the compiler splits into registers.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

// Reduces the partial sums of several rows, one vector per row, to one vector with a sum per row.
// Repeatedly adds the halves of two adjacent vectors, in the order of sum_lanes.
#if defined(__AVX512F__)
constexpr int64_t kRowsAtOnce = 16;
Vector sum_rows(Vector* rows) {
#pragma GCC unroll 8
  for (int64_t i = 0; i < 8; ++i) {
    const Vector a = rows[2 * i], b = rows[2 * i + 1];
    rows[i] =
        __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
        __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  }
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4; ++i) {
    const Vector a = rows[2 * i], b = rows[2 * i + 1];
    rows[i] =
        __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
        __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  }
#pragma GCC unroll 2
  for (int64_t i = 0; i < 2; ++i) {
    const Vector a = rows[2 * i], b = rows[2 * i + 1];
    rows[i] =
        __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29) +
        __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31);
  }
  const Vector a = rows[0], b = rows[1];
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
         __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}
#elif defined(__AVX2__)
constexpr int64_t kRowsAtOnce = 4;
Vector sum_rows(Vector* rows) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4; ++i) {
    const Vector a = rows[2 * i], b = rows[2 * i + 1];
    rows[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
              __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
  }
#pragma GCC unroll 2
  for (int64_t i = 0; i < 2; ++i) {
    const Vector a = rows[2 * i], b = rows[2 * i + 1];
    rows[i] = __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13) +
              __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15);
  }
  const Vector a = rows[0], b = rows[1];
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14) +
         __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
}
#endif

#if defined(__AVX2__)
// Dot products of kWidth rows with w, one row per lane of the result. `columns` is a multiple of
// kLanes.
Vector dot_of_rows(const float* x, const float* w, int64_t columns) {
  constexpr int64_t kParts = kLanes / kWidth;  // number of vectors for the partial sums of a row
  Vector sums[kWidth];
#pragma GCC unroll 2
  for (int64_t first = 0; first < kWidth; first += kRowsAtOnce) {
    Vector parts[kRowsAtOnce][kParts] = {};
    for (int64_t j = 0; j < columns; j += kLanes) {
#pragma GCC unroll 2
      for (int64_t p = 0; p < kParts; ++p) {
        const Vector weights = load(w + j + p * kWidth);
#pragma GCC unroll 16
        for (int64_t r = 0; r < kRowsAtOnce; ++r) {
          parts[r][p] += load(x + (first + r) * columns + j + p * kWidth) * weights;
        }
      }
    }
#pragma GCC unroll 16
    for (int64_t r = 0; r < kRowsAtOnce; ++r) {
      sums[first + r] = kParts == 2 ? parts[r][0] + parts[r][kParts - 1] : parts[r][0];
    }
  }
  return sum_rows(sums);
}
#endif

}  // namespace

void layer_norm(const float* x, const float* gain, const float* shift, float eps, int64_t rows,
                int64_t columns, float* mean, float* inverse_std, float* y) {
  const float scale = 1.0f / static_cast<float>(columns);
  const int64_t whole = columns / kLanes * kLanes;
  for (int64_t i = 0; i < rows; ++i) {
    const float* in = x + i * columns;
    float* out = y + i * columns;
    const float middle = sum(in, columns) * scale;
    Lanes squares = {};
    for (int64_t j = 0; j < whole; j += kLanes) {
      const Lanes centred = *reinterpret_cast<const Lanes*>(in + j) - middle;
      squares += centred * centred;
    }
    for (int64_t j = whole; j < columns; ++j) {
      squares[j - whole] += (in[j] - middle) * (in[j] - middle);
    }
    const float variance = sum_lanes(reinterpret_cast<float*>(&squares)) * scale;
    const float inverse = 1.0f / __builtin_sqrtf(variance + eps);
    for (int64_t j = 0; j < columns; ++j) {
      out[j] = (in[j] - middle) * inverse * gain[j] + shift[j];
    }
    mean[i] = middle;
    inverse_std[i] = inverse;
  }
}

// With h the normalised row and g = delta * gain: dx = (g - mean(g) - h * mean(g * h)) / std
void layer_norm_backward(float* delta, const float* gain, const float* x, const float* mean,
                         const float* inverse_std, const float* keep, int64_t rows, int64_t columns,
                         float* gain_gradient, float* shift_gradient) {
  const float scale = 1.0f / static_cast<float>(columns);
  const int64_t whole = columns / kLanes * kLanes;
  for (int64_t j = 0; j < columns; ++j) gain_gradient[j] = shift_gradient[j] = 0.0f;
  for (int64_t i = 0; i < rows; ++i) {
    float* d = delta + i * columns;
    const float* in = x + i * columns;
    const float middle = mean[i], inverse = inverse_std[i];
    Lanes sums = {}, products = {};
    for (int64_t j = 0; j < whole; j += kLanes) {
      const Lanes given = *reinterpret_cast<const Lanes*>(d + j);
      const Lanes h = (*reinterpret_cast<const Lanes*>(in + j) - middle) * inverse;
      *reinterpret_cast<Lanes*>(gain_gradient + j) += given * h;
      *reinterpret_cast<Lanes*>(shift_gradient + j) += given;
      const Lanes g = given * *reinterpret_cast<const Lanes*>(gain + j);
      *reinterpret_cast<Lanes*>(d + j) = g;
      sums += g;
      products += g * h;
    }
    for (int64_t j = whole; j < columns; ++j) {
      const float h = (in[j] - middle) * inverse;
      gain_gradient[j] += d[j] * h;
      shift_gradient[j] += d[j];
      d[j] *= gain[j];
      sums[j - whole] += d[j];
      products[j - whole] += d[j] * h;
    }
    const float average = sum_lanes(reinterpret_cast<float*>(&sums)) * scale;
    const float projection = sum_lanes(reinterpret_cast<float*>(&products)) * scale;
    for (int64_t j = 0; j < columns; ++j) {
      d[j] = (d[j] - average - (in[j] - middle) * inverse * projection) * inverse;
    }
    if (keep == nullptr) continue;
    const float* kept = keep + i * columns;
    for (int64_t j = 0; j < columns; ++j) d[j] = kept[j] > 0.0f ? d[j] : 0.0f;
  }
}

void row_dot(const float* x, const float* w, float bias, int64_t rows, int64_t columns, float* y,
             int64_t y_step) {
  int64_t i = 0;
#if defined(__AVX2__)
  for (; columns % kLanes == 0 && i + kWidth <= rows; i += kWidth) {
    const Vector sums = dot_of_rows(x + i * columns, w, columns) + bias;
    if (y_step == 1) {
      store(y + i, sums);
    } else {
      for (int64_t r = 0; r < kWidth; ++r) y[(i + r) * y_step] = sums[r];
    }
  }
#endif
  for (; i < rows; ++i) y[i * y_step] = dot(x + i * columns, w, columns) + bias;
}

float quantile_huber(float q, float level, const float* y, int64_t count, float* slope) {
  float sums[kLanes] = {}, slopes[kLanes] = {};
  const auto add = [&](int64_t j, int64_t k) {
    const float d = y[j] - q;
    const float size = d < 0.0f ? -d : d;
    const float bounded = d > 1.0f ? 1.0f : (d < -1.0f ? -1.0f : d);
    const float weight = d < 0.0f ? 1.0f - level : level;
    const float huber = size > 1.0f ? size - 0.5f : 0.5f * d * d;
    sums[k] += weight * huber;
    slopes[k] -= weight * bounded;
  };
  int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) add(j + k, k);
  }
  for (int64_t k = 0; j + k < count; ++k) add(j + k, k);
  *slope = sum_lanes(slopes);
  return sum_lanes(sums);
}

}  // namespace rl_training::KERNEL_SET
