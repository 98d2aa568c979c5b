#pragma once
#include <string>
#include <vector>

#include "cli/progress_text.h"

namespace rl_training {

// Shows a few lines on stderr that are redrawn in place, with permanent lines above them. If stderr
// is not a terminal, prints only the permanent lines.
class TerminalView {
 public:
  TerminalView();
  ~TerminalView();  // erases the view
  TerminalView(const TerminalView&) = delete;
  TerminalView& operator=(const TerminalView&) = delete;

  bool is_terminal() const { return terminal_; }
  TerminalText text() const;
  bool drawn() const { return drawn_lines_ > 0; }

  // Each line must be shorter than the width of the terminal, because a wrapped line could not be
  // erased.
  void draw(const std::vector<std::string>& lines);
  void erase();
  // Prints a permanent line. Erases the view until the next draw().
  void add_line(const std::string& line);

 private:
  bool terminal_, unicode_;
  size_t drawn_lines_ = 0;
};

}  // namespace rl_training
