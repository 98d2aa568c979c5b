// Compiled once for each instruction set with KERNEL_SET = baseline | avx2 | avx512. Only plain
// loops: a template or inline function of a library, compiled here for AVX-512, could be the copy
// that the linker keeps for everyone.
#include "rl_training/models/kernels.h"

// glibc has these for whole vectors, to a few units in the last place.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define VECTOR_FUNCTION __attribute__((simd("notinbranch"), const))
#else
#define VECTOR_FUNCTION __attribute__((const))
#endif
extern "C" {
VECTOR_FUNCTION float tanhf(float);
VECTOR_FUNCTION float expf(float);
VECTOR_FUNCTION float log1pf(float);
}

namespace rl_training::KERNEL_SET {
namespace {

constexpr int64_t kLanes = 16;  // partial sums of a row, the same for every instruction set

// What a register holds.
#if defined(__AVX512F__)
constexpr int64_t kWidth = 16;
#elif defined(__AVX2__)
constexpr int64_t kWidth = 8;
#else
constexpr int64_t kWidth = 4;
#endif
using Vector = float __attribute__((vector_size(kWidth * sizeof(float)), aligned(4)));

void add_bias(float* y, const float* bias, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = y + i * columns;
    for (int64_t j = 0; j < columns; ++j) row[j] += bias[j];
  }
}

void add_bias_relu(float* y, const float* bias, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = y + i * columns;
    for (int64_t j = 0; j < columns; ++j) {
      const float value = row[j] + bias[j];
      row[j] = value > 0.0f ? value : (value == value ? 0.0f : value);  // NaN stays NaN
    }
  }
}

void relu(float* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    y[i] = y[i] > 0.0f ? y[i] : (y[i] == y[i] ? 0.0f : y[i]);  // NaN stays NaN
  }
}

// Whole vectors only, the last one filled up: what a number becomes does not depend on its place.
template <class Function>
void apply(const float* x, int64_t count, float* y, Function function) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t rest = count - i;
    float lanes[kLanes] = {};
    if (rest >= kLanes) {
      __builtin_memcpy(lanes, x + i, sizeof lanes);
    } else {
      for (int64_t k = 0; k < rest; ++k) lanes[k] = x[i + k];
    }
    for (float& lane : lanes) lane = function(lane);
    if (rest >= kLanes) {
      __builtin_memcpy(y + i, lanes, sizeof lanes);
    } else {
      for (int64_t k = 0; k < rest; ++k) y[i + k] = lanes[k];
    }
  }
}

void tanh(float* y, int64_t count) {
  apply(y, count, y, [](float value) { return tanhf(value); });
}

void exp(const float* x, int64_t count, float* y) {
  apply(x, count, y, [](float value) { return expf(value); });
}

// 2 (log 2 - |u| - log(1 + exp(-2 |u|))): the slope is even in u.
void log_tanh_slope(const float* u, int64_t count, float* out) {
  constexpr float kLog2 = 0.693147181f;
  apply(u, count, out, [](float value) {
    const float size = value < 0.0f ? -value : value;
    return 2.0f * (kLog2 - size - log1pf(expf(-2.0f * size)));
  });
}

void relu_backward(float* delta, const float* activation, int64_t count) {
  for (int64_t i = 0; i < count; ++i) delta[i] = activation[i] > 0.0f ? delta[i] : 0.0f;
}

void tanh_backward(float* delta, const float* activation, int64_t count) {
  for (int64_t i = 0; i < count; ++i) delta[i] *= 1.0f - activation[i] * activation[i];
}

void add_columns(const float* delta, int64_t rows, int64_t columns, float* out) {
  constexpr int64_t kBlock = 4;  // vectors that stay in registers
  int64_t first = 0;
  for (; first + kBlock * kWidth <= columns; first += kBlock * kWidth) {
    auto* to = reinterpret_cast<Vector*>(out + first);
    Vector sums[kBlock] = {to[0], to[1], to[2], to[3]};
    for (int64_t i = 0; i < rows; ++i) {
      const auto* row = reinterpret_cast<const Vector*>(delta + i * columns + first);
      for (int64_t k = 0; k < kBlock; ++k) sums[k] += row[k];
    }
    for (int64_t k = 0; k < kBlock; ++k) to[k] = sums[k];
  }
  for (int64_t i = 0; i < rows && first < columns; ++i) {
    const float* row = delta + i * columns;
    for (int64_t j = first; j < columns; ++j) out[j] += row[j];
  }
}

// Halves are added to halves, the same for every instruction set.
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

// The partial sums of a row as one number; the compiler cuts it to what the processor has.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

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
    if (keep != nullptr) relu_backward(d, keep + i * columns, columns);
  }
}

// Where a register holds all partial sums of a row, 16 rows are summed at once: two neighbours add
// their halves into one vector, four times over. That is the order of sum_lanes, and gives its
// bits.
#if defined(__AVX512F__)
Vector sum_lanes_of_rows(Vector* rows) {
  for (int i = 0; i < 8; ++i) {
    const Vector a = rows[2 * i], b = rows[2 * i + 1];
    rows[i] =
        __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
        __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  }
  for (int i = 0; i < 4; ++i) {
    const Vector a = rows[2 * i], b = rows[2 * i + 1];
    rows[i] =
        __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
        __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  }
  for (int i = 0; i < 2; ++i) {
    const Vector a = rows[2 * i], b = rows[2 * i + 1];
    rows[i] =
        __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29) +
        __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31);
  }
  const Vector a = rows[0], b = rows[1];
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
         __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

int64_t dot_of_rows(const float* x, const float* w, float bias, int64_t rows, int64_t columns,
                    float* y, int64_t y_step) {
  if (columns % kWidth != 0) return 0;
  int64_t i = 0;
  for (; i + kWidth <= rows; i += kWidth) {
    Vector sums[kWidth] = {};
    for (int64_t r = 0; r < kWidth; ++r) {
      const auto* row = reinterpret_cast<const Vector*>(x + (i + r) * columns);
      const auto* weights = reinterpret_cast<const Vector*>(w);
      for (int64_t j = 0; j < columns / kWidth; ++j) sums[r] += row[j] * weights[j];
    }
    const Vector result = sum_lanes_of_rows(sums);
    for (int64_t r = 0; r < kWidth; ++r) y[(i + r) * y_step] = result[r] + bias;
  }
  return i;
}
#else
int64_t dot_of_rows(const float*, const float*, float, int64_t, int64_t, float*, int64_t) {
  return 0;
}
#endif

void row_dot(const float* x, const float* w, float bias, int64_t rows, int64_t columns, float* y,
             int64_t y_step) {
  for (int64_t i = dot_of_rows(x, w, bias, rows, columns, y, y_step); i < rows; ++i) {
    y[i * y_step] = dot(x + i * columns, w, columns) + bias;
  }
}

void outer(const float* d, const float* w, const float* keep, int64_t rows, int64_t columns,
           float* out) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = out + i * columns;
    if (keep == nullptr) {
      for (int64_t j = 0; j < columns; ++j) row[j] = d[i] * w[j];
      continue;
    }
    const float* kept = keep + i * columns;
    for (int64_t j = 0; j < columns; ++j) {
      const float value = d[i] * w[j];
      row[j] = kept[j] > 0.0f ? value : 0.0f;
    }
  }
}

void add_weighted_columns(const float* d, const float* x, int64_t rows, int64_t columns,
                          float* out) {
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = x + i * columns;
    for (int64_t j = 0; j < columns; ++j) out[j] += d[i] * row[j];
  }
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

// Moments of numbers whose gradient is zero (dead units) die away geometrically. Before they reach
// the subnormal range, where arithmetic is many times slower, they are set to zero.
constexpr float kTinyMoment = 1e-30f;

void adam(float* p, float* m, float* v, const float* g, int64_t count, const AdamStep& step) {
  const float beta1 = step.beta1, beta2 = step.beta2;
  const float rest1 = 1.0f - beta1, rest2 = 1.0f - beta2;
  for (int64_t i = 0; i < count; ++i) {
    const float grad = g[i] + step.weight_decay * p[i];
    const float first = beta1 * m[i] + rest1 * grad;
    const float second = beta2 * v[i] + rest2 * grad * grad;
    const float size = first < 0.0f ? -first : first;
    m[i] = size < kTinyMoment ? 0.0f : first;  // NaN stays NaN
    v[i] = second < kTinyMoment ? 0.0f : second;
    const float root = __builtin_sqrtf(v[i]) * step.inverse_sqrt_bias + step.eps;
    p[i] -= step.step_size * (m[i] / root);
  }
}

void polyak(float* target, const float* source, int64_t count, float tau) {
  for (int64_t i = 0; i < count; ++i) target[i] += tau * (source[i] - target[i]);
}

// As many independent sums as the registers hold, wide as the registers are.
double fma_loop(int64_t rounds) {
  constexpr int kSums = 10;
  Vector sums[kSums];
  // Each begins elsewhere, or the compiler would form but one of them.
  for (int k = 0; k < kSums; ++k) sums[k] = Vector{} + static_cast<float>(k);
  const Vector a = Vector{} + 0.99f;
  const Vector b = Vector{} + 1e-3f;
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 10
    for (int k = 0; k < kSums; ++k) sums[k] = sums[k] * a + b;
  }
  Vector total = {};
  for (const Vector& sum : sums) total += sum;
  volatile float sink = total[0];  // keeps the loop
  static_cast<void>(sink);
  return 2.0 * static_cast<double>(kSums * kWidth) * static_cast<double>(rounds);
}

}  // namespace

#if defined(__AVX2__)
void multiply_small(const Product& work, float* scratch);  // product_tiles.cpp
constexpr auto* kMultiplySmall = &multiply_small;
#else
constexpr void (*kMultiplySmall)(const Product&, float*) = nullptr;
#endif

#define KERNEL_TEXT_(set) #set
#define KERNEL_TEXT(set) KERNEL_TEXT_(set)

extern const Kernels kKernels;
const Kernels kKernels = {KERNEL_TEXT(KERNEL_SET),
                          add_bias,
                          add_bias_relu,
                          relu,
                          tanh,
                          exp,
                          log_tanh_slope,
                          relu_backward,
                          tanh_backward,
                          add_columns,
                          layer_norm,
                          layer_norm_backward,
                          row_dot,
                          outer,
                          add_weighted_columns,
                          quantile_huber,
                          adam,
                          polyak,
                          kMultiplySmall,
                          fma_loop};

}  // namespace rl_training::KERNEL_SET
