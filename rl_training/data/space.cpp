#include "rl_training/data/space.h"

#include <array>
#include <limits>
#include <utility>

#include "rl_training/util/error.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kLargestSpace = int64_t{1} << 28;  // elements; far more than any task needs

constexpr std::array kSpaceKinds = {std::pair{"box", DType::f32}, std::pair{"discrete", DType::i64},
                                    std::pair{"image", DType::u8}};

}  // namespace

Space Space::box(std::vector<double> low, std::vector<double> high) {
  const auto size = static_cast<int64_t>(low.size());
  return {DType::f32, {size}, std::move(low), std::move(high), 0};
}

Space Space::unit_box(int64_t size) {
  const auto count = static_cast<size_t>(size);
  return box(std::vector<double>(count, -1.0), std::vector<double>(count, 1.0));
}

int64_t Space::size() const {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

std::string Space::text() const {
  if (is_discrete()) return std::to_string(categories) + " choices";
  if (!is_image()) return std::to_string(size()) + (size() == 1 ? " value" : " values");
  std::vector<std::string> extents;
  for (const int64_t extent : shape) extents.push_back(std::to_string(extent));
  return "uint8 image [" + join(extents, ", ") + "]";
}

Json space_to_json(const Space& space) {
  Json json = Json::object();
  for (const auto& [name, dtype] : kSpaceKinds) {
    if (dtype == space.dtype) json["kind"] = name;
  }
  json["shape"] = space.shape;
  if (space.is_discrete()) json["categories"] = space.categories;
  if (space.frames > 1) json["frames"] = space.frames;
  if (!space.low.empty()) {
    json["low"] = Json::array();
    json["high"] = Json::array();
    for (const double bound : space.low) json["low"].push_back(json_number(bound));
    for (const double bound : space.high) json["high"].push_back(json_number(bound));
  }
  return json;
}

Space space_from_json(const Json& json, const std::string& key) {
  const auto fail = [&]() {
    throw Error(ErrorKind::checkpoint, {"", 0, key}, "not the description of a space");
  };
  if (!json.is_object() || !json.contains("kind") || !json.contains("shape") ||
      !json["shape"].is_array() || json["shape"].size() > 8) {
    fail();
  }
  Space space;
  bool known = false;
  for (const auto& [name, dtype] : kSpaceKinds) {
    if (json["kind"] != name) continue;
    space.dtype = dtype;
    known = true;
  }
  int64_t size = 1;
  for (const auto& extent : json["shape"]) {
    if (!extent.is_number_integer()) fail();
    const auto value = extent.get<int64_t>();
    if (value < 1 || value > kLargestSpace / size) fail();
    space.shape.push_back(value);
    size *= value;
  }
  if (space.dtype == DType::i64) {
    const auto& count = json.value("categories", Json());
    if (!count.is_number_integer() || count.get<int64_t>() < 1) fail();
    space.categories = count.get<int64_t>();
  }
  if (json.contains("frames")) {
    const auto& count = json["frames"];
    if (!space.is_image() || space.shape.empty() || !count.is_number_integer()) fail();
    space.frames = count.get<int64_t>();
    if (space.frames < 1 || space.shape.front() % space.frames != 0) fail();
  }
  for (const auto& [name, bounds] : {std::pair{"low", &space.low}, {"high", &space.high}}) {
    if (!json.contains(name)) continue;
    if (!json[name].is_array() || static_cast<int64_t>(json[name].size()) != size) fail();
    const double none = bounds == &space.low ? -kInfinity : kInfinity;
    for (const auto& bound : json[name]) {
      if (!bound.is_null() && !bound.is_number()) fail();
      bounds->push_back(bound.is_null() ? none : bound.get<double>());
    }
  }
  if (!known || space.low.size() != space.high.size()) fail();
  return space;
}

}  // namespace rl_training
