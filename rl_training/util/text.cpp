#include "rl_training/util/text.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <utility>

namespace rl_training {
namespace {

// Levenshtein distance that also counts a swap of two neighbouring letters, a common typing error,
// as one edit.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

uint32_t code_point(std::string_view character) {
  if (character.size() == 1) return static_cast<unsigned char>(character[0]);
  uint32_t code = static_cast<unsigned char>(character[0]) & (0x7fU >> character.size());
  for (const char c : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  return code;
}

// Whether printable() must escape this code point. All such code points have at most four
// hexadecimal digits.
bool is_hidden(uint32_t code) {
  constexpr std::pair<uint32_t, uint32_t> kRanges[] = {
      {0x00, 0x1f},     {0x7f, 0x9f},                        // C0, DEL, C1
      {0xad, 0xad},     {0x61c, 0x61c},                      // soft hyphen, Arabic letter mark
      {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  // zero-width, separators, embeddings
      {0x2060, 0x206f}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},  // isolates, variation selectors, BOM
      {0xfff9, 0xfffb}};                                     // interlinear annotations
  return std::any_of(std::begin(kRanges), std::end(kRanges), [&](const auto& range) {
    return code >= range.first && code <= range.second;
  });
}

std::string escape(std::string_view head, uint32_t code, int digits) {
  std::string text(head);
  for (int i = digits - 1; i >= 0; --i) text += "0123456789abcdef"[code >> (4 * i) & 0xfU];
  return text;
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  // Words shorter than this are not tried as prefixes of candidates.
  constexpr size_t kShortestBeginning = 4;
  if (word.size() > 100) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  if (!best.empty() || word.size() < kShortestBeginning) return best;
  const auto begun = std::find_if(candidates.begin(), candidates.end(), [&](const auto& candidate) {
    return candidate.starts_with(word);
  });
  return begun == candidates.end() ? "" : *begun;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto name = nearest_name(word, candidates);
  return name.empty() ? "" : "; did you mean `" + name + "`?";
}

std::vector<std::string> nearest_names(std::string_view word,
                                       const std::vector<std::string>& candidates, size_t count) {
  constexpr size_t kLongestCompared = 200;
  std::vector<std::pair<size_t, std::string>> ranked;
  ranked.reserve(candidates.size());
  for (const auto& name : candidates) {
    ranked.emplace_back(edit_distance(word.substr(0, kLongestCompared), name), name);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(count, ranked.size()); ++i) names.push_back(ranked[i].second);
  return names;
}

size_t display_width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string shortened(std::string text, size_t longest) {
  if (text.size() <= longest) return text;
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
  text.resize(longest);
  return text + "...";
}

size_t utf8_character_length(std::string_view text) {
  const auto byte = [&](size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool too_large = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

std::string printable(std::string_view text, bool keep_newlines) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_character_length(text);
    if (length == 0) {
      result += escape("\\x", static_cast<unsigned char>(text.front()), 2);
    } else if (const uint32_t code = code_point(text.substr(0, length));
               is_hidden(code) && !(keep_newlines && code == '\n')) {
      result += escape("\\u", code, 4);
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_-./:=+,").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

}  // namespace rl_training
