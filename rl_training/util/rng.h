#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "rl_training/util/state.h"

namespace rl_training {

// The generator PCG64. It produces the same numbers as NumPy's
// `Generator(PCG64(SeedSequence(seed)))`, so seeded environment resets equal those of Gymnasium.
// Its whole state is four 64-bit words, which checkpoints store exactly.
class Rng {
 public:
  // Equals NumPy's default_rng(seed).
  explicit Rng(uint64_t seed);
  // An independent stream for one purpose of a run, such as "data", "policy" or "env/3".
  Rng(uint64_t seed, std::string_view purpose);

  uint64_t next() {
    step();
    const uint64_t folded = state_[0] ^ state_[1];
    const unsigned rotation = state_[0] >> 58;
    return (folded >> rotation) | (folded << ((64 - rotation) & 63));
  }
  // Uniform in [0, 1) with 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // Uniform in [0, bound) without bias. `bound` must be above 0.
  uint64_t below(uint64_t bound);
  // Standard normal, computed by the same ziggurat algorithm as in NumPy.
  double normal();
  void fill_normal(std::span<float> out);
  void fill_uniform(std::span<float> out, float low, float high);
  void fill_below(std::span<int64_t> out, uint64_t bound);

  void visit_state(StateVisitor& state);

 private:
  __extension__ using Word128 = unsigned __int128;
  static constexpr Word128 make_word(uint64_t high, uint64_t low) {
    return (static_cast<Word128>(high) << 64) | low;
  }

  void seed(std::span<const uint32_t> entropy);
  void set_state(Word128 state) {
    state_ = {static_cast<uint64_t>(state >> 64), static_cast<uint64_t>(state)};
  }
  void step() {
    constexpr uint64_t kHigh = 2549297995355413924ULL, kLow = 4865540595714422341ULL;
    set_state(make_word(state_[0], state_[1]) * make_word(kHigh, kLow) +
              make_word(increment_[0], increment_[1]));
  }

  std::array<uint64_t, 2> state_{};      // high and low word of the 128-bit state
  std::array<uint64_t, 2> increment_{};  // high and low word of the (odd) increment
};

// Draws the same integers as NumPy's Generator.integers for bounds below 2^32. Each integer uses
// half of a 64-bit word from `rng`. The other half is stored for the next integer, even if `rng` is
// used for other values in between.
class BoundedIntegers {
 public:
  explicit BoundedIntegers(Rng& rng) : rng_(rng) {}

  // Uniform in [0, bound) without bias. For a bound of 1, draws nothing and returns 0.
  uint32_t below(uint32_t bound);

 private:
  uint32_t half();

  Rng& rng_;
  std::optional<uint32_t> kept_;
};

}  // namespace rl_training
