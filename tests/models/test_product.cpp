#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "rl_training/models/product.h"
#include "rl_training/util/rng.h"

namespace rl_training::test_product {
namespace {

using Then = Product::Then;

std::vector<float> normals(int64_t count, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  Rng(seed).fill_normal(values);
  return values;
}

struct Shape {
  int64_t m, n, k;
};

// Compares a product with sums in double precision. All row strides are larger than the rows. The
// product must not change the padding after each row of the result.
void check(const Shape& shape, bool transpose_a, bool transpose_b, Then then) {
  constexpr int64_t kGap = 3;
  const auto [m, n, k] = shape;
  const int64_t lda = (transpose_a ? m : k) + kGap, ldb = (transpose_b ? k : n) + kGap;
  const int64_t ldc = n + kGap;
  const auto a = normals((transpose_a ? k : m) * lda, 1);
  const auto b = normals((transpose_b ? n : k) * ldb, 2);
  const auto operand = normals(m * ldc, 3);
  std::vector<float> c(static_cast<size_t>(m * ldc), 7.0f);
  multiply({.transpose_a = transpose_a,
            .transpose_b = transpose_b,
            .m = m,
            .n = n,
            .k = k,
            .a = a.data(),
            .lda = lda,
            .b = b.data(),
            .ldb = ldb,
            .c = c.data(),
            .ldc = ldc,
            .then = then,
            .operand = then == Then::nothing ? nullptr : operand.data()});
  double worst = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < ldc; ++j) {
      const float found = c[static_cast<size_t>(i * ldc + j)];
      if (j >= n) {
        ASSERT_EQ(found, 7.0f);
        continue;
      }
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += double{a[static_cast<size_t>(transpose_a ? p * lda + i : i * lda + p)]} *
               b[static_cast<size_t>(transpose_b ? j * ldb + p : p * ldb + j)];
      }
      if (then == Then::add_bias || then == Then::add_bias_relu) {
        sum += operand[static_cast<size_t>(j)];
      }
      if (then == Then::add_bias_relu) sum = std::max(sum, 0.0);
      if (then == Then::add_old) sum += 7.0;
      if (then == Then::keep_positive && operand[static_cast<size_t>(i * ldc + j)] <= 0) {
        ASSERT_EQ(found, 0.0f);
        sum = 0;
      }
      worst = std::max(worst, std::abs(found - sum));
    }
  }
  EXPECT_LT(worst, 2e-6 * static_cast<double>(k + 10))
      << m << " " << n << " " << k << (transpose_a ? " T" : " N") << (transpose_b ? "T" : "N");
}

TEST(Product, EveryShapeAndWhatFollows) {
  // The shapes lead to complete and partial tiles, strips and vectors (see product_tiles.cpp). Some
  // products use our own kernel, and larger ones use oneDNN.
  constexpr Shape kShapes[] = {{1, 1, 1},     {6, 64, 16},  {7, 16, 1},    {100, 64, 64},
                               {5, 48, 32},   {33, 80, 70}, {37, 208, 64}, {4, 37, 20},
                               {13, 64, 515}, {2, 3, 64},   {35, 72, 300}};
  for (const auto& shape : kShapes) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        for (const auto then : {Then::nothing, Then::add_bias, Then::add_bias_relu,
                                Then::keep_positive, Then::add_old}) {
          check(shape, transpose_a, transpose_b, then);
        }
      }
    }
  }
}

TEST(Product, ReluKeepsNaN) {
  for (const int64_t n : {16, 3}) {
    std::vector<float> b(static_cast<size_t>(n), 1.0f), c(b.size()), bias(b.size(), 0.0f);
    b[0] = std::nanf("");
    b[1] = -1;
    const float a = 2;
    multiply({.m = 1,
              .n = n,
              .k = 1,
              .a = &a,
              .lda = 1,
              .b = b.data(),
              .ldb = n,
              .c = c.data(),
              .ldc = n,
              .then = Then::add_bias_relu,
              .operand = bias.data()});
    EXPECT_TRUE(std::isnan(c[0]));
    EXPECT_EQ(c[1], 0.0f);
    EXPECT_EQ(c[2], 2.0f);
  }
}

}  // namespace
}  // namespace rl_training::test_product
