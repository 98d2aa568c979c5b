#include "cli/many_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "cli/output.h"
#include "cli/signal_thread.h"
#include "cli/terminal_view.h"
#include "cli/training.h"
#include "rl_training/report/tables.h"
#include "rl_training/sweep/run_finder.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr size_t kLongestName = 24;
constexpr auto kViewInterval = std::chrono::milliseconds(500);
using Clock = std::chrono::steady_clock;

// Shows all runs on stderr: a permanent line for each finished run and, below these lines, the runs
// in progress.
class ManyRunsView {
 public:
  ManyRunsView(const std::vector<const PlannedRun*>& runs, size_t done_before, bool quiet)
      : runs_(runs), done_(done_before), total_(runs.size() + done_before), quiet_(quiet) {
    for (const auto* run : runs) width_ = std::max(width_, run->name.size());
    width_ = std::min(width_, kLongestName);
  }

  void started(size_t job) {
    running_.push_back({job, std::nullopt, {}, Clock::now(), -1});
    running_.back().state.length = length_of(runs_[job]->config);
    if (!quiet_ && !view_.is_terminal()) view_.add_line(name_of(job) + "  started");
  }

  void ended(size_t job, const JobResult& result) {
    std::erase_if(running_, [job](const RunningRun& run) { return run.job == job; });
    result.exit_code == 0 ? ++done_ : result.stopped() ? ++stopped_ : ++failed_;
    for (const auto& warning : result.warnings) {
      // Print each warning once: warnings about the data are the same for all runs.
      if (told_.insert(warning).second) view_.add_line(printable(warning));
    }
    if (result.exit_code != 0 && !result.stopped()) {
      view_.add_line(name_of(job) + "  failed: " + printable(error_text(result)));
    } else if (!quiet_) {
      view_.add_line(name_of(job) + "  " + end_text(result));
    }
  }

  void tick() {
    if (quiet_ || !view_.is_terminal() || Clock::now() - last_draw_ < kViewInterval) return;
    last_draw_ = Clock::now();
    const auto text = view_.text();
    std::vector<std::string> lines;
    for (auto& run : running_) {
      look_at(run);
      lines.push_back(run_line(runs_[run.job]->name, width_, run.state, text));
    }
    lines.push_back(shortened(counts_text(), text.width - 1));
    view_.draw(lines);
  }

  std::string counts_text() const {
    auto text = fmt::format("{} of {} runs done", done_, total_);
    if (failed_ > 0) text += fmt::format(", {} failed", failed_);
    if (stopped_ > 0) text += fmt::format(", {} stopped", stopped_);
    return text + fmt::format(", {} running", running_.size());
  }

  static std::string error_text(const JobResult& result) {
    if (!result.report.is_object() || !result.report.contains("error")) {
      return fmt::format("exit code {}", result.exit_code);
    }
    const auto& error = result.report["error"];
    std::string place;
    for (const char* part : {"file", "key"}) {
      if (error.contains(part) && error[part].is_string()) {
        place += error[part].get<std::string>() + ": ";
      }
    }
    return place + error.value("message", "");
  }

 private:
  struct RunningRun {
    size_t job;
    std::optional<MetricTail> rows;
    ProgressState state;
    Clock::time_point started;
    int64_t first_position;  // -1 until the run directory exists
  };

  std::string name_of(size_t job) const {
    return fmt::format("{:<{}}", shortened(printable(runs_[job]->name), width_), width_);
  }

  static std::string end_text(const JobResult& result) {
    const auto& report = result.report;
    const bool known = report.is_object() && report.contains("update_count");
    auto reason = known ? report.value("stop_reason", "") : std::string("stopped");
    auto text = reason == "signal" ? std::string("stopped") : reason == "paused" ? reason : "done";
    if (!known) return reason;
    text += fmt::format("  {} updates", report["update_count"].get<int64_t>());
    const auto value = mean_and_std(report["metrics"], "eval_return_mean", "eval_return_std");
    if (value != "-") text += "  eval return " + value;
    return text + "  " + duration_text(result.seconds);
  }

  void look_at(RunningRun& run) {
    const auto& planned = *runs_[run.job];
    if (!run.rows) {
      const auto path = find_run(posix_file_system(), planned.config, planned.from);
      if (path.empty()) return;
      run.rows.emplace(path);
    }
    run.rows->update();
    run.state.position = position_in(run.rows->last_row(), planned.config);
    if (run.first_position < 0) {
      run.first_position = run.state.position;
      run.started = Clock::now();
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - run.started).count();
    const auto steps = static_cast<double>(run.state.position - run.first_position);
    run.state.rate = seconds > 0 ? steps / seconds : 0;
    if (const auto value = run.rows->newest("eval_return_mean")) {
      run.state.evaluations = {{0, *value, 0}};
    }
  }

  const std::vector<const PlannedRun*>& runs_;
  size_t done_, total_, failed_ = 0, stopped_ = 0, width_ = 0;
  bool quiet_;
  TerminalView view_;
  std::vector<RunningRun> running_;
  std::set<std::string> told_;
  Clock::time_point last_draw_;
};

Json failure(const std::string& name, const JobResult& result) {
  Json report = {{"name", name},
                 {"exit_code", result.exit_code < 0 ? Json() : Json(result.exit_code)}};
  if (result.report.is_object() && result.report.contains("error")) {
    report["error"] = result.report["error"];
  }
  return report;
}

int exit_code_of(const JobResult& result) {
  // A code above 128 means that the process was killed from outside, for example by the
  // out-of-memory killer. For such a run, this program ends with exit code 1.
  return result.exit_code > 128 ? 1 : std::max(0, result.exit_code);
}

}  // namespace

size_t job_count(int64_t jobs, size_t threads) {
  if (jobs > 0) return static_cast<size_t>(jobs);
  return std::max<size_t>(1, usable_cores().size() / std::max<size_t>(1, threads));
}

void print_runs_report(const std::vector<Json>& reports) {
  std::vector<std::string> paths;
  for (const auto& report : reports) {
    if (report.is_object() && report.contains("run_dir")) {
      paths.push_back(report["run_dir"].get<std::string>());
    }
  }
  if (paths.empty()) return;
  const auto report = make_report(read_runs(posix_file_system(), paths, print_note), {});
  for (const auto& note : report.notes) print_note(note);
  print(report_text(report, text_width()));
}

ManyRunsResult train_many(const Invocation& call, const std::vector<PlannedRun>& runs,
                          const ManyRunsOptions& options) {
  auto& requests = call.signals->begin_training();
  ManyRunsResult all;
  all.reports.resize(runs.size());
  std::vector<size_t> places;  // index of each job in `runs`
  std::vector<const PlannedRun*> left;
  std::vector<Job> jobs;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto status = status_of(posix_file_system(), runs[i], options.pause_at);
    if (status.state == RunStatus::State::done) {
      all.reports[i] = report_of(*status.record);
      continue;
    }
    places.push_back(i);
    left.push_back(&runs[i]);
    jobs.push_back({runs[i].name, runs[i].arguments});
    if (options.pause_at) {
      auto& words = jobs.back().arguments;
      words.insert(words.end(), {"--pause-at", std::to_string(*options.pause_at)});
    }
  }
  const size_t skipped = runs.size() - jobs.size();
  if (skipped > 0 && !options.quiet) {
    print_note(fmt::format("{} of {} runs are already done", skipped, runs.size()));
  }
  ManyRunsView view(left, skipped, options.quiet);
  JobEvents events;
  events.started = [&](size_t job) { view.started(job); };
  events.ended = [&](size_t job, const JobResult& result) { view.ended(job, result); };
  events.tick = [&] { view.tick(); };
  const auto results = run_jobs(jobs, options.jobs, requests, events);
  for (size_t job = 0; job < results.size(); ++job) {
    const auto& result = results[job];
    const bool trained = result.report.is_object() && result.report.contains("run_dir");
    all.reports[places[job]] = trained ? result.report : failure(jobs[job].name, result);
    if (all.exit_code == 0 && !trained) all.exit_code = exit_code_of(result);
  }
  if (const int signal = requests.stop()) all.exit_code = 128 + signal;
  return all;
}

}  // namespace rl_training
