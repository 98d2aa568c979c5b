// Matrix products of the sizes that networks need. This file is compiled for AVX2 and AVX-512; see
// kernel_set.h.
// The result is computed in tiles. The registers hold the sums of one tile, the tile's part of a
// row of `b`, and one value of `a`. Tiles in the same columns use the same strip of `b`. A strip
// covers a limited range of k, called a depth, so that it fits into the first-level cache. Each
// further depth continues the sums of all tiles. The operation `Product::then` is applied at the
// last depth, while the tile is still in the registers. Every element is one sum in the order of k,
// so its value does not depend on the division into tiles. With `add_old`, the sum starts from the
// old value.
#include <immintrin.h>

#include "rl_training/models/kernel_set.h"
#include "rl_training/models/product.h"

namespace rl_training::KERNEL_SET {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kTileVectors = 4, kDepth = 128;
#else
constexpr int64_t kTileVectors = 2, kDepth = 512;
#endif
constexpr int64_t kTileRows = 6, kStripColumns = kTileVectors * kWidth;
static_assert(kStripColumns * kDepth <= kSmallScratch);

// Rows of a tile. A multiply-add takes several cycles, so a tile needs at least eight independent
// sums.
constexpr int tile_rows(int64_t vectors) {
  return static_cast<int>(vectors == 1 ? 2 * kTileRows : kTileRows);
}

using Then = Product::Then;

// Selects the first lanes of a vector.
#if defined(__AVX512F__)
using Mask = __mmask16;
Mask first_lanes(int64_t count) { return static_cast<Mask>((1U << count) - 1U); }
Vector load(const float* from, Mask mask) { return Vector(_mm512_maskz_loadu_ps(mask, from)); }
void store(float* to, Mask mask, Vector value) { _mm512_mask_storeu_ps(to, mask, __m512(value)); }
#else
using Mask = __m256i;
Mask first_lanes(int64_t count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
}
Vector load(const float* from, Mask mask) { return Vector(_mm256_maskload_ps(from, mask)); }
void store(float* to, Mask mask, Vector value) { _mm256_maskstore_ps(to, mask, __m256(value)); }
#endif

// Input and output of the rows of the result that use one strip of b. With `go_on`, sums continue
// from the values in c. If the width of the strip is not a multiple of kWidth, `last` selects the
// lanes of its last vector. The rows of b are then padded, but the rows of c and `operand` are not.
struct Strip {
  const float* a;
  int64_t a_row, a_step;  // strides between rows and between values of k
  const float* b;
  int64_t b_step, k;
  float* c;
  int64_t c_row;
  const float* operand;
  bool go_on, far;
  Mask last;
};

// Starts to prefetch the memory that is used after the sums of a tile are computed: the mask if
// kThen is keep_positive, otherwise the tile's part of c.
template <int kRows, int kVectors, Then kThen>
void fetch_ahead(const Strip& strip) {
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      const int64_t place = i * strip.c_row + j * kWidth;
      if (kThen == Then::keep_positive) {
        __builtin_prefetch(strip.operand + place, 0);
      } else {
        __builtin_prefetch(strip.c + place, 1);
      }
    }
  }
}

// ReLU. If one operand is NaN, the max instruction returns the second operand, so NaN stays NaN.
Vector rectified(Vector value) {
#if defined(__AVX512F__)
  return Vector(_mm512_maskz_max_ps(0xffff, __m512{}, __m512(value)));
#else
  return Vector(_mm256_max_ps(__m256{}, __m256(value)));
#endif
}

template <int kRows, int kVectors, Then kThen, bool kCut>
void form_tile(const Strip& strip) {
  // With kCut, the last vector of a row of c and of the operand has fewer than kWidth values.
  const auto read = [&](const float* row, int j) {
    const float* from = row + j * kWidth;
    return kCut && j == kVectors - 1 ? load(from, strip.last) : load(from);
  };
  Vector sums[kRows][kVectors] = {};
  if (strip.go_on) {
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] = read(strip.c + i * strip.c_row, j);
    }
  }
  if (strip.far) fetch_ahead<kRows, kVectors, kThen>(strip);
  const float* a = strip.a;
  const float* b = strip.b;
  for (int64_t p = 0; p < strip.k; ++p) {
    Vector row[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) row[j] = load(b + j * kWidth);
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
      const Vector number = a[i * strip.a_row] - Vector{};
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sums[i][j] += number * row[j];
    }
    a += strip.a_step;
    b += strip.b_step;
  }
  const Vector zero = {};
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      const int64_t row = i * strip.c_row;
      Vector value = sums[i][j];
      if (kThen == Then::add_bias || kThen == Then::add_bias_relu) value += read(strip.operand, j);
      if (kThen == Then::add_bias_relu) value = rectified(value);
      if (kThen == Then::keep_positive) value = read(strip.operand + row, j) > zero ? value : zero;
      if (kCut && j == kVectors - 1) {
        store(strip.c + row + j * kWidth, strip.last, value);
      } else {
        store(strip.c + row + j * kWidth, value);
      }
    }
  }
}

template <int kRows, int kVectors, Then kThen, bool kCut>
void form_last_rows(const Strip& strip, int64_t rows) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return form_tile<kRows, kVectors, kThen, kCut>(strip);
    form_last_rows<kRows - 1, kVectors, kThen, kCut>(strip, rows);
  }
}

template <int kVectors, Then kThen, bool kCut>
void form_strip(int64_t vectors, Strip strip, int64_t rows) {
  if constexpr (kVectors > 0) {
    if (vectors != kVectors) return form_strip<kVectors - 1, kThen, kCut>(vectors, strip, rows);
    constexpr int kRows = tile_rows(kVectors);
    for (; rows >= kRows; rows -= kRows) {
      form_tile<kRows, kVectors, kThen, kCut>(strip);
      strip.a += kRows * strip.a_row;
      strip.c += kRows * strip.c_row;
      if (kThen == Then::keep_positive) strip.operand += kRows * strip.c_row;
    }
    form_last_rows<kRows - 1, kVectors, kThen, kCut>(strip, rows);
  }
}

// `lower` interleaves the lower halves of two vectors, `upper` their upper halves.
#if defined(__AVX512F__)
constexpr int kStages = 4;
Vector lower(Vector a, Vector b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Vector upper(Vector a, Vector b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}
#else
constexpr int kStages = 3;
Vector lower(Vector a, Vector b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
Vector upper(Vector a, Vector b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
#endif

// Transposes a kWidth x kWidth matrix. Interleaving the first half of the rows with the second half
// rotates the bits of the index (row, column) by one position. After all stages, row and column are
// exchanged.
void transpose_square(const float* from, int64_t from_row, float* to, int64_t to_row) {
  Vector rows[kWidth], turned[kWidth];
#pragma GCC unroll 16
  for (int i = 0; i < kWidth; ++i) rows[i] = load(from + i * from_row);
#pragma GCC unroll 4
  for (int stage = 0; stage < kStages; ++stage) {
#pragma GCC unroll 8
    for (int i = 0; i < kWidth / 2; ++i) {
      turned[int64_t{2} * i] = lower(rows[i], rows[i + kWidth / 2]);
      turned[int64_t{2} * i + 1] = upper(rows[i], rows[i + kWidth / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) rows[i] = turned[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < kWidth; ++i) store(to + i * to_row, rows[i]);
}

// Copies columns [first, first + columns) of all work.k rows of op(b) to rows of `width` values,
// padded with zeros.
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
  for (int64_t p = 0; p < work.k; ++p) {  // the entries that the loop over whole vectors skipped
    float* row = out + p * width;
    if (whole < width) store(row + whole, Vector{});
    for (int64_t j = p < deep ? whole : 0; j < columns; ++j) row[j] = b[p * down + j * across];
  }
}

template <bool kCut>
void form_strip(const Strip& strip, int64_t rows, int64_t vectors, Then then) {
  switch (then) {
    case Then::nothing:
    case Then::add_old:
      return form_strip<kTileVectors, Then::nothing, kCut>(vectors, strip, rows);
    case Then::add_bias:
      return form_strip<kTileVectors, Then::add_bias, kCut>(vectors, strip, rows);
    case Then::add_bias_relu:
      return form_strip<kTileVectors, Then::add_bias_relu, kCut>(vectors, strip, rows);
    case Then::keep_positive:
      return form_strip<kTileVectors, Then::keep_positive, kCut>(vectors, strip, rows);
  }
}

// Computes one strip of the result for one depth, the range [from, from + depth) of k.
void form_depth(const Product& work, int64_t first, int64_t columns, int64_t from, int64_t depth,
                float* scratch) {
  Product part = work;
  part.k = depth;
  part.a += from * (work.transpose_a ? work.lda : 1);
  part.b += from * (work.transpose_b ? 1 : work.ldb);
  const Then then = from + depth == work.k ? work.then : Then::nothing;
  // Without an operand, `.operand` points into c, only to be a valid address; it is not read.
  Strip strip = {.a = part.a,
                 .a_row = work.transpose_a ? 1 : work.lda,
                 .a_step = work.transpose_a ? work.lda : 1,
                 .b = part.b + first,
                 .b_step = work.ldb,
                 .k = depth,
                 .c = work.c + first,
                 .c_row = work.ldc,
                 .operand = (work.operand != nullptr ? work.operand : work.c) + first,
                 .go_on = from > 0 || work.then == Then::add_old,
                 .far = work.far && (then == Then::keep_positive || from == 0),
                 .last = first_lanes(columns % kWidth)};
  const bool cut = columns % kWidth != 0;
  const int64_t vectors = (columns + kWidth - 1) / kWidth, width = vectors * kWidth;
  // A strip that is read often and scattered in memory is copied to a contiguous buffer.
  const bool often = work.ldb > 64 && work.m >= 32 && depth >= 64;
  if (work.transpose_b || cut || often) {
    pack(part, first, columns, width, scratch);
    strip.b = scratch;
    strip.b_step = width;
  }
  if (cut) return form_strip<true>(strip, work.m, vectors, then);
  form_strip<false>(strip, work.m, vectors, then);
}

}  // namespace

void multiply_small(const Product& work, float* scratch) {
  const int64_t depths = work.k > kDepth ? (work.k + kDepth - 1) / kDepth : 1;
  for (int64_t first = 0; first < work.n; first += kStripColumns) {
    const int64_t left = work.n - first;
    const int64_t columns = left < kStripColumns ? left : kStripColumns;
    for (int64_t d = 0; d < depths; ++d) {
      const int64_t from = d * work.k / depths, to = (d + 1) * work.k / depths;
      form_depth(work, first, columns, from, to - from, scratch);
    }
  }
}

}  // namespace rl_training::KERNEL_SET
