#include "cli/training.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>

#include "cli/output.h"
#include "cli/progress_bar.h"
#include "rl_training/envs/registry.h"
#include "rl_training/runtime/stop_signal.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// The evaluation before the first update: the first row of the metrics, also for a resumed run.
Json metrics_before(const std::string& run_dir) {
  std::ifstream file(run_dir + "/metrics.jsonl");
  std::string line;
  std::getline(file, line);
  auto row = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const bool before = row.is_object() && row.value("update_count", int64_t{-1}) == 0;
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

// An observation such as the environment gives, to try `predict` with.
std::string example_obs(const TrainConfig& config) {
  const auto env = make_environment(config.env_id, config.env);
  std::vector<double> obs(static_cast<size_t>(env->spec().obs_dim));
  Rng rng(0, "example");
  env->reset(rng, obs);
  std::string text;
  for (const double value : obs) text += fmt::format("{}{:.2f}", text.empty() ? "" : ", ", value);
  return "[" + text + "]";
}

// The command that goes on with the run; none where a limit other than its length has ended it.
std::string how_to_go_on(const std::string& resume, const Json& report, const TrainConfig& config) {
  const auto reason = report["stop_reason"].get<std::string>();
  const auto steps = report["global_step"].get<int64_t>();
  if (reason == "signal") return "  " + resume + "\n";
  if (reason != "total_timesteps") return "";
  if (config.goes_online) return fmt::format("  {} --online {}\n", resume, 2 * steps);
  return fmt::format("  {} --total-timesteps {}\n", resume, steps + config.total_timesteps);
}

std::string next_commands(const Invocation& call, const Json& report, const TrainConfig& config) {
  const auto program = shell_word(call.program);
  const auto run = shell_word(report["run_dir"].get<std::string>());
  return fmt::format(
      "next:\n"
      "{2}"
      "  {0} evaluate {1} --episodes 100\n"
      "  {0} predict {1} --obs '{3}'\n"
      "  tensorboard --logdir {1}/tensorboard\n",
      program, run, how_to_go_on(program + " resume " + run, report, config), example_obs(config));
}

std::string summary_text(const Json& report) {
  const auto& metrics = report["metrics"];
  const auto reason = report["stop_reason"].get<std::string>();
  const bool finished = reason != "signal" && reason != "early_stopping";
  const auto& data = report["dataset"];
  std::vector<std::vector<std::string>> rows = {
      {"run directory", report["run_dir"]},
      {"checkpoint", report["checkpoint"]},
      {"updates", fmt::format("{} (stopped by {})", report["update_count"].get<int64_t>(), reason)},
      {"training time", fmt::format("{:.1f} s", report["seconds"].get<double>())}};
  if (metrics.contains("buffer_size")) {
    rows.insert(rows.end() - 1,
                {"environment steps", fmt::format("{}", report["global_step"].get<int64_t>())});
  }
  if (data["return_mean"].is_number() && data["episodes"] != 0) {
    rows.push_back({"dataset return",
                    fmt::format("{:.1f} (mean of {} episodes)", data["return_mean"].get<double>(),
                                data["episodes"].get<int64_t>())});
  }
  const auto add_return = [&](const char* label, const Json& values) {
    const auto text = mean_and_std(values, "eval_return_mean", "eval_return_std");
    if (text != "-") rows.push_back({label, text});
  };
  add_return("before training", report["metrics_before"]);
  add_return(finished ? "after training" : "last evaluation", metrics);
  return text_table(rows);
}

}  // namespace

Json train_and_print(const Invocation& call, bool quiet, const MakeRun& make) {
  ProgressBar bar(quiet);
  RunContext context;
  context.command = call.command_line;
  context.warn = [&bar](const std::string& line) { bar.note(line); };
  const auto run = make(std::move(context));
  if (!quiet) bar.note("run directory: " + run->path());

  const auto started = std::chrono::steady_clock::now();
  const auto result = run->train(bar.callbacks());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;

  auto report = report_of(result, run->dataset(), seconds.count());
  if (result.summary.stop_reason == "signal") {
    bar.note(
        fmt::format("stopped by signal {}; saved {}", StopSignal::received(), result.checkpoint));
  }
  if (!call.json) print(summary_text(report) + next_commands(call, report, run->config()));
  return report;
}

int training_exit_code() { return StopSignal::received() == 0 ? 0 : 128 + StopSignal::received(); }

}  // namespace rl_training
