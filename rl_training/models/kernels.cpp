// Elementwise loops, loops over columns, and the table of all kernels of an instruction set. This
// file is compiled once for each instruction set; see kernel_set.h.
#include "rl_training/models/kernel_set.h"

// glibc provides vector versions of tanhf, expf and log1pf, accurate to a few units in the last
// place.
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

// Processes only whole vectors and pads the last one. A scalar loop for the last elements could
// round differently, so the result of an element would depend on its position.
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

// With c as in kernels.h and t = tanh(c): slope = (1 + t) / 2 + x (1 - t^2) c' / 2.
void gelu(float* y, int64_t count, float* slope) {
  constexpr float kScale = 0.797884561f, kCubic = 0.044715f;
  // GCC calls the vector version of tanhf only in a loop that does nothing else.
  for (int64_t i = 0; i < count; ++i) {
    slope[i] = kScale * (y[i] + kCubic * y[i] * y[i] * y[i]);
  }
  tanh(slope, count);
  for (int64_t i = 0; i < count; ++i) {
    const float x = y[i], t = slope[i];
    const float inner = kScale * (1.0f + 3.0f * kCubic * x * x);
    y[i] = 0.5f * x * (1.0f + t);
    slope[i] = 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner;
  }
}

void elu(float* y, int64_t count) {
  // GCC calls the vector version of expf only if the call is unconditional. NaN stays NaN.
  apply(y, count, y, [](float x) {
    const float power = expf(x > 0.0f ? 0.0f : x);
    return x > 0.0f ? x : power - 1.0f;
  });
}

void exp(const float* x, int64_t count, float* y) {
  apply(x, count, y, [](float value) { return expf(value); });
}

// 2 (log 2 - |u| - log(1 + exp(-2 |u|))). The slope of tanh is even in u, so |u| can replace u.
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

void elu_backward(float* delta, const float* activation, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    delta[i] *= activation[i] > 0.0f ? 1.0f : activation[i] + 1.0f;
  }
}

void multiply_by(float* delta, const float* factor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) delta[i] *= factor[i];
}

// out[j] += sum_i d[i] x[i, j], or sum_i x[i, j] if d is null, for kVectors * kWidth columns. The
// sums of these columns stay in registers.
template <int64_t kVectors>
void add_column_block(const float* d, const float* x, int64_t rows, int64_t columns, float* out) {
  Vector sums[kVectors];
#pragma GCC unroll 4
  for (int64_t k = 0; k < kVectors; ++k) sums[k] = load(out + k * kWidth);
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = x + i * columns;
#pragma GCC unroll 4
    for (int64_t k = 0; k < kVectors; ++k) {
      const Vector given = load(row + k * kWidth);
      sums[k] += d != nullptr ? d[i] * given : given;
    }
  }
#pragma GCC unroll 4
  for (int64_t k = 0; k < kVectors; ++k) store(out + k * kWidth, sums[k]);
}

// The same for a single column, with several independent sums.
void add_one_column(const float* d, const float* x, int64_t rows, int64_t columns, float* out) {
  constexpr int64_t kSums = 4;
  float sums[kSums] = {*out};
  const auto add = [&](int64_t i, float& sum) {
    const float given = x[i * columns];
    sum += d != nullptr ? d[i] * given : given;
  };
  int64_t i = 0;
  for (; i + kSums <= rows; i += kSums) {
#pragma GCC unroll 4
    for (int64_t k = 0; k < kSums; ++k) add(i + k, sums[k]);
  }
  for (; i < rows; ++i) add(i, sums[0]);
  *out = (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void add_weighted_columns(const float* d, const float* x, int64_t rows, int64_t columns,
                          float* out) {
  constexpr int64_t kBlock = 4;
  int64_t first = 0;
  for (; first + kBlock * kWidth <= columns; first += kBlock * kWidth) {
    add_column_block<kBlock>(d, x + first, rows, columns, out + first);
  }
  for (; first + kWidth <= columns; first += kWidth) {
    add_column_block<1>(d, x + first, rows, columns, out + first);
  }
  for (; first < columns; ++first) add_one_column(d, x + first, rows, columns, out + first);
}

void add_columns(const float* delta, int64_t rows, int64_t columns, float* out) {
  add_weighted_columns(nullptr, delta, rows, columns, out);
}

void outer(const float* d, const float* w, const float* keep, int64_t rows, int64_t columns,
           float* out) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = out + i * columns;
    const float* kept = keep != nullptr ? keep + i * columns : nullptr;
    int64_t j = 0;
    for (; j + kWidth <= columns; j += kWidth) {
      const Vector value = d[i] * load(w + j), zero = {};
      store(row + j, kept == nullptr ? value : load(kept + j) > zero ? value : zero);
    }
    for (; j < columns; ++j) {
      row[j] = kept == nullptr || kept[j] > 0.0f ? d[i] * w[j] : 0.0f;
    }
  }
}

void gather_rows(float* values, const int64_t* rows, int64_t count, int64_t columns) {
  for (int64_t i = 0; i < count; ++i) {
    const float* from = values + rows[i] * columns;
    float* to = values + i * columns;
    int64_t j = 0;
    for (; j + kWidth <= columns; j += kWidth) store(to + j, load(from + j));
    for (; j < columns; ++j) to[j] = from[j];
  }
}

void take_minimum(float* least, const float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float a = least[i], b = values[i];
    least[i] = a < b || a != a ? a : b;
  }
}

void add_clipped_noise(const float* a, const float* e, int64_t count, float scale, float bound,
                       float* out) {
  // The comparisons are written so that NaN stays NaN.
  const auto clip = [](float x, float most) {
    const float low = x < -most ? -most : x;
    return low > most ? most : low;
  };
  for (int64_t i = 0; i < count; ++i) out[i] = clip(a[i] + clip(scale * e[i], bound), 1.0f);
}

double squared_error(const float* x, const float* y, int64_t count, float scale, float* slope) {
  double sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const float error = x[i + k] - y[i + k];
      slope[i + k] = scale * error;
      sums[k] += static_cast<double>(error) * static_cast<double>(error);
    }
  }
  for (int64_t k = 0; i + k < count; ++k) {
    const float error = x[i + k] - y[i + k];
    slope[i + k] = scale * error;
    sums[k] += static_cast<double>(error) * static_cast<double>(error);
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

// The moments of parameters with zero gradients (dead units) decay geometrically. They are set to
// zero before they reach the subnormal range, where arithmetic is many times slower.
constexpr float kTinyMoment = 1e-30f;

void adam(float* p, float* m, float* v, const float* g, int64_t count, const AdamStep& step) {
  const float beta1 = step.beta1, beta2 = step.beta2;
  const float rest1 = 1.0f - beta1, rest2 = 1.0f - beta2;
  if (step.keep != 1.0f) {
    for (int64_t i = 0; i < count; ++i) p[i] *= step.keep;
  }
  for (int64_t i = 0; i < count; ++i) {
    const float grad = g[i];
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

// Uses several independent sums, so that the loop measures the throughput and not the latency of
// the instruction.
double fma_loop(int64_t rounds) {
  constexpr int kSums = 10;
  Vector sums[kSums];
  // The initial values differ; otherwise the compiler would merge the sums.
  for (int k = 0; k < kSums; ++k) sums[k] = Vector{} + static_cast<float>(k);
  const Vector a = Vector{} + 0.99f;
  const Vector b = Vector{} + 1e-3f;
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 10
    for (Vector& sum : sums) sum = sum * a + b;
  }
  Vector total = {};
  for (const Vector& sum : sums) total += sum;
  volatile float sink = total[0];  // prevents the compiler from removing the loop
  static_cast<void>(sink);
  return 2.0 * static_cast<double>(kSums * kWidth) * static_cast<double>(rounds);
}

}  // namespace

#if defined(__AVX2__)
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
                          gelu,
                          elu,
                          exp,
                          log_tanh_slope,
                          relu_backward,
                          tanh_backward,
                          elu_backward,
                          multiply_by,
                          add_columns,
                          layer_norm,
                          layer_norm_backward,
                          row_dot,
                          outer,
                          add_weighted_columns,
                          gather_rows,
                          take_minimum,
                          add_clipped_noise,
                          squared_error,
                          quantile_huber,
                          squared_mmd,
                          adam,
                          polyak,
                          kMultiplySmall,
                          fma_loop};

}  // namespace rl_training::KERNEL_SET
