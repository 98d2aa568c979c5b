#include "cli/terminal_view.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace rl_training {
namespace {

size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool takes_escapes() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string(kind) != "dumb";
}

bool takes_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string text = value;
    return text.find("UTF-8") != std::string::npos || text.find("utf8") != std::string::npos;
  }
  return false;
}

void write_stderr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

TerminalView::TerminalView() : terminal_(takes_escapes()), unicode_(takes_unicode()) {}

TerminalView::~TerminalView() { erase(); }

TerminalText TerminalView::text() const { return {terminal_width(), unicode_}; }

void TerminalView::draw(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += (text.empty() ? "" : "\n") + line + "\x1b[K";
  erase();
  write_stderr(text);
  drawn_lines_ = lines.size();
}

void TerminalView::erase() {
  if (drawn_lines_ == 0) return;
  std::string text = "\r";
  for (size_t i = 1; i < drawn_lines_; ++i) text += "\x1b[A";
  write_stderr(text + "\x1b[J");
  drawn_lines_ = 0;
}

void TerminalView::add_line(const std::string& line) {
  erase();
  write_stderr(line + "\n");
}

}  // namespace rl_training
