#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "rl_training/util/rng.h"

namespace rl_training {
namespace {

// Values that NumPy 1.24.2 draws with numpy.random.default_rng(seed).
struct Golden {
  uint64_t seed;
  std::array<uint64_t, 4> raw;
  std::array<double, 4> uniform;
  std::array<double, 3> uniform_half_to_two;  // uniform(-0.5, 2)
  std::array<uint64_t, 4> integers;           // integers(0, 2**40 + 1, dtype=uint64)
  std::array<double, 4> normal;
  // Statistics of 100,000 normals x_i: the last value, the sum, the sum of |x_i| (1 + i % 7), the
  // largest |x_i| and its index. word_after is the next raw word. Our next word equals it only if
  // our draws used as many words as NumPy's.
  double last, sum, weighted_sum, largest;
  int largest_index;
  uint64_t word_after;
};

const std::array<Golden, 3> kGolden = {{
    {0,
     {11749869230777074271U, 4976686463289251617U, 755828109848996024U, 304881062738325533U},
     {0.6369616873214543, 0.2697867137638703, 0.04097352393619469, 0.016527635528529094},
     {1.0924042183036358, 0.17446678440967578, -0.3975661901595133},
     {700346781658U, 296633628803U, 45050865998U, 18172327443U},
     {0.1257302210933933, -0.1321048632913019, 0.6404226504432821, 0.10490011715303971},
     -0.49541294309578066,
     -90.825077312059,
     319629.5652858988,
     4.731957688635529,
     36758,
     13529908022246492261U},
    {1,
     {9441442522235856127U, 17532960557476522086U, 2659275481604167885U, 17499493567006797778U},
     {0.5118216247002567, 0.9504636963259353, 0.14415961271963373, 0.9486494471372439},
     {0.7795540617506418, 1.8761592408148382, -0.13960096820091566},
     {562753827705U, 1045045885890U, 158505170441U, 1043051097811U},
     {0.345584192064786, 0.8216181435011584, 0.33043707618338714, -1.303157231604361},
     0.9684097467571625,
     -459.0572042875884,
     318297.9173850825,
     4.406353522522504,
     30266,
     2092853394130500012U},
    {12345678901234U,
     {7496343037614434180U, 483370428031952295U, 11448211702261409490U, 598458725564145487U},
     {0.40637757035390765, 0.026203563409374464, 0.6206087999332897, 0.03244251251997754},
     {0.5159439258847691, -0.43449109147656384, 1.0515219998332241},
     {446816863871U, 28811122657U, 682366591827U, 35670919750U},
     {-0.39223355291470824, -0.3804135179250065, 2.134058515541922, -0.31252957970480677},
     0.31857009772152767,
     328.0203409837894,
     320673.10713907285,
     4.612374005980601,
     87824,
     8861822108168758335U},
}};

class RngGolden : public testing::TestWithParam<Golden> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RngGolden, testing::ValuesIn(kGolden),
                         [](const auto& test) { return std::to_string(test.param.seed); });

TEST_P(RngGolden, RawWordsAndUniforms) {
  const auto& golden = GetParam();
  Rng raw(golden.seed);
  for (const uint64_t word : golden.raw) EXPECT_EQ(raw.next(), word);
  Rng uniform(golden.seed);
  for (const double value : golden.uniform) EXPECT_EQ(uniform.uniform(), value);
  Rng scaled(golden.seed);
  for (const double value : golden.uniform_half_to_two) EXPECT_EQ(scaled.uniform(-0.5, 2), value);
  Rng integers(golden.seed);
  for (const uint64_t value : golden.integers) {
    EXPECT_EQ(integers.below((uint64_t{1} << 40) + 1), value);
  }
}

TEST_P(RngGolden, Normals) {
  const auto& golden = GetParam();
  Rng rng(golden.seed);
  double sum = 0, weighted_sum = 0, largest = 0, last = 0;
  int largest_index = -1;
  for (int i = 0; i < 100000; ++i) {
    last = rng.normal();
    if (i < 4) {
      EXPECT_NEAR(last, golden.normal[i], 1e-15);
    }
    sum += last;
    weighted_sum += std::abs(last) * (1 + i % 7);
    if (std::abs(last) > largest) {
      largest = std::abs(last);
      largest_index = i;
    }
  }
  EXPECT_NEAR(last, golden.last, 1e-15);
  EXPECT_NEAR(sum, golden.sum, 1e-10);
  EXPECT_NEAR(weighted_sum, golden.weighted_sum, 1e-8);
  EXPECT_NEAR(largest, golden.largest, 1e-14);
  EXPECT_EQ(largest_index, golden.largest_index);
  EXPECT_EQ(rng.next(), golden.word_after);
}

TEST(Rng, StreamsOfOneSeedAreDifferentAndRepeatable) {
  using namespace std::string_literals;
  std::set<uint64_t> first_words;
  const std::vector<std::string> purposes = {
      "data", "policy", "explore", "env/0", "env/1", "env/10", "eval", "init", "a", "a\0"s, "atad"};
  for (const uint64_t seed : {0ULL, 1ULL, 2ULL, 1ULL << 32, (1ULL << 32) + 1, ~0ULL}) {
    for (const auto& purpose : purposes) {
      EXPECT_EQ(Rng(seed, purpose).next(), Rng(seed, purpose).next());
      EXPECT_TRUE(first_words.insert(Rng(seed, purpose).next()).second) << seed << purpose;
    }
    EXPECT_TRUE(first_words.insert(Rng(seed).next()).second) << seed;
  }
}

TEST(Rng, StreamsDoNotCorrelate) {
  constexpr int kDraws = 20000;
  Rng data(7, "data");
  Rng policy(7, "policy");
  Rng other_seed(8, "data");
  double data_policy = 0, data_other = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = data.normal();
    data_policy += x * policy.normal();
    data_other += x * other_seed.normal();
  }
  // The sum of kDraws products of two independent normals has the standard deviation sqrt(kDraws).
  EXPECT_LT(std::abs(data_policy) / std::sqrt(kDraws), 4);
  EXPECT_LT(std::abs(data_other) / std::sqrt(kDraws), 4);
}

// Saves or restores the arrays that visit_state() visits.
class Memory final : public StateVisitor {
 public:
  bool restore = false;
  std::map<std::string, std::vector<char>> arrays;

 private:
  void on_array(const std::string& name, DType dtype, std::span<const int64_t> shape,
                void* data) override {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    const auto bytes = static_cast<size_t>(count * dtype_size(dtype));
    auto* begin = static_cast<char*>(data);
    if (restore) {
      const auto& stored = arrays.at(name);
      ASSERT_EQ(stored.size(), bytes);
      std::copy(stored.begin(), stored.end(), begin);
    } else {
      arrays[name].assign(begin, begin + bytes);
    }
  }
  void on_text(const std::string&, std::string&) override { FAIL() << "an Rng has no text"; }
};

TEST(Rng, RestoredStateGoesOnExactly) {
  Rng rng(3, "policy");
  for (int i = 0; i < 1001; ++i) rng.normal();
  Memory memory;
  memory.part("policy", rng);
  EXPECT_EQ(memory.arrays.size(), 2U);
  EXPECT_TRUE(memory.arrays.contains("policy.state"));

  Rng restored(99);
  memory.restore = true;
  memory.part("policy", restored);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(rng.normal(), restored.normal());
    ASSERT_EQ(rng.below(10), restored.below(10));
    ASSERT_EQ(rng.next(), restored.next());
  }
}

TEST(Rng, BelowIsUnbiased) {
  for (const uint64_t bound : {2U, 3U, 7U, 10U, 100U}) {
    Rng rng(bound);
    constexpr int kDraws = 100000;
    std::vector<int> counts(bound);
    for (int i = 0; i < kDraws; ++i) {
      const uint64_t value = rng.below(bound);
      ASSERT_LT(value, bound);
      ++counts[value];
    }
    const double expected = static_cast<double>(kDraws) / static_cast<double>(bound);
    double chi_square = 0;
    for (const int count : counts) chi_square += (count - expected) * (count - expected) / expected;
    const auto freedom = static_cast<double>(bound - 1);
    EXPECT_LT(chi_square, freedom + 4 * std::sqrt(2 * freedom)) << bound;
  }
}

TEST(Rng, BelowIsUnbiasedForBoundsNear64Bits) {
  // The 2^64 words are mapped to 3 * 2^62 values, that is, four words to three values. Without
  // rejection, every third value would occur twice as often as the others. With `next() % bound`,
  // the lowest third of the values would occur twice as often as the others.
  const uint64_t bound = uint64_t{3} << 62;
  Rng rng(11);
  int lowest_third = 0;
  int every_third = 0;
  constexpr int kDraws = 30000;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t value = rng.below(bound);
    ASSERT_LT(value, bound);
    lowest_third += value < bound / 3 ? 1 : 0;
    every_third += value % 3 == 0 ? 1 : 0;
  }
  EXPECT_NEAR(lowest_third, kDraws / 3.0, 4 * std::sqrt(kDraws * 2.0 / 9));
  EXPECT_NEAR(every_third, kDraws / 3.0, 4 * std::sqrt(kDraws * 2.0 / 9));
  EXPECT_EQ(Rng(1).below(1), 0U);
}

TEST(Rng, FillsTakeTheSameDraws) {
  std::vector<float> normals(257);
  Rng fill(5);
  fill.fill_normal(normals);
  Rng one(5);
  for (const float value : normals) ASSERT_EQ(value, static_cast<float>(one.normal()));
  EXPECT_EQ(fill.next(), one.next());

  std::vector<int64_t> indices(1000);
  fill.fill_below(indices, 37);
  for (const int64_t index : indices) {
    ASSERT_EQ(index, static_cast<int64_t>(one.below(37)));
  }
}

TEST(Rng, FillUniformStaysBelowHigh) {
  std::vector<float> values(100000);
  Rng(5).fill_uniform(values, -1, 1);
  double sum = 0;
  for (const float value : values) {
    ASSERT_GE(value, -1);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_LT(std::abs(sum), 4 * std::sqrt(static_cast<double>(values.size()) / 3));
}

// NumPy 1.24.2 returns these values for the same calls of integers(0, n) and uniform() of one
// default_rng(7).
TEST(BoundedIntegers, AreNumpys) {
  Rng rng(7);
  BoundedIntegers integers(rng);
  EXPECT_EQ(integers.below(7), 6u);
  EXPECT_EQ(integers.below(7), 4u);
  EXPECT_EQ(rng.uniform(-0.25, 0.25), 0.19860690048478774);
  EXPECT_EQ(integers.below(3), 1u);
  EXPECT_EQ(integers.below(1), 0u);  // draws nothing
  // The first value uses the second half of the word that below(3) drew. Some words are rejected.
  for (const uint32_t expected : {2327057070u, 2500953064u, 675621569u, 166594732u}) {
    EXPECT_EQ(integers.below(3'000'000'000u), expected);
  }
  EXPECT_EQ(rng.uniform(), 0.8735534453962619);
}

}  // namespace
}  // namespace rl_training
