#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "rl_training/util/json.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Describes one observation or action: a box of float32 values, a discrete value below `categories`
// (int64), or an image (uint8). Environments, datasets, replay buffers, algorithms and checkpoints
// use this description.
//
// Inside the library, box actions are scaled to [-1, 1] in each dimension. Only `to_unit` and
// `from_unit` convert units. They use the centre and half width of the bounds, so that symmetric
// bounds only need one multiplication or division, without the rounding error of an offset.
struct Space {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;     // such as {17} or {channels, height, width}; empty if discrete
  std::vector<double> low, high;  // one bound per element; empty if unbounded
  int64_t categories = 0;         // number of discrete values; 0 if not discrete
  int64_t frames = 1;             // frames stacked in the channels of an image, oldest first

  static Space box(std::vector<double> low, std::vector<double> high);
  static Space unbounded(int64_t size) { return {DType::f32, {size}, {}, {}, 0}; }
  static Space unit_box(int64_t size);  // [-1, 1] in each dimension
  static Space discrete(int64_t categories) { return {DType::i64, {}, {}, {}, categories}; }
  static Space image(int64_t channels, int64_t height, int64_t width, int64_t frames = 1) {
    return {DType::u8, {channels, height, width}, {}, {}, 0, frames};
  }

  bool is_discrete() const { return categories > 0; }
  bool is_image() const { return dtype == DType::u8; }
  int64_t size() const;  // number of elements of one observation or action
  int64_t bytes() const { return size() * dtype_size(dtype); }
  // Whether `value` is a whole number from 0 to `categories` - 1.
  bool contains_choice(double value) const {
    return value >= 0 && value < static_cast<double>(categories) && value == std::floor(value);
  }
  std::string text() const;  // "17 values", "2 choices" or "uint8 image [3, 84, 84]"

  float to_unit(int64_t dim, double value) const {
    const double half = half_width(dim);
    return half > 0 ? static_cast<float>((value - center(dim)) / half) : 0.0f;
  }
  double from_unit(int64_t dim, double value) const {
    const double scaled = center(dim) + half_width(dim) * value;
    // Clamps the result, because rounding could move -1 or 1 slightly beyond the bounds.
    return value >= -1 && value <= 1 ? std::clamp(scaled, low[dim], high[dim]) : scaled;
  }

  bool operator==(const Space&) const = default;

 private:
  double center(int64_t dim) const { return (low[dim] + high[dim]) / 2; }
  double half_width(int64_t dim) const { return (high[dim] - low[dim]) / 2; }
};

Json space_to_json(const Space& space);
// Throws Error{checkpoint} with `key` if the description is invalid.
Space space_from_json(const Json& json, const std::string& key);

}  // namespace rl_training
