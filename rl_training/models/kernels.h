#pragma once
#include <cstddef>
#include <cstdint>

namespace rl_training {

struct Product;

struct AdamStep {
  float beta1, beta2, eps;
  float keep;               // multiplies the parameters before the step; 1 without weight decay
  float step_size;          // learning rate / (1 - beta1^t)
  float inverse_sqrt_bias;  // 1 / sqrt(1 - beta2^t)
};

// Inner loops of networks, losses and optimisers, and small matrix products. Their files are
// compiled once for each instruction set (kernel_set.h). By default, `kernels()` returns the widest
// set that this processor supports. All matrices are row-major and contiguous.
struct Kernels {
  const char* name;

  void (*add_bias)(float* y, const float* bias, int64_t rows, int64_t columns);
  void (*add_bias_relu)(float* y, const float* bias, int64_t rows, int64_t columns);
  void (*relu)(float* y, int64_t count);
  void (*tanh)(float* y, int64_t count);
  // y = x (1 + tanh(c)) / 2 with c = sqrt(2 / pi) (x + 0.044715 x^3), where x is the old y;
  // slope = dy / dx
  void (*gelu)(float* y, int64_t count, float* slope);
  // y = x where x is positive, else exp(x) - 1, where x is the old y
  void (*elu)(float* y, int64_t count);
  void (*exp)(const float* x, int64_t count, float* y);
  // out = log |d tanh(u) / du|, accurate even where log(1 - tanh(u)^2) loses all precision
  void (*log_tanh_slope)(const float* u, int64_t count, float* out);
  // delta *= (activation > 0)
  void (*relu_backward)(float* delta, const float* activation, int64_t count);
  // delta *= 1 - activation^2
  void (*tanh_backward)(float* delta, const float* activation, int64_t count);
  // delta *= (activation > 0 ? 1 : activation + 1)
  void (*elu_backward)(float* delta, const float* activation, int64_t count);
  // delta *= factor
  void (*multiply_by)(float* delta, const float* factor, int64_t count);
  // out[j] += sum_i delta[i, j]
  void (*add_columns)(const float* delta, int64_t rows, int64_t columns, float* out);
  // y = gain * (x - mean) / std + shift for each row; also stores mean and 1 / std
  void (*layer_norm)(const float* x, const float* gain, const float* shift, float eps, int64_t rows,
                     int64_t columns, float* mean, float* inverse_std, float* y);
  // Replaces the gradient with respect to y in `delta` by the gradient with respect to x, which is
  // 0 where `keep` is given and not positive. Also computes the gradients of gain and shift, summed
  // over the rows.
  void (*layer_norm_backward)(float* delta, const float* gain, const float* x, const float* mean,
                              const float* inverse_std, const float* keep, int64_t rows,
                              int64_t columns, float* gain_gradient, float* shift_gradient);
  // y[i * y_step] = sum_j x[i, j] * w[j] + bias
  void (*row_dot)(const float* x, const float* w, float bias, int64_t rows, int64_t columns,
                  float* y, int64_t y_step);
  // out[i, j] = d[i] * w[j]; with `keep`, 0 where keep[i, j] is not positive
  void (*outer)(const float* d, const float* w, const float* keep, int64_t rows, int64_t columns,
                float* out);
  // out[j] += sum_i d[i] * x[i, j]
  void (*add_weighted_columns)(const float* d, const float* x, int64_t rows, int64_t columns,
                               float* out);
  // values[i, :] = values[rows[i], :] in place; rows[i] >= i
  void (*gather_rows)(float* values, const int64_t* rows, int64_t count, int64_t columns);
  // least = min(least, values), NaN if either is NaN
  void (*take_minimum)(float* least, const float* values, int64_t count);
  // out = clip(a + clip(scale e, +-bound), +-1)
  void (*add_clipped_noise)(const float* a, const float* e, int64_t count, float scale, float bound,
                            float* out);
  // slope = scale (x - y); returns the sum of (x - y)^2
  double (*squared_error)(const float* x, const float* y, int64_t count, float scale, float* slope);
  // sum_j |level - 1[y_j < q]| huber(y_j - q), and its derivative with respect to q.
  float (*quantile_huber)(float q, float level, const float* y, int64_t count, float* slope);
  // squared = sum_ij w_i w_j exp(factor d(p_i, p_j)) and its gradient with respect to the points p,
  // for 16 batch rows at once. d sums the absolute differences of the coordinates if `absolute`,
  // otherwise the squared differences. points, gradient: [count, dims, 16]; squared: [16].
  void (*squared_mmd)(const float* points, const float* weights, int64_t count, int64_t dims,
                      bool absolute, float factor, float* squared, float* gradient);
  void (*adam)(float* p, float* m, float* v, const float* g, int64_t count, const AdamStep& step);
  // target += tau * (source - target)
  void (*polyak)(float* target, const float* source, int64_t count, float tau);
  // A matrix product for the sizes that is_small() in product.cpp accepts. Null in sets without
  // such a function.
  void (*multiply_small)(const Product& work, float* scratch);
  // Runs `rounds` rounds of independent multiply-adds and returns the number of floating-point
  // operations. The benchmarks in bench/ use it to measure the processor's peak rate.
  double (*fma_loop)(int64_t rounds);
};

// The kernels of this process. The environment variable RL_TRAINING_KERNELS=baseline|avx2|avx512
// selects a narrower set, for instance to reproduce the exact results of another machine. Throws
// Error{config} if the set is unknown or this processor does not support it.
const Kernels& kernels();

// Returns one of the sets that this processor supports: rank 0 is the widest set, and the last rank
// is the portable set. Larger ranks return null.
const Kernels* available_kernels(size_t rank);

}  // namespace rl_training
