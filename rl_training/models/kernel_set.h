#pragma once
#include "rl_training/models/kernels.h"

// Declarations for the files that are compiled once for each instruction set, with KERNEL_SET =
// baseline | avx2 | avx512. These files contain only plain loops. If they used a library's
// templates or inline functions, the linker might select the copy compiled for AVX-512 for the
// whole program, which would fail on processors without AVX-512.
namespace rl_training::KERNEL_SET {
namespace {

constexpr int64_t kLanes = 16;  // partial sums per row; the same number for every instruction set

// Number of floats in a vector register.
#if defined(__AVX512F__)
constexpr int64_t kWidth = 16;
#elif defined(__AVX2__)
constexpr int64_t kWidth = 8;
#else
constexpr int64_t kWidth = 4;
#endif
using Vector = float __attribute__((vector_size(kWidth * sizeof(float))));
using Unaligned = float __attribute__((vector_size(kWidth * sizeof(float)), aligned(4), may_alias));

inline Vector load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
inline void store(float* to, Vector value) { *reinterpret_cast<Unaligned*>(to) = value; }

}  // namespace

// Functions that other files define for the table in kernels.cpp.
void layer_norm(const float* x, const float* gain, const float* shift, float eps, int64_t rows,
                int64_t columns, float* mean, float* inverse_std, float* y);
void layer_norm_backward(float* delta, const float* gain, const float* x, const float* mean,
                         const float* inverse_std, const float* keep, int64_t rows, int64_t columns,
                         float* gain_gradient, float* shift_gradient);
void row_dot(const float* x, const float* w, float bias, int64_t rows, int64_t columns, float* y,
             int64_t y_step);
float quantile_huber(float q, float level, const float* y, int64_t count, float* slope);
void squared_mmd(const float* points, const float* weights, int64_t count, int64_t dims,
                 bool absolute, float factor, float* squared, float* gradient);
void multiply_small(const Product& work, float* scratch);

}  // namespace rl_training::KERNEL_SET
