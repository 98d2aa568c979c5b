// Compiled for AVX-512, as kernels.cpp is and under its rule: nothing from a library.
//
// Products of the size that small networks have. The result is formed in tiles of six rows and four
// vectors, which with a strip of b and one number of a fill the registers, and what follows a
// product is done before a tile leaves them. Every element is one sum in the order of k, as oneDNN
// forms it: the same bits.
#include "rl_training/models/product.h"

namespace rl_training::avx512 {
namespace {

constexpr int64_t kWidth = 16, kTileRows = 6, kTileVectors = 4;

using Vector = float __attribute__((vector_size(kWidth * sizeof(float))));
using Unaligned = float __attribute__((vector_size(kWidth * sizeof(float)), aligned(4)));
using Then = Product::Then;

Vector load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
void store(float* to, Vector value) { *reinterpret_cast<Unaligned*>(to) = value; }

// Rows of the result against one strip of b.
struct Strip {
  const float* a;
  int64_t a_row, a_step;  // from one row to the next, from one k to the next
  const float* b;
  int64_t b_step, k;
  float* c;
  int64_t c_row;
  const float* operand;
};

template <int kRows, int kVectors, Then kThen>
void form_tile(const Strip& strip) {
  Vector sums[kRows][kVectors] = {};
  const float* a = strip.a;
  const float* b = strip.b;
  for (int64_t p = 0; p < strip.k; ++p) {
    Vector row[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) row[j] = load(b + j * kWidth);
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) {
      const Vector number = a[i * strip.a_row] - Vector{};
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] += number * row[j];
    }
    a += strip.a_step;
    b += strip.b_step;
  }
  const Vector zero = {};
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      const int64_t place = i * strip.c_row + j * kWidth;
      Vector value = sums[i][j];
      if (kThen == Then::add_bias || kThen == Then::add_bias_relu) {
        value += load(strip.operand + j * kWidth);
      }
      if (kThen == Then::add_bias_relu) {
        value = value > zero ? value : (value == value ? zero : value);  // NaN stays NaN
      }
      if (kThen == Then::keep_positive) value = load(strip.operand + place) > zero ? value : zero;
      store(strip.c + place, value);
    }
  }
}

template <int kRows, int kVectors, Then kThen>
void form_last_rows(const Strip& strip, int64_t rows) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return form_tile<kRows, kVectors, kThen>(strip);
    form_last_rows<kRows - 1, kVectors, kThen>(strip, rows);
  }
}

template <int kVectors, Then kThen>
void form_strip(int64_t vectors, Strip strip, int64_t rows) {
  if constexpr (kVectors > 0) {
    if (vectors != kVectors) return form_strip<kVectors - 1, kThen>(vectors, strip, rows);
    for (; rows >= kTileRows; rows -= kTileRows) {
      form_tile<kTileRows, kVectors, kThen>(strip);
      strip.a += kTileRows * strip.a_row;
      strip.c += kTileRows * strip.c_row;
      if (kThen == Then::keep_positive) strip.operand += kTileRows * strip.c_row;
    }
    form_last_rows<kTileRows - 1, kVectors, kThen>(strip, rows);
  }
}

// A square of 16 by 16. Interleaving the first half of the rows with the second turns the bits of
// (row, column) by one place; after four times they have changed sides.
void transpose_square(const float* from, int64_t from_row, float* to, int64_t to_row) {
  Vector rows[kWidth], turned[kWidth];
#pragma GCC unroll 16
  for (int i = 0; i < kWidth; ++i) rows[i] = load(from + i * from_row);
#pragma GCC unroll 4
  for (int stage = 0; stage < 4; ++stage) {
#pragma GCC unroll 8
    for (int i = 0; i < kWidth / 2; ++i) {
      const Vector first = rows[i], second = rows[i + kWidth / 2];
      const int64_t pair = int64_t{2} * i;
      turned[pair] = __builtin_shufflevector(first, second, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5,
                                             21, 6, 22, 7, 23);
      turned[pair + 1] = __builtin_shufflevector(first, second, 8, 24, 9, 25, 10, 26, 11, 27, 12,
                                                 28, 13, 29, 14, 30, 15, 31);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) rows[i] = turned[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < kWidth; ++i) store(to + i * to_row, rows[i]);
}

// Columns [first, first + columns) of op(b) in rows of `width`, zeros behind.
void pack(const Product& work, int64_t first, int64_t columns, int64_t width, float* out) {
  const int64_t whole = columns / kWidth * kWidth;
  const int64_t deep = work.transpose_b ? work.k / kWidth * kWidth : work.k;
  for (int64_t j = 0; j < whole; j += kWidth) {
    const float* from = work.b + (work.transpose_b ? (first + j) * work.ldb : first + j);
    if (work.transpose_b) {
      for (int64_t p = 0; p < deep; p += kWidth) {
        transpose_square(from + p, work.ldb, out + p * width + j, width);
      }
    } else {
      for (int64_t p = 0; p < deep; ++p) store(out + p * width + j, load(from + p * work.ldb));
    }
  }
  const int64_t across = work.transpose_b ? work.ldb : 1, down = work.transpose_b ? 1 : work.ldb;
  const float* b = work.b + first * across;
  for (int64_t p = 0; p < work.k; ++p) {  // what no vector or square has reached
    float* row = out + p * width;
    if (whole < width) store(row + whole, Vector{});
    for (int64_t j = p < deep ? whole : 0; j < columns; ++j) row[j] = b[p * down + j * across];
  }
}

// A strip that ends inside a vector is formed beside its place.
void form_narrow_strip(const Product& work, const Strip& strip, int64_t vectors, int64_t columns,
                       float* scratch) {
  constexpr int64_t kRows = 8 * kTileRows;
  for (int64_t first = 0; first < work.m; first += kRows) {
    const int64_t rows = work.m - first < kRows ? work.m - first : kRows;
    Strip beside = strip;
    beside.a += first * strip.a_row;
    beside.c = scratch;
    beside.c_row = vectors * kWidth;
    form_strip<kTileVectors, Then::nothing>(vectors, beside, rows);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t place = (first + i) * strip.c_row;
      for (int64_t j = 0; j < columns; ++j) {
        float value = scratch[i * beside.c_row + j];
        if (work.then == Then::add_bias || work.then == Then::add_bias_relu) {
          value += strip.operand[j];
        }
        if (work.then == Then::add_bias_relu) {
          value = value > 0.0f ? value : (value == value ? 0.0f : value);
        }
        if (work.then == Then::keep_positive && !(strip.operand[place + j] > 0.0f)) value = 0.0f;
        strip.c[place + j] = value;
      }
    }
  }
}

}  // namespace

void multiply_small(const Product& work, float* scratch);
void multiply_small(const Product& work, float* scratch) {
  for (int64_t first = 0; first < work.n; first += kTileVectors * kWidth) {
    const int64_t left = work.n - first;
    const int64_t columns = left < kTileVectors * kWidth ? left : kTileVectors * kWidth;
    const int64_t vectors = (columns + kWidth - 1) / kWidth;
    const bool narrow = columns % kWidth != 0;
    Strip strip = {.a = work.a,
                   .a_row = work.transpose_a ? 1 : work.lda,
                   .a_step = work.transpose_a ? work.lda : 1,
                   .b = work.b + first,
                   .b_step = work.ldb,
                   .k = work.k,
                   .c = work.c + first,
                   .c_row = work.ldc,
                   .operand = work.operand != nullptr ? work.operand + first : nullptr};
    // A strip that is read often and would lie far apart is put together.
    const bool often = work.ldb > kTileVectors * kWidth && work.m >= 32 && work.k >= 64;
    if (work.transpose_b || narrow || often) {
      pack(work, first, columns, vectors * kWidth, scratch);
      strip.b = scratch;
      strip.b_step = vectors * kWidth;
    }
    if (narrow) {
      form_narrow_strip(work, strip, vectors, columns, scratch + work.k * vectors * kWidth);
      continue;
    }
    switch (work.then) {
      case Then::nothing:
        form_strip<kTileVectors, Then::nothing>(vectors, strip, work.m);
        break;
      case Then::add_bias:
        form_strip<kTileVectors, Then::add_bias>(vectors, strip, work.m);
        break;
      case Then::add_bias_relu:
        form_strip<kTileVectors, Then::add_bias_relu>(vectors, strip, work.m);
        break;
      case Then::keep_positive:
        form_strip<kTileVectors, Then::keep_positive>(vectors, strip, work.m);
        break;
    }
  }
}

}  // namespace rl_training::avx512
