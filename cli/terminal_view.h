#pragma once
#include <string>
#include <vector>

#include "cli/progress_text.h"

namespace rl_training {

// stderr as a place for a view of a few lines that is drawn over itself, with lines above it that
// stay. Where stderr is no terminal there are only those.
class TerminalView {
 public:
  TerminalView();
  ~TerminalView();  // leaves no view behind
  TerminalView(const TerminalView&) = delete;
  TerminalView& operator=(const TerminalView&) = delete;

  bool is_terminal() const { return terminal_; }
  TerminalText text() const;
  bool drawn() const { return drawn_lines_ > 0; }

  // Each line shorter than the terminal is wide: a wrapped one could not be erased.
  void draw(const std::vector<std::string>& lines);
  void erase();
  // The view is gone then, until it is drawn again.
  void add_line(const std::string& line);

 private:
  bool terminal_, unicode_;
  size_t drawn_lines_ = 0;
};

}  // namespace rl_training
