#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace rl_training {

// Returns the candidate with the smallest edit distance to `word`. If no candidate is close enough
// and `word` has at least four characters, returns the first candidate that begins with `word`.
// Returns "" if there is none.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

// Returns "; did you mean `x`?" with the nearest name, or "" if no name is close enough.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// Returns the `count` candidates nearest to `word`, nearest first, regardless of the distance.
std::vector<std::string> nearest_names(std::string_view word,
                                       const std::vector<std::string>& candidates, size_t count);

// Number of characters of a printable text. This equals its width in a terminal if the text has no
// wide characters.
size_t display_width(std::string_view text);

// Truncates `text` to at most `longest` bytes and appends "..." if something was removed. Never
// splits a UTF-8 character.
std::string shortened(std::string text, size_t longest);

// The length in bytes of the first UTF-8 character of `text`, or 0 if `text` does not start with a
// valid character.
size_t utf8_character_length(std::string_view text);

// Makes untrusted text safe for a terminal. Escapes control characters (C0, DEL, C1), characters
// that change the text direction, invisible characters and line separators as in JSON, for example
// \u001b. Escapes bytes of invalid UTF-8, for example as \xff.
std::string printable(std::string_view text, bool keep_newlines = false);

// Converts `text` to one word of a POSIX shell command, with quotes if necessary.
std::string shell_word(const std::string& text);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace rl_training
