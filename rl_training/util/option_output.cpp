// Functions that visit a list of options to write JSON, to list table rows, or to check values.
#include <algorithm>
#include <cmath>

#include "rl_training/util/error.h"
#include "rl_training/util/options.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// Returns null if neither bound is set.
Json interval_json(const Interval& value) {
  if (std::isinf(value.low) && std::isinf(value.high)) return nullptr;
  return Json::array({json_number(value.low), json_number(value.high)});
}

// The JSON form of a list: null if it is empty, a plain number if it has one element.
Json numbers_json(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  return values.size() == 1 ? Json(values[0]) : Json(values);
}

class OptionWriter final : public OptionVisitor {
 public:
  Json json = Json::object();

  void number(const char* key, double& value, Range, const char*) override { json[key] = value; }
  void number(const char* key, std::optional<double>& value, Range, const char*) override {
    json[key] = value ? Json(*value) : Json(nullptr);
  }
  void integer(const char* key, int64_t& value, Range, const char*) override { json[key] = value; }
  void integer(const char* key, std::optional<int64_t>& value, Range, const char*) override {
    json[key] = value ? Json(*value) : Json(nullptr);
  }
  void flag(const char* key, bool& value, const char*) override { json[key] = value; }
  void flag(const char* key, std::optional<bool>& value, const char*) override {
    json[key] = value ? Json(*value) : Json(nullptr);
  }
  void interval(const char* key, Interval& value, const char*) override {
    json[key] = interval_json(value);
  }
  void text(const char* key, std::string& value, const char*) override { json[key] = value; }
  void choice(const char* key, std::string& value, const std::vector<std::string>&,
              const char*) override {
    json[key] = value;
  }
  void integers(const char* key, std::vector<int64_t>& value, Range, const char*) override {
    json[key] = value;
  }
  void numbers(const char* key, std::vector<double>& value, Range, const char*) override {
    json[key] = numbers_json(value);
  }
  void texts(const char* key, std::vector<std::string>& value, const char*) override {
    json[key] = value;
  }
  void group(const char* key, const char*, const std::function<void(OptionVisitor&)>& body,
             bool* present, const char*) override {
    if (present != nullptr && !*present) {
      json[key] = nullptr;
      return;
    }
    OptionWriter inner;
    body(inner);
    json[key] = inner.json;
  }
  void groups(const char* key, const char*, size_t count, const std::function<void(size_t)>&,
              const std::function<void(size_t, OptionVisitor&)>& body) override {
    json[key] = Json::array();
    for (size_t i = 0; i < count; ++i) {
      OptionWriter inner;
      body(i, inner);
      json[key].push_back(inner.json);
    }
  }
};

class OptionLister final : public OptionVisitor {
 public:
  explicit OptionLister(std::string prefix = "") : prefix_(std::move(prefix)) {}
  std::vector<OptionRow> rows;

  void number(const char* key, double& value, Range range, const char* meaning) override {
    add(key, "number", Json(value).dump(), range.text(), meaning);
  }
  void number(const char* key, std::optional<double>& value, Range range,
              const char* meaning) override {
    add(key, "number", value ? Json(*value).dump() : "none", range.text(), meaning);
  }
  void integer(const char* key, int64_t& value, Range range, const char* meaning) override {
    add(key, "whole number", std::to_string(value), range.text(), meaning);
  }
  void integer(const char* key, std::optional<int64_t>& value, Range range,
               const char* meaning) override {
    add(key, "whole number", value ? std::to_string(*value) : "none", range.text(), meaning);
  }
  void flag(const char* key, bool& value, const char* meaning) override {
    add(key, "switch", value ? "true" : "false", "true | false", meaning);
  }
  void flag(const char* key, std::optional<bool>& value, const char* meaning) override {
    add(key, "switch", !value ? "none" : *value ? "true" : "false", "true | false", meaning);
  }
  void interval(const char* key, Interval& value, const char* meaning) override {
    const Json json = interval_json(value);
    add(key, "pair of bounds", json.is_null() ? "none" : json.dump(), "low <= high", meaning);
  }
  void text(const char* key, std::string& value, const char* meaning) override {
    add(key, "text", value.empty() ? "none" : value, "", meaning);
  }
  void choice(const char* key, std::string& value, const std::vector<std::string>& choices,
              const char* meaning) override {
    add(key, "choice", value, join(choices, " | "), meaning);
  }
  void integers(const char* key, std::vector<int64_t>& value, Range range,
                const char* meaning) override {
    add(key, "whole numbers", Json(value).dump(), range.text(), meaning);
  }
  void numbers(const char* key, std::vector<double>& value, Range range,
               const char* meaning) override {
    add(key, "number or numbers", value.empty() ? "none" : numbers_json(value).dump(), range.text(),
        meaning);
  }
  void texts(const char* key, std::vector<std::string>& value, const char* meaning) override {
    add(key, "texts", Json(value).dump(), "", meaning);
  }
  void group(const char* key, const char* meaning, const std::function<void(OptionVisitor&)>& body,
             bool* present, const char* shorthand) override {
    const bool on = present == nullptr || *present;
    add(key, shorthand == nullptr ? "map" : std::string("map or its `") + shorthand + "`",
        on ? "" : "none", "", meaning);
    OptionLister inner(prefix_ + key + ".");
    body(inner);
    rows.insert(rows.end(), inner.rows.begin(), inner.rows.end());
  }
  void groups(const char* key, const char* meaning, size_t, const std::function<void(size_t)>&,
              const std::function<void(size_t, OptionVisitor&)>&) override {
    add(key, "list of maps", "none", "", meaning);
  }

 private:
  void add(const char* key, std::string type, std::string value, std::string range,
           const char* meaning) {
    rows.push_back({prefix_ + key, std::move(type), std::move(value), std::move(range), meaning});
  }
  std::string prefix_;
};

// Throws at the first value that is out of range, not finite or not one of the choices, and at the
// first interval whose lower bound is above its upper bound.
class OptionChecker final : public OptionVisitor {
 public:
  explicit OptionChecker(std::string prefix = "") : prefix_(std::move(prefix)) {}

  void number(const char* key, double& value, Range range, const char*) override {
    check(key, value, range);
  }
  void number(const char* key, std::optional<double>& value, Range range, const char*) override {
    if (value) check(key, *value, range);
  }
  void integer(const char* key, int64_t& value, Range range, const char*) override {
    check(key, static_cast<double>(value), range);
  }
  void integer(const char* key, std::optional<int64_t>& value, Range range, const char*) override {
    if (value) check(key, static_cast<double>(*value), range);
  }
  void flag(const char*, bool&, const char*) override {}
  void flag(const char*, std::optional<bool>&, const char*) override {}
  void interval(const char* key, Interval& value, const char*) override {
    if (value.low <= value.high) return;
    fail(key, "the lower bound is above the upper bound (expected low <= high)");
  }
  void text(const char*, std::string&, const char*) override {}
  void choice(const char* key, std::string& value, const std::vector<std::string>& choices,
              const char*) override {
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
    fail(key, "unknown choice (expected " + join(choices, " | ") + ", got " + value + ")");
  }
  void integers(const char* key, std::vector<int64_t>& value, Range range, const char*) override {
    for (const int64_t element : value) check(key, static_cast<double>(element), range);
  }
  void numbers(const char* key, std::vector<double>& value, Range range, const char*) override {
    for (const double element : value) check(key, element, range);
  }
  void texts(const char*, std::vector<std::string>&, const char*) override {}
  void group(const char* key, const char*, const std::function<void(OptionVisitor&)>& body,
             bool* present, const char*) override {
    if (present != nullptr && !*present) return;
    OptionChecker inner(prefix_ + key + ".");
    body(inner);
  }
  void groups(const char* key, const char*, size_t count, const std::function<void(size_t)>&,
              const std::function<void(size_t, OptionVisitor&)>& body) override {
    for (size_t i = 0; i < count; ++i) {
      OptionChecker inner(prefix_ + key + "[" + std::to_string(i) + "].");
      body(i, inner);
    }
  }

 private:
  void check(const char* key, double value, const Range& range) const {
    if (std::isfinite(value) && range.contains(value)) return;
    const auto limits = range.text();
    fail(key, "out of range (expected " + (limits.empty() ? "a finite number" : limits) + ", got " +
                  Json(value).dump() + ")");
  }
  [[noreturn]] void fail(const char* key, const std::string& message) const {
    throw Error(ErrorKind::config, {"", 0, prefix_ + key}, message);
  }
  std::string prefix_;
};

}  // namespace

Json write_options(const std::function<void(OptionVisitor&)>& visit) {
  OptionWriter writer;
  visit(writer);
  return writer.json;
}

std::vector<OptionRow> list_options(const std::function<void(OptionVisitor&)>& visit) {
  OptionLister lister;
  visit(lister);
  return lister.rows;
}

void check_options(const std::function<void(OptionVisitor&)>& visit) {
  OptionChecker checker;
  visit(checker);
}

}  // namespace rl_training
