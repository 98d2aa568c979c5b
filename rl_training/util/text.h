#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rl_training {

// The candidate nearest to `word` by edit distance, or "" when none is near enough to suggest.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

// "; did you mean `x`?" or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// The `count` candidates nearest to `word`, nearest first, however far they are.
std::vector<std::string> nearest_names(std::string_view word,
                                       const std::vector<std::string>& candidates, size_t count);

// Number of characters of a printable text, which is its width if none is a wide character.
size_t display_width(std::string_view text);

// At most `longest` bytes of `text` and "..." when that is not all; no UTF-8 character is cut.
std::string shortened(std::string text, size_t longest);

// The length in bytes of the UTF-8 character that starts `text`, or 0 when none does.
size_t utf8_character_length(std::string_view text);

// Text of any origin for a terminal: what a reader does not see or what steers the terminal is
// escaped as in JSON (\u001b, \u202e), a byte that is no UTF-8 as \xff. That is control characters
// (C0, DEL, C1), the ones that change the direction of text, invisible ones and separators of
// lines.
std::string printable(std::string_view text, bool keep_newlines = false);

// A word for a POSIX shell, quoted where it must be.
std::string shell_word(const std::string& text);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace rl_training
