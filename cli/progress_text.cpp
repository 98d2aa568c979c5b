#include "cli/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr size_t kBarWidth = 20, kNarrowBarWidth = 10, kSparkWidth = 24;
constexpr size_t kPlainWidth = 80;  // width of lines that are not redrawn

std::string short_figure(double value) {
  const double size = std::abs(value);
  return size >= 1e5 || (size > 0 && size < 1e-3) ? fmt::format("{:.2e}", value)
         : size >= 100                            ? fmt::format("{:.1f}", value)
                                                  : fmt::format("{:.3f}", value);
}

std::string bar(double part, size_t width, bool unicode) {
  const auto filled = static_cast<size_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(width));
  std::string text;
  for (size_t i = 0; i < width; ++i) {
    if (unicode) text += i < filled ? "█" : "░";
    if (!unicode) text += i < filled ? '#' : '-';
  }
  return unicode ? text : "[" + text + "]";
}

// Appends a part to a line if it fits. Returns whether it fits.
bool add_part(std::string& line, const std::string& part, size_t width) {
  const std::string gap = line.empty() ? "" : "  ";
  if (display_width(line) + gap.size() + display_width(part) >= width) return false;
  line += gap + part;
  return true;
}

void add_position(std::string& line, const ProgressState& state, size_t bar_width,
                  const TerminalText& terminal) {
  const auto total = static_cast<double>(std::max<int64_t>(1, state.length));
  const double part = static_cast<double>(state.position) / total;
  add_part(line, fmt::format("{:3.0f}%", 100 * part), terminal.width);
  add_part(line, bar(part, bar_width, terminal.unicode), terminal.width);
  add_part(line, fmt::format("{}/{}", state.position, state.length), terminal.width);
  if (state.rate > 0) {
    add_part(line, fmt::format("{:.0f}/s", state.rate), terminal.width);
    add_part(line,
             duration_text((total - static_cast<double>(state.position)) / state.rate) + " left",
             terminal.width);
  }
}

std::string position_line(const ProgressState& state, const TerminalText& terminal) {
  std::string line;
  add_position(line, state, kBarWidth, terminal);
  return line;
}

std::string losses_line(const ProgressState& state, size_t width) {
  std::string line;
  for (const bool loss : {true, false}) {  // losses first
    for (const auto& [name, value] : state.losses) {
      if ((name.find("loss") != std::string::npos) == loss) {
        add_part(line, name + " " + short_figure(value), width);
      }
    }
  }
  return line;
}

std::string evaluation_line(const ProgressState& state, const TerminalText& terminal) {
  std::string line;
  const auto& last = state.evaluations.back();
  const auto* best = state.best();
  add_part(line, fmt::format("eval {:.1f}", last.mean), terminal.width);
  add_part(line, fmt::format("best {:.1f} at step {}", best->mean, best->step), terminal.width);
  std::vector<double> means;
  for (const auto& evaluation : state.evaluations) means.push_back(evaluation.mean);
  add_part(line, sparkline(means, kSparkWidth, terminal.unicode), terminal.width);
  return line;
}

std::string validation_line(const ProgressState& state, size_t width) {
  std::string line = "validation";
  for (const auto& [name, value] : state.validation) {
    add_part(line, name + " " + short_figure(value), width);
  }
  return line;
}

std::string step_text(const ProgressState& state) {
  const auto text = fmt::format("step {}/{}", state.position, state.length);
  return state.rate > 0 ? text + fmt::format("  {:.0f}/s", state.rate) : text;
}

}  // namespace

const ProgressState::Evaluation* ProgressState::best() const {
  const Evaluation* best = nullptr;
  for (const auto& evaluation : evaluations) {
    if (best == nullptr || evaluation.mean > best->mean) best = &evaluation;
  }
  return best;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const auto hours = whole / 3600, minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string sparkline(std::span<const double> values, size_t width, bool unicode) {
  static constexpr const char* kUnicode[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr const char* kPlain[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
  if (values.empty()) return "";
  const auto shown = values.last(std::min(width, values.size()));
  const auto [low, high] = std::minmax_element(shown.begin(), shown.end());
  std::string text;
  for (const double value : shown) {
    const double part = *high > *low ? (value - *low) / (*high - *low) : 0.5;
    const auto height =
        std::isfinite(part) ? std::min<size_t>(7, static_cast<size_t>(part * 8)) : 0;
    text += unicode ? kUnicode[height] : kPlain[height];
  }
  return text;
}

std::vector<std::string> progress_lines(const ProgressState& state, const TerminalText& terminal) {
  std::vector<std::string> lines = {position_line(state, terminal)};
  const auto losses = losses_line(state, terminal.width);
  if (!losses.empty()) lines.push_back(losses);
  if (!state.evaluations.empty()) {
    lines.push_back(evaluation_line(state, terminal));
  } else if (!state.validation.empty()) {
    lines.push_back(validation_line(state, terminal.width));
  }
  return lines;
}

std::string run_line(const std::string& name, size_t name_width, const ProgressState& state,
                     const TerminalText& terminal) {
  std::string line = shortened(printable(name), name_width);
  line.resize(std::max(line.size(), name_width), ' ');
  add_position(line, state, kNarrowBarWidth, terminal);
  if (!state.evaluations.empty()) {
    add_part(line, "eval " + short_figure(state.evaluations.back().mean), terminal.width);
  }
  return line;
}

std::string losses_text(const ProgressState& state) {
  const auto line = step_text(state);
  const auto losses = losses_line(state, kPlainWidth - std::min<size_t>(40, line.size()));
  return losses.empty() ? line : line + "  " + losses;
}

std::string validation_text(const ProgressState& state) {
  auto text = step_text(state) + "  validation";
  size_t used = text.size();
  for (const auto& [name, value] : state.validation) {
    const auto part = "  " + name + " " + short_figure(value);
    const bool fits = used + part.size() < kPlainWidth;
    text += (fits ? "" : "\n  ") + part;
    used = (fits ? used : 2) + part.size();
  }
  return text;
}

std::string evaluation_text(const ProgressState& state) {
  const auto& last = state.evaluations.back();
  const auto line =
      fmt::format("{}  eval return {:.1f} +- {:.1f}", step_text(state), last.mean, last.std);
  return state.best() == &last && state.evaluations.size() > 1 ? line + "  best" : line;
}

}  // namespace rl_training
