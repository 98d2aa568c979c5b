#include "cli/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "cli/output.h"
#include "cli/progress_bar.h"
#include "cli/signal_thread.h"
#include "rl_training/envs/registry.h"
#include "rl_training/experiment/session_end.h"
#include "rl_training/report/run_record.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// The evaluation before the first update, read from the first row of the metrics. A resumed run
// keeps this row. Returns {} if there was no such evaluation.
Json metrics_before(const std::string& run_dir) {
  std::ifstream file(run_dir + "/metrics.jsonl");
  std::string line;
  std::getline(file, line);
  auto row = parse_untrusted_json(line);
  const bool before = row.is_object() && row.contains("update_count") && row["update_count"] == 0;
  return before ? row : Json::object();
}

Json report_of(const RunResult& result, const DatasetFacts& dataset, double seconds) {
  return {{"run_dir", result.run_dir},
          {"checkpoint", result.checkpoint},
          {"update_count", result.summary.update_count},
          {"global_step", result.summary.global_step},
          {"stop_reason", result.summary.stop_reason},
          {"metrics", result.summary.metrics},
          {"metrics_before", metrics_before(result.run_dir)},
          {"dataset",
           {{"rows", dataset.rows},
            {"episodes", dataset.episodes},
            {"return_mean", json_number(dataset.mean_return)}}},
          {"seconds", seconds}};
}

// An example observation for `predict`.
std::string example_obs(const TrainConfig& config, const DatasetFacts& dataset) {
  std::vector<double> obs(dataset.first_obs.begin(), dataset.first_obs.end());
  if (config.has_environment()) {
    const auto env = make_environment(config.env_id, config.env);
    obs.resize(static_cast<size_t>(env->spec().observation.size()));
    Rng rng(0, "example");
    env->reset(rng, obs);
  }
  std::string text;
  for (const double value : obs) text += fmt::format("{}{:.2f}", text.empty() ? "" : ", ", value);
  return "[" + text + "]";
}

// The command that continues the run. Returns "" if the run has ended and cannot be extended, for
// example after early stopping.
std::string how_to_go_on(const std::string& resume, const Json& report, const TrainConfig& config) {
  const auto reason = report["stop_reason"].get<std::string>();
  const auto steps = report["global_step"].get<int64_t>();
  if (reason == "signal" || reason == "paused") return "  " + resume + "\n";
  if (reason != "total_timesteps") return "";
  if (config.online.used) return fmt::format("  {} --online {}\n", resume, 2 * steps);
  return fmt::format("  {} --total-timesteps {}\n", resume, steps + config.total_timesteps);
}

// Commands to try next. They use the best checkpoint if the run was evaluated. The run's path is in
// a shell variable, because commands with the full path would not fit on one line.
std::string next_commands(const Invocation& call, const Json& report, const RunRecord& record,
                          const Run& trained) {
  const auto& config = trained.config();
  const auto program = shell_word(call.program);
  const auto run = report["run_dir"].get<std::string>();
  const bool has_best = std::find(record.checkpoints.begin(), record.checkpoints.end(), "best") !=
                        record.checkpoints.end();
  const auto word = shell_word(run);
  const std::string variable = word == run ? "$RUN" : "\"$RUN\"";
  const auto policy = has_best ? variable + "/checkpoints/best" : variable;
  const auto evaluate = config.has_environment()
                            ? fmt::format("  {} evaluate {} --episodes 100\n", program, policy)
                            : "";
  return fmt::format(
      "next:\n"
      "  RUN={6}\n"
      "{3}{5}"
      "  {0} predict {2} --obs '{4}'\n"
      "  {0} report {1} --output report.html\n"
      "  tensorboard --logdir {1}/tensorboard\n",
      program, variable, policy, how_to_go_on(program + " resume " + variable, report, config),
      example_obs(config, trained.dataset()), evaluate, word);
}

// "-231.4 at update 400  (checkpoints/best)". Omits the checkpoint if it does not exist.
std::string evaluation_row(const CurvePoint& point, const RunRecord& record,
                           const std::string& checkpoint) {
  const bool there = std::find(record.checkpoints.begin(), record.checkpoints.end(), checkpoint) !=
                     record.checkpoints.end();
  return fmt::format("{:.1f} at {} {}{}", point.value, point.online ? "environment step" : "update",
                     point.step, there ? "  (checkpoints/" + checkpoint + ")" : "");
}

void add_evaluations(const RunRecord& record, const std::string& last_checkpoint,
                     std::vector<std::vector<std::string>>& rows) {
  const CurvePoint* best = nullptr;
  for (const auto& point : record.evaluations) {
    if (point.step > 0 && (best == nullptr || point.value > best->value)) best = &point;
  }
  if (best == nullptr) return;
  rows.push_back({"best evaluation", evaluation_row(*best, record, "best")});
  // The last checkpoint may be newer than the last evaluation, for example after a signal. It then
  // does not contain the evaluated policy, so its name is omitted.
  const auto& last = record.evaluations.back();
  const auto name = last_checkpoint.substr(last_checkpoint.rfind('/') + 1);
  const auto position = last.step + (last.online ? record.planned_updates : 0);
  const bool evaluated = name == fmt::format("step-{:09}", position);
  rows.push_back({"last evaluation", evaluation_row(last, record, evaluated ? name : "")});
}

// Adds the last measurement on held-out episodes.
void add_validation(const Json& metrics, std::vector<std::vector<std::string>>& rows) {
  ValidationMetrics{}.metrics([&](const std::string& name, const std::optional<double>&) {
    if (!metrics.contains(name) || !metrics[name].is_number()) return;
    auto title = name;
    std::replace(title.begin(), title.end(), '_', ' ');
    rows.push_back({title, fmt::format("{:.4g}", metrics[name].get<double>())});
  });
}

// Makes `path` relative to `directory`. Returns a path outside `directory` unchanged.
std::string below(const std::string& directory, const std::string& path) {
  return path.starts_with(directory + "/") ? path.substr(directory.size() + 1) : path;
}

std::string summary_text(const Json& report, const RunRecord& record) {
  const auto reason = report["stop_reason"].get<std::string>();
  const auto& data = report["dataset"];
  std::vector<std::vector<std::string>> rows = {
      {"run directory", report["run_dir"]},
      {"checkpoint", below(report["run_dir"], report["checkpoint"])},
      {"updates", fmt::format("{} (stopped by {})", report["update_count"].get<int64_t>(), reason)},
      {"training time", fmt::format("{:.1f} s", report["seconds"].get<double>())}};
  if (report["metrics"].contains("buffer_size")) {
    rows.insert(rows.end() - 1,
                {"environment steps", fmt::format("{}", report["global_step"].get<int64_t>())});
  }
  if (data["return_mean"].is_number() && data["episodes"] != 0) {
    rows.push_back({"dataset return",
                    fmt::format("{:.1f} (mean of {} episodes)", data["return_mean"].get<double>(),
                                data["episodes"].get<int64_t>())});
  }
  const auto before = mean_and_std(report["metrics_before"], "eval_return_mean", "eval_return_std");
  if (before != "-") rows.push_back({"before training", before});
  add_evaluations(record, report["checkpoint"].get<std::string>(), rows);
  add_validation(report["metrics"], rows);
  return text_table(rows);
}

std::vector<ProgressState::Evaluation> evaluations_so_far(const std::string& run_dir) {
  std::vector<ProgressState::Evaluation> evaluations;
  for (const auto& point : read_run(posix_file_system(), run_dir).evaluations) {
    evaluations.push_back({point.step, point.value, 0});
  }
  return evaluations;
}

}  // namespace

Json report_of(const RunRecord& record) {
  Json metrics = Json::object();
  for (const auto& [name, value] : record.last_metrics) metrics[name] = value;
  const auto checkpoint =
      record.checkpoints.empty() ? "" : record.path + "/checkpoints/" + record.checkpoints.back();
  return {
      {"run_dir", record.path},
      {"checkpoint", checkpoint},
      {"update_count", record.updates},
      {"global_step", record.has_online ? record.env_steps : record.updates},
      {"stop_reason", record.stop_reason},
      {"metrics", metrics},
      {"metrics_before", metrics_before(record.path)},
      {"dataset",
       {{"rows", record.dataset.rows},
        {"episodes", record.dataset.episodes},
        {"return_mean", record.dataset.return_mean ? Json(*record.dataset.return_mean) : Json()}}},
      {"seconds", record.seconds}};
}

Json train_and_print(const Invocation& call, const TrainingOptions& options, const MakeRun& make) {
  auto& requests = call.signals->begin_training();
  const bool quiet = options.quiet;
  ProgressBar bar(quiet);
  RunContext context;
  context.command = call.command_line;
  context.processes = options.processes;
  context.warn = [&bar](const std::string& line) { bar.note(line); };
  const auto run = make(std::move(context));
  if (!quiet) bar.note("run directory: " + run->path());
  bar.start_with(evaluations_so_far(run->path()));

  const auto started = std::chrono::steady_clock::now();
  auto callbacks = bar.callbacks();
  if (options.pause_at) {
    callbacks.on_row = [&](const TrainProgress& progress, const Json&) {
      return progress.position < *options.pause_at || progress.position >= progress.length;
    };
  }
  auto result = run->train(callbacks, &requests);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;

  if (result.summary.stop_reason == "callback") {
    result.summary.stop_reason = "paused";
    record_session_end(posix_file_system(), result.run_dir + "/metadata.json", "paused");
  }
  auto report = report_of(result, run->dataset(), seconds.count());
  if (result.summary.stop_reason == "signal") {
    report["signal"] = result.summary.signal;
    bar.note(
        fmt::format("stopped by signal {}; saved {}", result.summary.signal, result.checkpoint));
  }
  if (!call.json) {
    const auto record = read_run(posix_file_system(), result.run_dir);
    const auto next =
        options.next_commands ? next_commands(call, report, record, *run) : std::string("\n");
    print(summary_text(report, record) + next);
  }
  return report;
}

int train_as_helper(const Invocation& call, const MakeWorker& make, ProcessGroup& processes) {
  auto& requests = call.signals->begin_training();
  RunContext context;
  context.processes = &processes;
  const auto summary = make(std::move(context))->train(&requests);
  return summary.signal == 0 ? 0 : 128 + summary.signal;
}

int training_exit_code(const Invocation& call, const Json& reports, size_t runs) {
  const bool complete = reports.size() == runs && reports.back()["stop_reason"] != "signal";
  if (complete) return 0;
  const int signal = call.signals->stop();
  return 128 + (signal != 0 ? signal : reports.back().value("signal", 0));
}

}  // namespace rl_training
