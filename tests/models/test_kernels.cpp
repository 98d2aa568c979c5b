#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rl_training/models/kernels.h"
#include "rl_training/util/rng.h"

namespace rl_training::test_kernels {
namespace {

std::vector<float> normals(size_t count, uint64_t seed) {
  std::vector<float> values(count);
  Rng(seed).fill_normal(values);
  return values;
}

std::vector<const Kernels*> all_sets() {
  std::vector<const Kernels*> sets;
  while (const Kernels* next = available_kernels(sets.size())) sets.push_back(next);
  return sets;
}

// Compares the loops of an instruction set, `ours`, with the portable loops, `plain`.
void compare(const Kernels& ours, const Kernels& plain, int64_t rows, int64_t columns) {
  SCOPED_TRACE(ours.name);
  const auto count = static_cast<size_t>(rows * columns);
  const auto x = normals(count, 1);
  const auto other = normals(count, 2);
  const auto row = normals(static_cast<size_t>(columns), 3);
  const auto row2 = normals(static_cast<size_t>(columns), 4);
  const auto column = normals(static_cast<size_t>(rows), 5);
  const auto both = [&](auto body) {
    auto a = x;
    auto b = x;
    std::vector<float> extra_a(count), extra_b(count);
    body(ours, a, extra_a);
    body(plain, b, extra_b);
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_NEAR(a[i], b[i], 2e-5f * (1 + std::abs(b[i])));
      EXPECT_NEAR(extra_a[i], extra_b[i], 2e-5f * (1 + std::abs(extra_b[i])));
    }
  };
  using Values = std::vector<float>;
  both([&](const Kernels& k, Values& v, Values&) {
    k.add_bias(v.data(), row.data(), rows, columns);
  });
  both([&](const Kernels& k, Values& v, Values&) {
    k.add_bias_relu(v.data(), row.data(), rows, columns);
  });
  both([&](const Kernels& k, Values& v, Values&) { k.relu(v.data(), rows * columns); });
  both([&](const Kernels& k, Values& v, Values&) {
    k.relu_backward(v.data(), other.data(), rows * columns);
  });
  both([&](const Kernels& k, Values& v, Values&) {
    k.tanh_backward(v.data(), other.data(), rows * columns);
  });
  both([&](const Kernels& k, Values& v, Values& e) {
    k.add_columns(v.data(), rows, columns, e.data());
  });
  both([&](const Kernels& k, Values& v, Values& e) {
    Values mean(static_cast<size_t>(rows)), deviation(mean), gains(row), shifts(row);
    k.layer_norm(x.data(), row.data(), row2.data(), 1e-5f, rows, columns, mean.data(),
                 deviation.data(), v.data());
    for (const float* keep : {static_cast<const float*>(nullptr), other.data()}) {
      k.layer_norm_backward(v.data(), row.data(), x.data(), mean.data(), deviation.data(), keep,
                            rows, columns, gains.data(), shifts.data());
    }
    std::copy(gains.begin(), gains.end(), e.begin());
    std::copy(shifts.begin(), shifts.end(), e.begin() + columns);
  });
  both([&](const Kernels& k, Values& v, Values& e) {
    k.row_dot(v.data(), row.data(), 0.5f, rows, columns, e.data(), 1);
  });
  both([&](const Kernels& k, Values& v, Values& e) {
    k.outer(column.data(), row.data(), nullptr, rows, columns, v.data());
    k.outer(column.data(), row.data(), other.data(), rows, columns, e.data());
  });
  both([&](const Kernels& k, Values& v, Values& e) {
    k.log_tanh_slope(v.data(), rows * columns, e.data());
    k.tanh(v.data(), rows * columns);
  });
  both([&](const Kernels& k, Values& v, Values& e) {
    k.gelu(v.data(), rows * columns, e.data());
    k.multiply_by(v.data(), other.data(), rows * columns);
  });
  both([&](const Kernels& k, Values& v, Values& e) { k.exp(v.data(), rows * columns, e.data()); });
  both([&](const Kernels& k, Values& v, Values& e) {
    k.add_weighted_columns(column.data(), v.data(), rows, columns, e.data());
  });
  both([&](const Kernels& k, Values& v, Values& e) {
    k.take_minimum(v.data(), other.data(), rows * columns);
    k.add_clipped_noise(v.data(), other.data(), rows * columns, 0.7f, 0.4f, e.data());
  });
  both([&](const Kernels& k, Values& v, Values& e) {
    e[0] += static_cast<float>(
        k.squared_error(v.data(), other.data(), rows * columns, 0.25f, v.data()));
  });
  both([&](const Kernels& k, Values& v, Values&) {
    k.polyak(v.data(), other.data(), rows * columns, 0.3f);
  });
}

// The first shape has odd sizes. In the second shape, a row consists of complete vectors, but the
// number of rows is not a multiple of the block size.
TEST(Kernels, EverySetAgreesWithThePortableOne) {
  const auto sets = all_sets();
  for (const Kernels* set : sets) {
    compare(*set, *sets.back(), 13, 37);
    compare(*set, *sets.back(), 37, 80);
  }
}

void check_sums(const Kernels& set) {
  SCOPED_TRACE(set.name);
  constexpr int64_t kRows = 19, kColumns = 80;
  const auto x = normals(kRows * kColumns, 1), w = normals(kColumns, 2);
  std::vector<float> y(2 * kRows, 7.0f), dense(kRows), sums(kColumns, 0.5f);
  set.row_dot(x.data(), w.data(), 0.25f, kRows, kColumns, y.data(), 2);
  set.row_dot(x.data(), w.data(), 0.25f, kRows, kColumns, dense.data(), 1);
  set.add_columns(x.data(), kRows, kColumns, sums.data());
  std::vector<double> columns(kColumns, 0.5);
  for (size_t i = 0; i < kRows; ++i) {
    double sum = 0.25;
    for (size_t j = 0; j < kColumns; ++j) {
      sum += double{x[i * kColumns + j]} * w[j];
      columns[j] += x[i * kColumns + j];
    }
    EXPECT_NEAR(y[2 * i], sum, 1e-5);
    EXPECT_EQ(y[2 * i + 1], 7.0f);
    EXPECT_EQ(dense[i], y[2 * i]);
    float alone = 0;  // the row computed alone must give the same bits
    set.row_dot(x.data() + i * kColumns, w.data(), 0.25f, 1, kColumns, &alone, 1);
    EXPECT_EQ(alone, dense[i]);
  }
  for (size_t j = 0; j < kColumns; ++j) EXPECT_NEAR(sums[j], columns[j], 1e-5);
}

TEST(Kernels, RowsAreMultipliedAndAddedUp) {
  for (const Kernels* set : all_sets()) check_sums(*set);
}

// 21 values: one block of 16 and a remainder.
TEST(Kernels, SquaredErrorSumsEveryValue) {
  for (const Kernels* set : all_sets()) {
    SCOPED_TRACE(set->name);
    const auto x = normals(21, 6), y = normals(21, 7);
    std::vector<float> slope(21);
    const double sum = set->squared_error(x.data(), y.data(), 21, 0.5f, slope.data());
    double expected = 0;
    for (size_t i = 0; i < 21; ++i) {
      const float error = x[i] - y[i];
      expected += double{error} * error;
      EXPECT_EQ(slope[i], 0.5f * error);
    }
    EXPECT_NEAR(sum, expected, 1e-12);
  }
}

TEST(Kernels, MinimumAndClippedNoiseKeepNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Kernels* set : all_sets()) {
    SCOPED_TRACE(set->name);
    std::vector<float> least = {1.0f, nan, 3.0f, -1.0f};
    const float values[4] = {nan, 1.0f, 2.0f, 5.0f};
    set->take_minimum(least.data(), values, 4);
    EXPECT_TRUE(std::isnan(least[0]) && std::isnan(least[1]));
    EXPECT_EQ(least[2], 2.0f);
    EXPECT_EQ(least[3], -1.0f);
    const float noise[4] = {0.0f, 1.0f, nan, 9.0f};
    const float actions[4] = {nan, 0.5f, 0.0f, 0.9f};
    float out[4];
    set->add_clipped_noise(actions, noise, 4, 0.2f, 0.3f, out);
    EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[2]));
    EXPECT_NEAR(out[1], 0.7f, 1e-6);
    EXPECT_EQ(out[3], 1.0f);
  }
}

TEST(Kernels, OuterKeepsWhatItShould) {
  const float d[2] = {2, -3}, w[3] = {1, 10, 100}, keep[6] = {1, 0, -1, 0.5f, 2, 0};
  float out[6];
  kernels().outer(d, w, keep, 2, 3, out);
  const float expected[6] = {2, 0, 0, -3, -30, 0};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], expected[i]);
}

TEST(Kernels, RowsAreGatheredInPlace) {
  for (const Kernels* set : all_sets()) {
    SCOPED_TRACE(set->name);
    for (const int64_t columns : {1, 37, 64}) {
      const std::vector<int64_t> rows = {0, 2, 3, 7};
      const auto before = normals(static_cast<size_t>(8 * columns), 6);
      auto values = before;
      set->gather_rows(values.data(), rows.data(), 4, columns);
      for (int64_t i = 0; i < 8 * columns; ++i) {
        const int64_t row = i / columns;
        const int64_t from = row < 4 ? rows[static_cast<size_t>(row)] : row;
        EXPECT_EQ(values[i], before[from * columns + i % columns]) << columns << " " << i;
      }
    }
  }
}

// Compares the results with those in double precision, also for inputs at which tanh rounds to 1. A
// result must depend neither on its position in the array nor on its neighbours.
TEST(Kernels, FunctionsAreRightToAFewUnits) {
  std::vector<float> x;
  for (float value = -100.0f; value <= 100.0f; value += 0.37f) x.push_back(value);
  x.insert(x.end(), {0.0f, 1e-6f, -1e-6f, 9.0f, -9.0f});
  const auto count = static_cast<int64_t>(x.size());
  std::vector<float> tanh = x, slope(x.size()), exp(x.size());
  kernels().tanh(tanh.data(), count);
  kernels().log_tanh_slope(x.data(), count, slope.data());
  kernels().exp(x.data(), count, exp.data());
  for (size_t i = 0; i < x.size(); ++i) {
    const double u = x[i], size = std::abs(u);
    const double log_slope = 2 * (std::log(2.0) - size - std::log1p(std::exp(-2 * size)));
    EXPECT_NEAR(tanh[i], std::tanh(u), 5e-7 * std::abs(std::tanh(u)));
    EXPECT_NEAR(slope[i], log_slope, 3e-7 * (1 + std::abs(log_slope)));
    if (size < 80) {
      EXPECT_NEAR(exp[i], std::exp(u), 5e-7 * std::exp(u));
    }
    float alone = x[i], alone_exp = 0;
    kernels().tanh(&alone, 1);
    kernels().exp(&x[i], 1, &alone_exp);
    EXPECT_EQ(alone, tanh[i]);
    EXPECT_EQ(alone_exp, exp[i]);
  }
}

// The kernel computes the tanh approximation of GELU. At x = 1, its value is 0.841192, whereas the
// exact GELU, x Phi(x), is 0.841345.
TEST(Kernels, GeluAndItsSlopeAreRight) {
  const double c = std::sqrt(2 / 3.14159265358979), k = 0.044715;
  std::vector<float> x = {1.0f};
  for (float value = -12.0f; value <= 12.0f; value += 0.31f) x.push_back(value);
  std::vector<float> y = x, slope(x.size());
  kernels().gelu(y.data(), static_cast<int64_t>(x.size()), slope.data());
  EXPECT_NEAR(y[0], 0.841192, 1e-6);
  for (size_t i = 0; i < x.size(); ++i) {
    const double u = x[i], t = std::tanh(c * (u + k * u * u * u));
    EXPECT_NEAR(y[i], u * (1 + t) / 2, 1e-6 * (1 + std::abs(u)));
    EXPECT_NEAR(slope[i], (1 + t) / 2 + u * (1 - t * t) * c * (1 + 3 * k * u * u) / 2, 2e-6);
  }
}

TEST(Kernels, ReluKeepsNaN) {
  float values[3] = {std::nanf(""), -1.0f, 2.0f};
  const float bias[3] = {0, 0, 0};
  kernels().add_bias_relu(values, bias, 1, 3);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], 0.0f);
  EXPECT_EQ(values[2], 2.0f);
  float plain[3] = {std::nanf(""), -1.0f, 2.0f};
  kernels().relu(plain, 3);
  EXPECT_TRUE(std::isnan(plain[0]));
  EXPECT_EQ(plain[1], 0.0f);
  EXPECT_EQ(plain[2], 2.0f);
}

}  // namespace
}  // namespace rl_training::test_kernels
