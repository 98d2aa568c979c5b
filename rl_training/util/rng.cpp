#include "rl_training/util/rng.h"

#include <bit>
#include <cmath>
#include <utility>
#include <vector>

namespace rl_training {
namespace {

// NumPy's SeedSequence. It mixes the entropy words into a pool of four words and derives the output
// words from hashes of the pool.
class SeedSequence {
 public:
  explicit SeedSequence(std::span<const uint32_t> entropy) {
    for (size_t i = 0; i < pool_.size(); ++i) {
      pool_[i] = hash(i < entropy.size() ? entropy[i] : 0);
    }
    for (size_t source = 0; source < pool_.size(); ++source) {
      for (size_t target = 0; target < pool_.size(); ++target) {
        if (source != target) pool_[target] = mix(pool_[target], hash(pool_[source]));
      }
    }
    for (size_t source = pool_.size(); source < entropy.size(); ++source) {
      for (auto& word : pool_) word = mix(word, hash(entropy[source]));
    }
  }

  std::array<uint64_t, 4> generate() const {
    std::array<uint32_t, 8> words{};
    uint32_t constant = 0x8b51f9dd;
    for (size_t i = 0; i < words.size(); ++i) {
      uint32_t value = pool_[i % pool_.size()] ^ constant;
      constant *= 0x58f38ded;
      value *= constant;
      words[i] = value ^ (value >> 16);
    }
    std::array<uint64_t, 4> out{};
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = words[2 * i] | (static_cast<uint64_t>(words[2 * i + 1]) << 32);
    }
    return out;
  }

 private:
  uint32_t hash(uint32_t value) {
    value ^= constant_;
    constant_ *= 0x931e8875;
    value *= constant_;
    return value ^ (value >> 16);
  }
  static uint32_t mix(uint32_t x, uint32_t y) {
    const uint32_t result = 0xca01f9dd * x - 0x4973f715 * y;
    return result ^ (result >> 16);
  }

  std::array<uint32_t, 4> pool_{};
  uint32_t constant_ = 0x43b0d7e5;
};

std::vector<uint32_t> seed_words(uint64_t seed) {
  std::vector<uint32_t> words = {static_cast<uint32_t>(seed)};
  if (seed >> 32 != 0) words.push_back(static_cast<uint32_t>(seed >> 32));
  return words;
}

// Tables of the ziggurat algorithm with 256 strips. They are computed from kR, the value at which
// the tail starts.
struct Ziggurat {
  static constexpr long double kR = 3.6541528853610087963519472518L;
  static constexpr long double kMantissa = 0x1.0p52L;
  std::array<uint64_t, 256> k{};
  std::array<double, 256> w{}, f{};

  Ziggurat() {
    const auto density = [](long double x) { return std::exp(-0.5L * x * x); };
    const long double tail = std::sqrt(std::acos(-1.0L) / 2) * std::erfc(kR / std::sqrt(2.0L));
    const long double area = kR * density(kR) + tail;
    long double previous = kR;
    long double previous_density = density(kR);
    k[0] = static_cast<uint64_t>(kR * density(kR) / area * kMantissa);
    w[0] = static_cast<double>(area / density(kR) / kMantissa);
    f[0] = 1.0;
    w[255] = static_cast<double>(kR / kMantissa);
    f[255] = static_cast<double>(density(kR));
    for (int i = 254; i > 0; --i) {
      const long double x = std::sqrt(-2 * std::log(area / previous + previous_density));
      k[i + 1] = static_cast<uint64_t>(x / previous * kMantissa);
      w[i] = static_cast<double>(x / kMantissa);
      f[i] = static_cast<double>(density(x));
      previous = x;
      previous_density = density(x);
    }
    k[1] = 0;
  }
};

const Ziggurat kZiggurat;
constexpr double kTailStart = 3.6541528853610088;

}  // namespace

Rng::Rng(uint64_t seed) { this->seed(seed_words(seed)); }

Rng::Rng(uint64_t seed, std::string_view purpose) {
  auto entropy = seed_words(seed);
  // The seed always takes two words. Otherwise, two different (seed, purpose) pairs could have the
  // same entropy.
  entropy.resize(2);
  entropy.push_back(static_cast<uint32_t>(purpose.size()));
  for (const char c : purpose) entropy.push_back(static_cast<unsigned char>(c));
  this->seed(entropy);
}

void Rng::seed(std::span<const uint32_t> entropy) {
  const auto words = SeedSequence(entropy).generate();
  const Word128 increment = (make_word(words[2], words[3]) << 1) | 1;
  increment_ = {static_cast<uint64_t>(increment >> 64), static_cast<uint64_t>(increment)};
  state_ = {0, 0};
  step();
  set_state(make_word(state_[0], state_[1]) + make_word(words[0], words[1]));
  step();
}

uint64_t Rng::below(uint64_t bound) {
  // Lemire's method: multiplication with rejection.
  Word128 product = static_cast<Word128>(next()) * bound;
  if (static_cast<uint64_t>(product) < bound) {
    const uint64_t threshold = (0 - bound) % bound;
    while (static_cast<uint64_t>(product) < threshold) {
      product = static_cast<Word128>(next()) * bound;
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

uint32_t BoundedIntegers::half() {
  if (kept_) return *std::exchange(kept_, std::nullopt);
  const uint64_t word = rng_.next();
  kept_ = static_cast<uint32_t>(word >> 32);
  return static_cast<uint32_t>(word);
}

uint32_t BoundedIntegers::below(uint32_t bound) {
  if (bound == 1) return 0;
  uint64_t product = uint64_t{half()} * bound;
  if (static_cast<uint32_t>(product) < bound) {
    const uint32_t threshold = (0 - bound) % bound;
    while (static_cast<uint32_t>(product) < threshold) product = uint64_t{half()} * bound;
  }
  return static_cast<uint32_t>(product >> 32);
}

double Rng::normal() {
  for (;;) {
    uint64_t bits = next();
    const size_t strip = bits & 0xff;
    bits >>= 8;
    const uint64_t magnitude = (bits >> 1) & 0x000fffffffffffffULL;
    const double size = static_cast<double>(magnitude) * kZiggurat.w[strip];
    // Copies the lowest bit of `bits` to the sign. A branch would be slower, because it is
    // unpredictable.
    const auto x = std::bit_cast<double>(std::bit_cast<uint64_t>(size) | (bits << 63));
    if (magnitude < kZiggurat.k[strip]) return x;
    if (strip == 0) {
      for (;;) {
        const double xx = -(1.0 / kTailStart) * std::log1p(-uniform());
        const double yy = -std::log1p(-uniform());
        if (yy + yy > xx * xx) {
          return ((magnitude >> 8) & 1) != 0 ? -(kTailStart + xx) : kTailStart + xx;
        }
      }
    }
    const double height = (kZiggurat.f[strip - 1] - kZiggurat.f[strip]) * uniform();
    if (height + kZiggurat.f[strip] < std::exp(-0.5 * x * x)) return x;
  }
}

void Rng::fill_normal(std::span<float> out) {
  for (float& value : out) value = static_cast<float>(normal());
}

void Rng::fill_uniform(std::span<float> out, float low, float high) {
  for (float& value : out) {
    // Uses 24 bits, which a float represents exactly, so that the factor never rounds up to 1.
    value = low + (high - low) * (static_cast<float>(next() >> 40) * 0x1.0p-24f);
  }
}

void Rng::fill_below(std::span<int64_t> out, uint64_t bound) {
  for (int64_t& value : out) value = static_cast<int64_t>(below(bound));
}

void Rng::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> two = {2};
  state.array("state", DType::u64, two, state_.data());
  state.array("increment", DType::u64, two, increment_.data());
}

}  // namespace rl_training
