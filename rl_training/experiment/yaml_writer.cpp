#include "rl_training/experiment/yaml_writer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace rl_training {
namespace {

constexpr size_t kIndent = 2;

// Words that YAML readers interpret as null, booleans or numbers.
constexpr std::array<std::string_view, 12> kSpecialWords = {
    "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"};

bool reads_back_plain(const std::string& text) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; };
  const auto is_safe = [&](unsigned char c) {
    return is_letter(c) || std::isdigit(c) != 0 || c == '-' || c == '.' || c == '/' || c == '+';
  };
  if (text.empty() || !(is_letter(text[0]) || text[0] == '/')) return false;
  if (!std::all_of(text.begin(), text.end(), is_safe)) return false;
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kSpecialWords.begin(), kSpecialWords.end(), lower) == kSpecialWords.end();
}

// Numbers and strings in JSON syntax are also valid YAML.
std::string scalar_text(const Json& value) {
  if (value.is_string() && reads_back_plain(value.get_ref<const std::string&>())) {
    return value.get<std::string>();
  }
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Whether the value fits on one line: it contains no map with entries.
bool fits_on_a_line(const Json& value) {
  if (value.is_object()) return value.empty();
  return !value.is_array() || std::all_of(value.begin(), value.end(), fits_on_a_line);
}

std::string flow_text(const Json& value) {
  if (value.is_object()) return "{}";
  if (!value.is_array()) return scalar_text(value);
  std::string text = "[";
  for (const auto& item : value) text += (text.size() > 1 ? ", " : "") + flow_text(item);
  return text + "]";
}

std::string block_text(const Json& value, size_t indent) {
  const std::string margin(indent, ' ');
  if (fits_on_a_line(value)) return margin + flow_text(value) + "\n";
  std::string text;
  if (value.is_array()) {
    for (const auto& item : value) {
      auto lines = block_text(item, indent + kIndent);
      lines[indent] = '-';
      text += lines;
    }
    return text;
  }
  for (const auto& [key, inner] : value.items()) {
    text += margin + scalar_text(key) + ":";
    text += fits_on_a_line(inner) ? " " + flow_text(inner) + "\n"
                                  : "\n" + block_text(inner, indent + kIndent);
  }
  return text;
}

}  // namespace

std::string write_yaml(const Json& value) { return block_text(value, 0); }

}  // namespace rl_training
