#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rl_training {

// The candidate nearest to `word` by edit distance; if none is near enough, the first that begins
// with it, or "".
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

// "; did you mean `x`?" or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// The `count` candidates nearest to `word`, nearest first, at any distance.
std::vector<std::string> nearest_names(std::string_view word,
                                       const std::vector<std::string>& candidates, size_t count);

// Number of characters of a printable text, which is its width unless it has wide characters.
size_t display_width(std::string_view text);

// At most `longest` bytes of `text`, followed by "..." if it was truncated; never splits a UTF-8
// character.
std::string shortened(std::string text, size_t longest);

// The length in bytes of the UTF-8 character that starts `text`, or 0 if it does not start with
// one.
size_t utf8_character_length(std::string_view text);

// Makes untrusted text safe for a terminal: control characters (C0, DEL, C1), characters that
// change the text direction, invisible characters and line separators are escaped as in JSON
// (\u001b, \u202e), invalid UTF-8 as \xff.
std::string printable(std::string_view text, bool keep_newlines = false);

// A word for a POSIX shell, quoted if necessary.
std::string shell_word(const std::string& text);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace rl_training
