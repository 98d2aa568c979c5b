#include "rl_training/data/minari_space.h"

#include <algorithm>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr int kMaxDepth = 32;
constexpr size_t kMaxLeaves = 10'000;

std::string without_python_words(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool quoted = false;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      result += text.substr(i, 2);
      i += 2;
      continue;
    }
    if (c == '"') quoted = !quoted;
    const auto rest = text.substr(i);
    std::string_view word;
    for (const std::string_view candidate : {"-Infinity", "Infinity", "NaN"}) {
      if (!quoted && rest.starts_with(candidate)) word = candidate;
    }
    // Replaces the word with `null`, padded to the same length, so that positions in error messages
    // stay correct. Only NaN becomes longer, by one character.
    if (!word.empty()) {
      result += word.size() >= 4 ? "null" + std::string(word.size() - 4, ' ') : "null";
      i += word.size();
    } else {
      result += c;
      ++i;
    }
  }
  return result;
}

class Flattener {
 public:
  Flattener(bool continuous, const ErrorPlace& place) : continuous_(continuous), place_(place) {}

  void add(const Json& space, const std::string& path, int depth) {
    const std::string type = space.is_object() ? space.value("type", "") : "";
    if (depth > kMaxDepth) fail("the space is nested too deeply");
    if (type == "Dict" || type == "Tuple") {
      const auto subspaces = space.find("subspaces");
      if (subspaces == space.end() || subspaces->is_object() != (type == "Dict") ||
          subspaces->is_array() != (type == "Tuple")) {
        fail("a " + type + " space without subspaces");
      }
      size_t index = 0;
      for (const auto& [name, subspace] : subspaces->items()) {
        const auto step = type == "Dict" ? name : "_index_" + std::to_string(index++);
        if (step.empty() || step == "." || step.find('/') != std::string::npos) {
          fail("a subspace has a bad name");
        }
        add(subspace, path + "/" + step, depth + 1);
      }
      return;
    }
    if (leaves_.size() == kMaxLeaves) fail("the space has too many parts");
    leaves_.push_back({path, width_of(space, type)});
  }
  std::vector<SpaceLeaf> leaves() && {
    if (leaves_.empty()) fail("the space has no parts");
    return std::move(leaves_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorKind::data, place_, message);
  }

  int64_t width_of(const Json& space, const std::string& type) const {
    if (type == "Box") return product(space, "shape");
    if (type == "Discrete" || type == "MultiDiscrete" || type == "MultiBinary") {
      if (continuous_) fail("expected continuous actions (a Box space), got " + type);
      if (type == "Discrete") return 1;
      // -1 means that the data determines the width. The width could be derived from `nvec` or `n`,
      // but these keys have several formats.
      return -1;
    }
    fail("cannot use a space of type " + (type.empty() ? "(none)" : shortened(type, 40)));
  }

  int64_t product(const Json& space, const char* key) const {
    const auto shape = space.find(key);
    if (shape == space.end() || !shape->is_array()) fail("a Box space without a shape");
    int64_t width = 1;
    for (const auto& dim : *shape) {
      if (!dim.is_number_integer() || dim.get<int64_t>() < 1 ||
          __builtin_mul_overflow(width, dim.get<int64_t>(), &width) || width > 100'000'000) {
        fail("a Box space with a bad shape");
      }
    }
    return width;
  }

  bool continuous_;
  const ErrorPlace& place_;
  std::vector<SpaceLeaf> leaves_;
};

}  // namespace

Json parse_python_json(std::string_view text, const ErrorPlace& place) {
  constexpr JsonLimits kLimits{32, 50'000};  // enough for kMaxLeaves boxes with five keys each
  if (!json_within(text, kLimits)) {
    throw Error(ErrorKind::data, place,
                "nested too deeply or too many keys (expected at most " +
                    std::to_string(kLimits.depth) + " levels and " + std::to_string(kLimits.keys) +
                    " keys)");
  }
  try {
    return Json::parse(without_python_words(text));
  } catch (const Json::parse_error& error) {
    const auto before = text.substr(0, std::min(error.byte, text.size()));
    ErrorPlace where = place;
    if (where.key.empty()) {
      where.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
    }
    throw Error(ErrorKind::data, where,
                "not valid JSON (stopped at byte " + std::to_string(error.byte) + " of " +
                    std::to_string(text.size()) + ")");
  }
}

int64_t discrete_choices(const Json& space, const ErrorPlace& place) {
  if (!space.is_object() || space.value("type", Json()) != "Discrete") return 0;
  const auto number = [&](const char* key, int64_t absent) {
    const auto value = space.value(key, Json(absent));
    return value.is_number_integer() ? value.get<int64_t>() : -1;
  };
  const int64_t choices = number("n", -1);
  if (choices < 1 || choices > 1'000'000) {
    throw Error(ErrorKind::data, place, "a Discrete space with a bad number of actions");
  }
  if (number("start", 0) != 0) {
    throw Error(ErrorKind::data, place, "a Discrete space that does not count from 0");
  }
  return choices;
}

std::vector<SpaceLeaf> flatten_space(const Json& space, bool continuous, const ErrorPlace& place) {
  Flattener flattener(continuous, place);
  flattener.add(space, "", 0);
  return std::move(flattener).leaves();
}

}  // namespace rl_training
