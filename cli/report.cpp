#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "cli/arguments.h"
#include "cli/greedy_policy.h"
#include "cli/output.h"
#include "cli/signal_thread.h"
#include "cli/tensor_commands.h"
#include "rl_training/envs/registry.h"
#include "rl_training/render/film.h"
#include "rl_training/report/html.h"
#include "rl_training/report/plot.h"
#include "rl_training/report/tables.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr int kReloadSeconds = 10;
constexpr auto kWatchPause = std::chrono::milliseconds(200);
constexpr int kPausesBetweenLooks = 10;
constexpr int64_t kFilmWidth = 320;

struct ReportArguments {
  std::vector<std::string> runs, by, filters, metrics;
  std::string format, output, plot;
  bool last = false, best = false, watch = false, episode = false;
  NumberArgument at;
};

ReportOptions options_of(const ReportArguments& arguments) {
  ReportOptions options;
  options.by = arguments.by;
  options.filters = arguments.filters;
  if (arguments.best) options.choice.pick = EvaluationChoice::Pick::best;
  if (arguments.at.given()) {
    options.choice = {EvaluationChoice::Pick::at, arguments.at.read("--at", at_least(0))};
  }
  return options;
}

void check_report_arguments(const ReportArguments& arguments) {
  if (!arguments.output.empty() && !arguments.output.ends_with(".html")) {
    throw Error(ErrorKind::config, {arguments.output, 0, "--output"},
                "unknown report format (expected a name that ends in .html; text, markdown, csv "
                "and json go to stdout with --format)");
  }
  if (!arguments.metrics.empty() && arguments.plot.empty()) {
    throw Error(ErrorKind::config, {"", 0, "--metric"}, "needs --plot FILE");
  }
  if (arguments.output.empty() && (arguments.watch || arguments.episode)) {
    throw Error(ErrorKind::config, {"", 0, arguments.watch ? "--watch" : "--episode"},
                "needs --output FILE.html");
  }
}

void write_page(const Report& report, const ReportArguments& arguments, const Invocation& call,
                bool reload) {
  PageOptions page;
  page.program = call.program;
  page.made_at = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)));
  page.reload_seconds = reload ? kReloadSeconds : 0;
  // With --watch, only the final page contains episodes, because playing one takes seconds.
  for (size_t i = 0; arguments.episode && !reload && i < report.tasks.size(); ++i) {
    if (auto film = tensor_commands(call).film(report.tasks[i])) page.films[i] = std::move(*film);
  }
  write_file_atomically(posix_file_system(), arguments.output, report_html(report, page));
}

void print_report(const Report& report, const std::string& format) {
  if (format == "json") return print_json(report_json(report));
  print(format == "markdown" ? report_markdown(report)
        : format == "csv"    ? report_csv(report)
                             : report_text(report, text_width()));
}

bool any_running(const Report& report) {
  for (const auto& task : report.tasks) {
    for (const auto& group : task.groups) {
      if (group.count(RunState::running) > 0) return true;
    }
  }
  return false;
}

Report read_report(const ReportArguments& arguments, bool quiet) {
  const auto warn = [quiet](const std::string& line) {
    if (!quiet) print_note(line);
  };
  auto report =
      make_report(read_runs(posix_file_system(), arguments.runs, warn), options_of(arguments));
  for (const auto& note : report.notes) warn(note);
  return report;
}

// Rewrites the page until no run is training or a signal arrives.
Report watch(const ReportArguments& arguments, const Invocation& call) {
  const StopRequests& requests = call.signals->begin_training();
  for (bool first = true;; first = false) {
    auto report = read_report(arguments, /*quiet=*/!first);
    const bool again = any_running(report) && requests.stop() == 0;
    write_page(report, arguments, call, /*reload=*/again);
    if (!again) return report;
    if (first) print_note("rewriting " + arguments.output + " while runs are training");
    for (int i = 0; i < kPausesBetweenLooks && requests.stop() == 0; ++i) {
      std::this_thread::sleep_for(kWatchPause);
    }
  }
}

int run_report(const ReportArguments& arguments, const Invocation& call) {
  check_report_arguments(arguments);
  // tensor_commands() may start another program, so it must be called before any output.
  if (arguments.episode) tensor_commands(call);
  const bool page = !arguments.output.empty();
  const auto report =
      arguments.watch ? watch(arguments, call) : read_report(arguments, /*quiet=*/false);
  if (page && !arguments.watch) write_page(report, arguments, call, /*reload=*/false);
  if (!arguments.plot.empty()) write_plot(report, arguments.plot, arguments.metrics);
  if (call.json) {
    print_report(report, "json");
  } else if (!arguments.format.empty()) {
    print_report(report, arguments.format);
  } else if (page || !arguments.plot.empty()) {
    if (page) print("report  " + arguments.output + "\n");
    if (!arguments.plot.empty()) print("plot    " + arguments.plot + "\n");
  } else {
    print_report(report, "text");
  }
  return 0;
}

}  // namespace

// Renders an episode with the best checkpoint of the best run in the task's best group. Returns
// nullopt if there is no such run or checkpoint. If the episode cannot be rendered, prints a
// warning and returns nullopt.
std::optional<std::string> film_of(const ReportTask& task) {
  const auto& group = task.groups.front();
  const RunRecord* best = nullptr;
  std::optional<double> value;
  for (size_t i = 0; i < group.runs.size(); ++i) {
    if (!group.values[i] || (value && *group.values[i] <= *value)) continue;
    value = group.values[i];
    best = &group.runs[i];
  }
  if (best == nullptr || best->checkpoints.empty()) return std::nullopt;
  try {
    const auto& names = best->checkpoints;
    const auto& name = names.front() == "best" ? names.front() : names.back();
    auto policy = load_policy(best->path + "/checkpoints/" + name, {.warn = print_note});
    FilmOptions film;
    film.seed = static_cast<uint64_t>(policy.config().eval_seed);
    film.width = kFilmWidth;
    const auto env = policy.make_own_environment("an episode");
    return film_gif(*env, greedy_policy(policy), film);
  } catch (const Error& error) {
    print_note(fmt::format("warning: no episode of {}: {}", printable(task.name()), error.what()));
    return std::nullopt;
  }
}

void add_report(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<ReportArguments>();
  auto* command = add_command(
      program, call, "report", "Compare runs: curves, intervals over seeds, differences in config",
      "  rl_training report runs\n"
      "  rl_training report runs --output report.html\n"
      "  rl_training report runs --filter algo=td3_bc --at 5000 --format csv\n"
      "  rl_training report runs --by learning_rate --plot curves.svg",
      [arguments, &call] { return run_report(*arguments, call); });
  command->add_option("RUN", arguments->runs, "run directories, or directories with runs in them")
      ->required()
      ->type_name("");
  command
      ->add_option("--output", arguments->output,
                   "one HTML file with curves, tables, configs and commands")
      ->type_name("FILE.html");
  command->add_flag("--watch", arguments->watch, "rewrite the page while runs are training");
  command->add_flag("--episode", arguments->episode,
                    "add an episode of the best run, if the task can be drawn");
  command->add_option("--plot", arguments->plot, "learning curves as a picture")
      ->type_name("FILE.svg|png");
  command
      ->add_option("--metric", arguments->metrics,
                   "draw this metric instead of returns and validation; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME");
  command->add_option("--format", arguments->format, "output format: text, markdown, csv or json")
      ->check(CLI::IsMember({"text", "markdown", "csv", "json"}))
      ->type_name("NAME");
  command
      ->add_option("--by", arguments->by,
                   "group by this key instead of by all keys that differ; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY");
  command->add_option("--filter", arguments->filters, "only runs with this value; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  auto* last = command->add_flag("--last", arguments->last, "compare last evaluations (default)");
  auto* best =
      command->add_flag("--best", arguments->best,
                        "compare best evaluations (selected after the fact, so optimistic)");
  auto* at = command->add_option("--at", arguments->at.text, "compare evaluations at this step")
                 ->type_name("STEP");
  best->excludes(last);
  at->excludes(last)->excludes(best);
}

}  // namespace rl_training
