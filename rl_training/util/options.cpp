#include "rl_training/util/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

std::string number_text(double value) { return Json(value).dump(); }

// Like number_text, but writes 1.0 as "1", which is easier to read in messages and tables.
std::string limit_text(double value) {
  auto text = number_text(value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string expected(const std::string& what, const ConfigNode& node) {
  return "(expected " + what + ", got " + node.shown() + ")";
}

std::string ranged(const char* noun, const Range& range) {
  const auto text = range.text();
  return text.empty() ? noun : std::string(noun) + " " + text;
}

// Whether the value is null or `none`, the word for null in tables and docs.
bool is_none(const ConfigNode& node) {
  return node.kind == ConfigNode::Kind::null ||
         (node.kind == ConfigNode::Kind::scalar && node.text == "none");
}

template <class Number>
std::optional<Number> parse_whole(const std::string& text) {
  Number value{};
  const char* begin = text.data();
  const char* end = begin + text.size();
  if (end - begin > 1 && begin[0] == '+' && begin[1] != '-') ++begin;
  const auto result = std::from_chars(begin, end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

double read_number(const ConfigNode& node, const std::string& path, const Range& range) {
  const auto value = node.kind == ConfigNode::Kind::scalar && !node.quoted
                         ? parse_whole<double>(node.text)
                         : std::nullopt;
  if (!value || !std::isfinite(*value)) {
    node.fail(path, "not a number " + expected(ranged("a number", range), node));
  }
  if (!range.contains(*value)) {
    node.fail(path, "out of range " + expected(ranged("a number", range), node));
  }
  return *value;
}

bool read_flag(const ConfigNode& node, const std::string& path) {
  const bool plain = node.kind == ConfigNode::Kind::scalar && !node.quoted;
  if (!plain || (node.text != "true" && node.text != "false")) {
    node.fail(path, "not a switch " + expected("true or false", node));
  }
  return node.text == "true";
}

int64_t read_integer(const ConfigNode& node, const std::string& path, const Range& range) {
  std::optional<int64_t> value;
  if (node.kind == ConfigNode::Kind::scalar && !node.quoted) {
    value = parse_whole<int64_t>(node.text);
    if (!value) {  // accepts scientific notation, such as 1e6
      const auto real = parse_whole<double>(node.text);
      const bool scientific = node.text.find_first_of("eE") != std::string::npos;
      if (real && scientific && std::floor(*real) == *real && std::abs(*real) < 9e15) {
        value = static_cast<int64_t>(*real);
      }
    }
  }
  if (!value) {
    node.fail(path, "not a whole number " + expected(ranged("a whole number", range), node));
  }
  if (!range.contains(static_cast<double>(*value))) {
    node.fail(path, "out of range " + expected(ranged("a whole number", range), node));
  }
  return *value;
}

}  // namespace

bool Range::contains(double value) const {
  if (low && (low_open ? value <= *low : value < *low)) return false;
  if (high && (high_open ? value >= *high : value > *high)) return false;
  return true;
}

std::string Range::text() const {
  std::string out;
  if (low) out += (low_open ? "> " : ">= ") + limit_text(*low);
  if (high) out += (out.empty() ? "" : " and ") + ((high_open ? "< " : "<= ") + limit_text(*high));
  return out;
}

Range any_number() { return {}; }
Range above(double low) { return {low, {}, true, false}; }
Range at_least(double low) { return {low, {}, false, false}; }
Range between(double low, double high) { return {low, high, false, false}; }
Range above_up_to(double low, double high) { return {low, high, true, false}; }
Range strictly_between(double low, double high) { return {low, high, true, true}; }

OptionReader::OptionReader(const ConfigNode& map, std::string path)
    : map_(map), path_(std::move(path)) {
  if (map.kind != ConfigNode::Kind::map && map.kind != ConfigNode::Kind::null) {
    map.fail(path_, "not a map " + expected("a map of keys", map));
  }
}

std::string OptionReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const ConfigNode* OptionReader::take(const char* key) {
  known_.emplace_back(key);
  return map_.find(key);
}

void OptionReader::number(const char* key, double& value, Range range, const char*) {
  if (const auto* node = take(key)) value = read_number(*node, path_of(key), range);
}

void OptionReader::number(const char* key, std::optional<double>& value, Range range, const char*) {
  const auto* node = take(key);
  if (node == nullptr) return;
  value.reset();
  if (!is_none(*node)) value = read_number(*node, path_of(key), range);
}

void OptionReader::integer(const char* key, int64_t& value, Range range, const char*) {
  if (const auto* node = take(key)) value = read_integer(*node, path_of(key), range);
}

void OptionReader::integer(const char* key, std::optional<int64_t>& value, Range range,
                           const char*) {
  const auto* node = take(key);
  if (node == nullptr) return;
  value.reset();
  if (!is_none(*node)) value = read_integer(*node, path_of(key), range);
}

void OptionReader::flag(const char* key, bool& value, const char*) {
  if (const auto* node = take(key)) value = read_flag(*node, path_of(key));
}

void OptionReader::flag(const char* key, std::optional<bool>& value, const char*) {
  const auto* node = take(key);
  if (node == nullptr) return;
  value.reset();
  if (!is_none(*node)) value = read_flag(*node, path_of(key));
}

void OptionReader::interval(const char* key, Interval& value, const char*) {
  const auto* node = take(key);
  if (node == nullptr) return;
  value = {};
  if (is_none(*node)) return;
  const char* const form = "[low, high] with low <= high, null for no bound";
  if (node->kind != ConfigNode::Kind::list || node->items.size() != 2) {
    node->fail(path_of(key), "not a pair of bounds " + expected(form, *node));
  }
  const auto read_bound = [&](const ConfigNode& item, double& bound) {
    if (item.kind != ConfigNode::Kind::null) bound = read_number(item, path_of(key), any_number());
  };
  read_bound(node->items[0], value.low);
  read_bound(node->items[1], value.high);
  if (value.low > value.high) {
    node->fail(path_of(key), "the lower bound is above the upper bound " + expected(form, *node));
  }
}

void OptionReader::text(const char* key, std::string& value, const char*) {
  const auto* node = take(key);
  if (node == nullptr) return;
  if (node->kind == ConfigNode::Kind::null) {
    value.clear();
    return;
  }
  if (node->kind != ConfigNode::Kind::scalar) {
    node->fail(path_of(key), "not a text " + expected("a text", *node));
  }
  value = node->text;
}

void OptionReader::choice(const char* key, std::string& value,
                          const std::vector<std::string>& choices, const char*) {
  const auto* node = take(key);
  if (node == nullptr) return;
  const bool scalar = node->kind == ConfigNode::Kind::scalar;
  if (!scalar || std::find(choices.begin(), choices.end(), node->text) == choices.end()) {
    std::string message =
        "unknown choice (expected " + join(choices, " | ") + ", got " + node->shown();
    if (scalar) message += did_you_mean(node->text, choices);
    node->fail(path_of(key), message + ")");
  }
  value = node->text;
}

void OptionReader::integers(const char* key, std::vector<int64_t>& value, Range range,
                            const char*) {
  const auto* node = take(key);
  if (node == nullptr) return;
  if (node->kind != ConfigNode::Kind::list || node->items.empty()) {
    node->fail(path_of(key), "not a list of whole numbers " +
                                 expected(ranged("a list such as [256, 256], each", range), *node));
  }
  value.clear();
  for (const auto& item : node->items) value.push_back(read_integer(item, path_of(key), range));
}

void OptionReader::numbers(const char* key, std::vector<double>& value, Range range, const char*) {
  const auto* node = take(key);
  if (node == nullptr) return;
  value.clear();
  if (is_none(*node)) return;
  if (node->kind != ConfigNode::Kind::list) {
    value.push_back(read_number(*node, path_of(key), range));
    return;
  }
  for (const auto& item : node->items) value.push_back(read_number(item, path_of(key), range));
}

void OptionReader::texts(const char* key, std::vector<std::string>& value, const char*) {
  const auto* node = take(key);
  if (node == nullptr) return;
  value.clear();
  if (node->kind == ConfigNode::Kind::null) return;
  if (node->kind != ConfigNode::Kind::list) {
    node->fail(path_of(key), "not a list " + expected("a list of texts", *node));
  }
  for (const auto& item : node->items) {
    if (item.kind != ConfigNode::Kind::scalar) {
      item.fail(path_of(key), "not a text " + expected("a text", item));
    }
    value.push_back(item.text);
  }
}

void OptionReader::group(const char* key, const char*,
                         const std::function<void(OptionVisitor&)>& body, bool* present,
                         const char* shorthand) {
  const auto* node = take(key);
  if (node == nullptr) return;
  const bool there = present == nullptr ? node->kind != ConfigNode::Kind::null : !is_none(*node);
  if (present != nullptr) *present = there;
  if (!there) return;
  ConfigNode wrapped;
  if (shorthand != nullptr && node->kind == ConfigNode::Kind::scalar) {
    wrapped = ConfigNode::map();
    wrapped.file = node->file;
    wrapped.line = node->line;
    wrapped.entries.emplace_back(shorthand, *node);
    node = &wrapped;
  }
  OptionReader inner(*node, path_of(key));
  body(inner);
  inner.finish();
}

void OptionReader::groups(const char* key, const char*, size_t,
                          const std::function<void(size_t)>& resize,
                          const std::function<void(size_t, OptionVisitor&)>& body) {
  const auto* node = take(key);
  if (node == nullptr || is_none(*node)) return;
  if (node->kind != ConfigNode::Kind::list) {
    node->fail(path_of(key), "not a list " + expected("a list of maps", *node));
  }
  resize(node->items.size());
  for (size_t i = 0; i < node->items.size(); ++i) {
    OptionReader inner(node->items[i], path_of(key) + "[" + std::to_string(i) + "]");
    body(i, inner);
    inner.finish();
  }
}

void OptionReader::renamed(const char* old_key, const char* new_key) {
  const auto* node = map_.find(old_key);
  if (node == nullptr) return;
  node->fail(path_of(old_key), std::string("was renamed (expected `") + new_key + "`)");
}

void OptionReader::finish(const std::vector<std::string>& elsewhere,
                          const std::string& owner) const {
  const std::string problem = owner.empty() ? "unknown key" : "unknown key for " + owner;
  for (const auto& [key, value] : map_.entries) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    std::vector<std::string> names = known_;
    std::vector<std::string> shown = known_;
    for (const auto& other : elsewhere) {
      const auto dot = other.rfind('.');
      names.push_back(dot == std::string::npos ? other : other.substr(dot + 1));
      shown.push_back(other);
    }
    const auto near = nearest_name(key, names);
    if (near.empty() && known_.empty()) value.fail(path_of(key), problem + " (none is known here)");
    if (near.empty()) {
      value.fail(path_of(key), problem + " (expected one of " + join(known_, ", ") + ")");
    }
    const auto index = std::find(names.begin(), names.end(), near) - names.begin();
    value.fail(path_of(key), problem + " (did you mean `" + shown[index] + "`?)");
  }
}

}  // namespace rl_training
