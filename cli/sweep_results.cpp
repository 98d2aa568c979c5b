#include "cli/sweep_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output.h"
#include "rl_training/report/group_key.h"
#include "rl_training/report/tables.h"
#include "rl_training/sweep/child_process.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

struct TrialResult {
  size_t trial = 0;
  std::optional<double> value;
  std::optional<int64_t> stopped_at;  // position at which halving paused the trial
  std::vector<std::string> runs;      // directories of the runs that have started
  size_t done = 0;
};

// Uses `select` to estimate the value of each run's newest policy. A path is "" if its run has not
// reached the end of the round; such a run gets no value.
TrialValues selection_values(const SweepDirectory& sweep, const std::vector<std::string>& paths,
                             const std::string& output) {
  TrialValues values(paths.size());
  std::vector<std::string> words = {"select"};
  for (const auto& path : paths) {
    if (!path.empty()) words.push_back(path);
  }
  if (words.size() == 1) return values;
  words.insert(words.end(), {"--updates", std::to_string(sweep.selection_updates()), "--output",
                             output, "--json"});
  print_note("evaluating the policies on logged data ...");
  ChildProcess process(words, output + ".log");
  const int code = process.wait();
  if (code != 0) {
    const bool known = code >= 1 && code <= 6;
    throw Error(known ? static_cast<ErrorKind>(code) : ErrorKind::internal,
                "select: " + process.error_line());
  }
  const auto text = process.output();
  const auto begin = text.rfind("\n{");
  const auto json = parse_untrusted_json(text.substr(begin == std::string::npos ? 0 : begin + 1));
  for (const auto& policy : json.at("policies")) {
    const auto run = policy.at("run").get<std::string>();
    for (size_t i = 0; i < paths.size(); ++i) {
      if (!paths[i].empty() && run.starts_with(paths[i])) values[i] = policy.at("value");
    }
  }
  return values;
}

// The results of all trials, best first. A trial that halving paused ranks below trials that were
// trained longer.
std::vector<TrialResult> results_of(const SweepDirectory& sweep) {
  std::vector<TrialResult> results;
  std::vector<bool> listed(sweep.trial_count());
  const auto add = [&](const std::vector<size_t>& trials, const TrialValues& values,
                       std::optional<int64_t> stopped_at) {
    for (const size_t trial : ranked(trials, values, sweep.mode())) {
      if (listed[trial]) continue;
      listed[trial] = true;
      const auto place = std::find(trials.begin(), trials.end(), trial) - trials.begin();
      TrialResult result{trial, values[static_cast<size_t>(place)], stopped_at, {}, 0};
      for (const size_t run : sweep.runs_of({trial})) {
        const auto status = status_of(posix_file_system(), sweep.run(run, 1), stopped_at);
        if (!status.path.empty()) result.runs.push_back(status.path);
        if (status.state == RunStatus::State::done) ++result.done;
      }
      results.push_back(std::move(result));
    }
  };
  const auto present = sweep.present_round();
  add(present.trials, round_values(sweep, present), std::nullopt);
  const auto& past = sweep.past_rounds();
  for (auto round = past.rbegin(); round != past.rend(); ++round) {
    add(round->trials, round->values, round->pause_at);
  }
  return results;
}

Json results_json(const SweepDirectory& sweep, const std::vector<TrialResult>& results) {
  Json trials = Json::array();
  for (const auto& result : results) {
    trials.push_back({{"trial", result.trial},
                      {"settings", sweep.trial_settings(result.trial)},
                      {"value", result.value ? Json(*result.value) : Json()},
                      {"stopped_at", result.stopped_at ? Json(*result.stopped_at) : Json()},
                      {"runs", result.runs}});
  }
  const bool any = !results.empty() && results.front().value;
  return {{"sweep_dir", sweep.path()},
          {"metric", sweep.metric()},
          {"best", any ? Json(results.front().trial) : Json()},
          {"trials", trials}};
}

Table results_table(const SweepDirectory& sweep, const std::vector<TrialResult>& results) {
  Table table = {{"trial", {}, true}};
  for (const auto& [key, value] : sweep.trial_settings(0).items()) {
    std::vector<std::string> values;
    for (const auto& result : results) {
      const auto setting = sweep.trial_settings(result.trial).at(key);
      values.push_back(
          printable(setting.is_string() ? setting.get<std::string>() : setting.dump()));
    }
    table.push_back({printable(key), short_values(values), false, TableColumn::kKey});
  }
  const size_t column = table.size();
  table.push_back({sweep.metric(), {}, true});
  table.push_back({"runs", {}});
  for (const auto& result : results) {
    table.front().cells.push_back(std::to_string(result.trial));
    table[column].cells.push_back(result.value ? figure_text(*result.value) : "-");
    auto state = fmt::format("{} of {} done", result.done, sweep.seeds().size());
    if (result.stopped_at) state = fmt::format("paused at {}", *result.stopped_at);
    table[column + 1].cells.push_back(state);
  }
  return table;
}

}  // namespace

TrialValues round_values(const SweepDirectory& sweep, const SweepRound& round) {
  TrialValues values;
  if (sweep.metric() == SweepSpec::kSelection) {
    std::vector<std::string> paths;
    for (const size_t run : sweep.runs_of(round.trials)) {
      const auto status = status_of(posix_file_system(), sweep.run(run, 1), round.pause_at);
      paths.push_back(status.state == RunStatus::State::done ? status.path : "");
    }
    const auto output = fmt::format("{}/selection-{}", sweep.path(), sweep.past_rounds().size());
    values = selection_values(sweep, paths, output);
  } else {
    for (const size_t run : sweep.runs_of(round.trials)) {
      values.push_back(
          run_value(posix_file_system(), sweep.run(run, 1), sweep.metric(), round.pause_at));
    }
  }
  return trial_values(values, sweep.seeds().size());
}

void print_sweep(const SweepDirectory& sweep, const Invocation& call) {
  const auto results = results_of(sweep);
  if (call.json) return print_json(results_json(sweep, results));
  print(fit_table(results_table(sweep, results), text_width()).text + "\n");
  std::vector<std::string> paths;
  for (const auto& result : results) {
    paths.insert(paths.end(), result.runs.begin(), result.runs.end());
  }
  if (paths.empty()) return;
  const auto report = make_report(read_runs(posix_file_system(), paths, print_note), {});
  for (const auto& note : report.notes) print_note(note);
  print(report_text(report, text_width()));
  const auto program = shell_word(call.program), path = shell_word(sweep.path());
  print(fmt::format("next:\n  {0} sweep status {1}\n  {0} report {1} --output report.html\n",
                    program, path));
}

}  // namespace rl_training
