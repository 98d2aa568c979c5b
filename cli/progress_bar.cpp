#include "cli/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);

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

int64_t tenths(const ProgressState& state) {
  return 10 * state.position / std::max<int64_t>(1, state.length);
}

}  // namespace

ProgressBar::ProgressBar(bool quiet)
    : quiet_(quiet),
      terminal_(takes_escapes()),
      unicode_(takes_unicode()),
      started_(Clock::now()) {}

ProgressBar::~ProgressBar() { erase(); }

void ProgressBar::start_with(std::vector<ProgressState::Evaluation> evaluations) {
  state_.evaluations = std::move(evaluations);
}

Callbacks ProgressBar::callbacks() {
  if (quiet_) return {};
  Callbacks callbacks;
  callbacks.on_train_start = [this](const TrainProgress& progress) {
    started_ = Clock::now();
    first_position_ = progress.position;
    move_to(progress);
    told_tenths_ = tenths(state_);
  };
  callbacks.on_collect_end = [this](const TrainProgress& progress) { on_step(progress, nullptr); };
  callbacks.on_update_end = [this](const TrainProgress& progress, const Metrics& metrics) {
    on_step(progress, &metrics);
  };
  callbacks.on_eval_end = [this](const TrainProgress& progress, const EvaluationResult& result) {
    on_evaluation(progress, result);
  };
  callbacks.on_validation_end = [this](const TrainProgress& progress,
                                       const ValidationMetrics& metrics) {
    on_validation(progress, metrics);
  };
  callbacks.on_train_end = [this](const TrainSummary&) { erase(); };
  return callbacks;
}

void ProgressBar::note(const std::string& line) {
  erase();
  write_stderr(printable(line) + "\n");
}

void ProgressBar::move_to(const TrainProgress& progress) {
  state_.position = progress.position;
  state_.length = progress.length;
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  const auto steps = static_cast<double>(progress.position - first_position_);
  state_.rate = seconds > 0 ? steps / seconds : 0;
}

void ProgressBar::on_step(const TrainProgress& progress, const Metrics* metrics) {
  const bool tenth =
      !terminal_ && 10 * progress.position / std::max<int64_t>(1, progress.length) > told_tenths_;
  const auto now = Clock::now();
  const bool redraw = terminal_ && (drawn_lines_ == 0 || now - last_draw_ >= kRedrawInterval);
  if (!tenth && !redraw) return;
  last_draw_ = now;
  move_to(progress);
  if (metrics != nullptr) {
    state_.losses.clear();
    for (const auto& [name, value] : metrics->values()) {
      if (value.defined()) state_.losses.emplace_back(name, value.item<double>());
    }
  }
  if (terminal_) return draw();
  told_tenths_ = tenths(state_);
  write_stderr(losses_text(state_) + "\n");
}

void ProgressBar::on_evaluation(const TrainProgress& progress, const EvaluationResult& result) {
  move_to(progress);
  state_.evaluations.push_back({progress.position, result.return_mean, result.return_std});
  tell(evaluation_text(state_));
}

void ProgressBar::on_validation(const TrainProgress& progress, const ValidationMetrics& metrics) {
  move_to(progress);
  state_.validation.clear();
  metrics.metrics([&](const std::string& name, const std::optional<double>& value) {
    if (value) state_.validation.emplace_back(name.substr(name.find('_') + 1), *value);
  });
  tell(validation_text(state_));
}

// A line that stays.
void ProgressBar::tell(const std::string& line) {
  told_tenths_ = tenths(state_) + 1;  // the next line without an evaluation is not due yet
  erase();
  write_stderr(line + "\n");
  if (terminal_) draw();
}

void ProgressBar::draw() {
  std::string text;
  const auto lines = progress_lines(state_, {terminal_width(), unicode_});
  for (const auto& line : lines) text += (text.empty() ? "" : "\n") + line + "\x1b[K";
  erase();
  write_stderr(text);
  drawn_lines_ = lines.size();
}

void ProgressBar::erase() {
  if (drawn_lines_ == 0) return;
  std::string text = "\r";
  for (size_t i = 1; i < drawn_lines_; ++i) text += "\x1b[A";
  write_stderr(text + "\x1b[J");
  drawn_lines_ = 0;
}

}  // namespace rl_training
