#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr int kBarWidth = 10;

size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  const auto hours = whole / 3600, minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

void write_stderr(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

ProgressBar::ProgressBar(bool quiet)
    : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1), started_(Clock::now()) {}

ProgressBar::~ProgressBar() { erase(); }

Callbacks ProgressBar::callbacks() {
  if (quiet_) return {};
  Callbacks callbacks;
  callbacks.on_train_start = [this](const TrainProgress& progress) {
    started_ = Clock::now();
    first_update_ = progress.position;
  };
  callbacks.on_update_end = [this](const TrainProgress& progress, const Metrics&) {
    on_update(progress);
  };
  callbacks.on_eval_end = [this](const TrainProgress& progress, const EvaluationResult& result) {
    on_evaluation(progress, result);
  };
  callbacks.on_train_end = [this](const TrainSummary&) { erase(); };
  return callbacks;
}

void ProgressBar::note(const std::string& line) {
  erase();
  write_stderr(printable(line) + "\n");
}

void ProgressBar::on_update(const TrainProgress& progress) {
  if (!terminal_) return;
  const auto now = Clock::now();
  if (drawn_ && now - last_draw_ < kRedrawInterval) return;
  last_draw_ = now;
  draw(progress);
}

void ProgressBar::on_evaluation(const TrainProgress& progress, const EvaluationResult& result) {
  evaluation_ = fmt::format("{:.1f} +- {:.1f}", result.return_mean, result.return_std);
  if (terminal_) return draw(progress);
  const double speed = rate(progress);
  write_stderr(fmt::format("step {}/{}  {}eval return {}\n", progress.position, progress.length,
                           speed > 0 ? fmt::format("{:.0f}/s  ", speed) : "", evaluation_));
}

double ProgressBar::rate(const TrainProgress& progress) const {
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  return seconds > 0 ? static_cast<double>(progress.position - first_update_) / seconds : 0;
}

void ProgressBar::draw(const TrainProgress& progress) {
  const auto total = std::max<int64_t>(1, progress.length);
  const double part = static_cast<double>(progress.position) / static_cast<double>(total);
  const auto filled = static_cast<size_t>(part * kBarWidth);
  std::string text = fmt::format("{:3.0f}% [{:<{}}] {}/{}", 100 * part, std::string(filled, '#'),
                                 kBarWidth, progress.position, progress.length);
  if (const double speed = rate(progress); speed > 0) {
    text += fmt::format("  {:.0f}/s  {} left", speed,
                        duration_text(static_cast<double>(total - progress.position) / speed));
  }
  if (!evaluation_.empty()) text += "  eval " + evaluation_;
  text.resize(std::min(text.size(), terminal_width() - 1));  // a wrapped line cannot be erased
  write_stderr("\r" + text + "\x1b[K");
  drawn_ = true;
}

void ProgressBar::erase() {
  if (drawn_) write_stderr("\r\x1b[K");
  drawn_ = false;
}

}  // namespace rl_training
