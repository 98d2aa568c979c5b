#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rl_training/util/config_node.h"
#include "rl_training/util/json.h"

namespace rl_training {

// The allowed values of a number: an interval whose ends may be open, closed or missing.
struct Range {
  std::optional<double> low, high;
  bool low_open = false, high_open = false;

  bool contains(double value) const;
  std::string text() const;  // for example ">= 1" or "> 0 and <= 1"; "" if all numbers are allowed
};
Range any_number();
Range above(double low);
Range at_least(double low);
Range between(double low, double high);      // low <= x <= high
Range above_up_to(double low, double high);  // low < x <= high
Range strictly_between(double low, double high);

// The value of an option that is a pair of bounds, written [low, high]. A null in place of a
// number, or of the whole pair, means no bound.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool inside(double value) const { return low < value && value < high; }
  bool inside_or_at(double value) const { return low <= value && value <= high; }
};

// Visits a group of options. A group is a plain struct whose fields have default values. Its
// function
//   void visit_options(OptionVisitor& options)
// lists each field with its name, range and meaning. This one list is used to read YAML, check
// ranges, suggest names for unknown keys, print tables and write the resolved config.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;

  virtual void number(const char* key, double& value, Range range, const char* meaning) = 0;
  virtual void number(const char* key, std::optional<double>& value, Range range,
                      const char* meaning) = 0;
  virtual void integer(const char* key, int64_t& value, Range range, const char* meaning) = 0;
  virtual void integer(const char* key, std::optional<int64_t>& value, Range range,
                       const char* meaning) = 0;
  virtual void flag(const char* key, bool& value, const char* meaning) = 0;
  virtual void flag(const char* key, std::optional<bool>& value, const char* meaning) = 0;
  virtual void interval(const char* key, Interval& value, const char* meaning) = 0;
  virtual void text(const char* key, std::string& value, const char* meaning) = 0;
  virtual void choice(const char* key, std::string& value, const std::vector<std::string>& choices,
                      const char* meaning) = 0;
  // An enum. Configs contain the names of its values.
  template <class Enum>
  void choice(const char* key, Enum& value,
              std::initializer_list<std::pair<const char*, Enum>> names, const char* meaning) {
    std::vector<std::string> choices;
    std::string text;
    for (const auto& [name, named] : names) {
      choices.emplace_back(name);
      if (named == value) text = name;
    }
    choice(key, text, choices, meaning);
    for (const auto& [name, named] : names) {
      if (text == name) value = named;
    }
  }
  virtual void integers(const char* key, std::vector<int64_t>& value, Range range,
                        const char* meaning) = 0;
  // One number or a list of numbers. `none` means an empty list.
  virtual void numbers(const char* key, std::vector<double>& value, Range range,
                       const char* meaning) = 0;
  virtual void texts(const char* key, std::vector<std::string>& value, const char* meaning) = 0;
  // A nested map. If `shorthand` is not null, a plain value means {shorthand: value}. If `present`
  // is not null, the map is optional: if the config has the key, reading sets `*present` to false
  // for the value none and to true otherwise. The map is written only if `*present` is true.
  virtual void group(const char* key, const char* meaning,
                     const std::function<void(OptionVisitor&)>& body, bool* present = nullptr,
                     const char* shorthand = nullptr) = 0;
  // A renamed key. Reading a config with the old name throws an error that states the new name.
  virtual void renamed(const char* /*old_key*/, const char* /*new_key*/) {}
  // A list of maps. Reading calls `resize` with the number of maps, then `body` for each index.
  virtual void groups(const char* key, const char* meaning, size_t count,
                      const std::function<void(size_t)>& resize,
                      const std::function<void(size_t, OptionVisitor&)>& body) = 0;
};

// Fills fields from a map node. Throws Error{config} if a value has the wrong type, is out of range
// or is not finite. After all fields have been visited, `finish` rejects unknown keys.
class OptionReader final : public OptionVisitor {
 public:
  // `path` is the dotted name of the map: "" for the whole config, or for example "algo_kwargs".
  OptionReader(const ConfigNode& map, std::string path);

  void number(const char* key, double& value, Range range, const char* meaning) override;
  void number(const char* key, std::optional<double>& value, Range range,
              const char* meaning) override;
  void integer(const char* key, int64_t& value, Range range, const char* meaning) override;
  void integer(const char* key, std::optional<int64_t>& value, Range range,
               const char* meaning) override;
  void flag(const char* key, bool& value, const char* meaning) override;
  void flag(const char* key, std::optional<bool>& value, const char* meaning) override;
  void interval(const char* key, Interval& value, const char* meaning) override;
  void text(const char* key, std::string& value, const char* meaning) override;
  void choice(const char* key, std::string& value, const std::vector<std::string>& choices,
              const char* meaning) override;
  void integers(const char* key, std::vector<int64_t>& value, Range range,
                const char* meaning) override;
  void numbers(const char* key, std::vector<double>& value, Range range,
               const char* meaning) override;
  void texts(const char* key, std::vector<std::string>& value, const char* meaning) override;
  void group(const char* key, const char* meaning, const std::function<void(OptionVisitor&)>& body,
             bool* present, const char* shorthand) override;
  void groups(const char* key, const char* meaning, size_t count,
              const std::function<void(size_t)>& resize,
              const std::function<void(size_t, OptionVisitor&)>& body) override;

  void renamed(const char* old_key, const char* new_key) override;

  // Accepts a key that other code reads, such as a nested map with its own reader.
  void accept(const char* key) { known_.emplace_back(key); }
  // Throws for the first unknown key. `elsewhere` lists dotted names outside this map, for messages
  // such as "did you mean `algo_kwargs.x`?". If `owner` is not "", messages begin with "unknown key
  // for" and this name.
  void finish(const std::vector<std::string>& elsewhere = {}, const std::string& owner = "") const;

 private:
  const ConfigNode* take(const char* key);
  std::string path_of(std::string_view key) const;

  const ConfigNode& map_;
  std::string path_;
  std::vector<std::string> known_;
};

// Returns the options as JSON, in the order in which they are visited.
Json write_options(const std::function<void(OptionVisitor&)>& visit);

// Checks options that were set in code. Throws Error{config} with the dotted key of the first
// invalid value.
void check_options(const std::function<void(OptionVisitor&)>& visit);

// One row of a table of options, for `rl_training algorithms NAME` and the docs.
struct OptionRow {
  std::string key, type, default_value, range, meaning;
};
std::vector<OptionRow> list_options(const std::function<void(OptionVisitor&)>& visit);

}  // namespace rl_training
