#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <sstream>

#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/signal_thread.h"
#include "cli/tensor_commands.h"
#include "cli/terminal_view.h"
#include "rl_training/experiment/state_archive.h"
#include "rl_training/models/compute.h"
#include "rl_training/selection/selection_files.h"
#include "rl_training/util/text.h"

namespace rl_training {

struct SelectArguments {
  std::vector<std::string> runs;
  std::optional<std::string> data, output;
  NumberArgument updates, batch_size{"256"}, critics{"3"}, seed{"0"}, threads;
  NumberArgument truth_episodes;
  std::optional<double> gamma, tau;
};

namespace {

constexpr int64_t kSaveEvery = 1000;  // in updates

SelectionOptions selection_options(const SelectArguments& arguments) {
  SelectionOptions options;
  options.data = arguments.data;
  if (arguments.updates.given()) {
    options.updates = arguments.updates.read("--updates", between(1, 100000000));
  }
  options.fit.batch_size = arguments.batch_size.read("--batch-size", between(1, 65536));
  options.fit.critics = arguments.critics.read("--critics", between(1, 100));
  options.fit.seed = static_cast<uint64_t>(arguments.seed.read("--seed", at_least(0)));
  options.gamma = arguments.gamma;
  if (options.gamma && !(*options.gamma >= 0 && *options.gamma < 1)) {
    throw Error(ErrorKind::config, {"", 0, "--gamma"},
                fmt::format("out of range (expected 0 <= gamma < 1, got {})", *options.gamma));
  }
  if (arguments.tau) options.fit.tau = *arguments.tau;
  if (!(options.fit.tau > 0 && options.fit.tau <= 1)) {
    throw Error(ErrorKind::config, {"", 0, "--tau"},
                fmt::format("out of range (expected 0 < tau <= 1, got {})", options.fit.tau));
  }
  return options;
}

// Shows the completed share of the work on stderr: on a terminal as a line that is redrawn,
// otherwise as a new line for every 5 %. Updates in the second part of a fit take longer, so they
// count for more.
class SelectProgress {
 public:
  explicit SelectProgress(const Selection& selection)
      : selection_(selection), first_(selection.share_done()), told_(twentieth()) {}

  void show() {
    const auto now = Clock::now();
    const double share = selection_.share_done();
    const bool due = view_.is_terminal() ? now - drawn_ >= kRedrawInterval : twentieth() != told_;
    if (!due || share <= first_) return;
    drawn_ = now;
    told_ = twentieth();
    const std::chrono::duration<double> passed = now - started_;
    const auto line = fmt::format("fitting  {:3} %  {} left", std::llround(std::floor(100 * share)),
                                  duration_text(passed.count() * (1 - share) / (share - first_)));
    view_.is_terminal() ? view_.draw({line}) : view_.add_line(line);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
  int64_t twentieth() const { return std::llround(std::floor(20 * selection_.share_done())); }

  const Selection& selection_;
  TerminalView view_;
  Clock::time_point started_ = Clock::now(), drawn_;
  double first_;  // share that an earlier call had completed
  int64_t told_;
};

// Loads the state that an earlier call with the same policies, data and options has saved.
void load_progress(Selection& selection, const CheckpointStore& store, const std::string& output) {
  const auto saved = store.load_newest(print_note);
  if (!saved) return;
  if (saved->manifest.value("selection", "") != selection.key()) {
    throw Error(
        ErrorKind::checkpoint, {output, 0, ""},
        "contains another selection, with different policies, data or options (expected another "
        "--output)");
  }
  load_state(saved->entries, saved->path,
             [&](StateVisitor& state) { selection.visit_state(state); });
  print_note(
      fmt::format("continuing at update {} of {}", selection.updates_done(), selection.updates()));
}

// Fits until all updates are done or a signal requests a stop. Returns that signal, or 0.
int fit(Selection& selection, CheckpointStore& store, const StopRequests& requests) {
  const auto save = [&] {
    store.save(selection.updates_done(),
               save_state([&](StateVisitor& state) { selection.visit_state(state); }),
               {{"selection", selection.key()}});
  };
  SelectProgress progress(selection);
  while (!selection.finished()) {
    selection.advance();
    progress.show();
    const int signal = requests.stop();
    if (signal != 0 || selection.finished() || selection.updates_done() % kSaveEvery == 0) save();
    if (signal != 0 && !selection.finished()) return signal;
  }
  return 0;
}

// A table whose last column names the policy of each row. If the table is too wide for the
// terminal, the name is on a line below each row instead.
std::string policy_table(std::vector<std::vector<std::string>> rows,
                         std::vector<std::string> header, const std::vector<std::string>& names) {
  const auto narrow = text_table(rows, header);
  for (size_t i = 0; i < rows.size(); ++i) rows[i].push_back(names[i]);
  header.emplace_back("policy");
  std::istringstream wide_lines(text_table(rows, header)), narrow_lines(narrow);
  bool fits = true;
  for (std::string line; std::getline(wide_lines, line);) {
    fits = fits && display_width(line) <= text_width();
  }
  if (fits) return wide_lines.str();
  std::string text, line;
  for (size_t i = 0; std::getline(narrow_lines, line); ++i) {
    const bool is_row = i >= 2;  // after the header and its rule
    text += line + "\n" + (is_row ? "      " + names[i - 2] + "\n" : "");
  }
  return text;
}

std::string estimates_table(std::vector<PolicyEstimate> estimates) {
  std::stable_sort(estimates.begin(), estimates.end(),
                   [](const auto& a, const auto& b) { return a.rank < b.rank; });
  std::vector<std::string> header = {"rank", "value", "95 % interval", "soft OPC", "TD error"};
  const bool truth = estimates.front().truth.has_value();
  if (truth) header.emplace_back("true return");
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> names;
  for (const auto& each : estimates) {
    auto& row = rows.emplace_back();
    row = {fmt::format("{:g}", each.rank), fmt::format("{:.4g}", each.value),
           fmt::format("[{:.4g}, {:.4g}]", each.low, each.high),
           fmt::format("{:.4g}", each.soft_opc), fmt::format("{:.4g}", each.td_error)};
    if (truth) row.push_back(fmt::format("{:.4g}", *each.truth));
    names.push_back(each.run);
  }
  return policy_table(rows, header, names);
}

// A table of importance sampling estimates, for the policies that have an action density.
std::string importance_table(const std::vector<PolicyEstimate>& estimates) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> names;
  for (const auto& each : estimates) {
    if (!each.importance) continue;
    const bool usable = each.importance->effective_episodes >= kUsableEpisodes;
    const auto figure = [&](double value) {
      return usable ? fmt::format("{:.4g}", value) : std::string("not usable");
    };
    rows.push_back({fmt::format("{:.1f}", each.importance->effective_episodes),
                    figure(each.importance->weighted_per_decision),
                    figure(each.importance->doubly_robust)});
    names.push_back(each.run);
  }
  if (rows.empty()) return "";
  return "\nImportance sampling, for policies with a density:\n" +
         policy_table(rows, {"effective episodes", "per decision", "doubly robust"}, names) + "\n";
}

std::string overlap_text(const std::vector<PolicyEstimate>& estimates) {
  const auto others = estimates.size() - 1;
  const auto count = overlap_with_best(estimates);
  if (others == 0) return "";
  if (count == 0) return "The best is distinguishable from all others.\n";
  return fmt::format("{} of the other {} cannot be distinguished from the best.\n", count, others);
}

void print_selection(const std::vector<PolicyEstimate>& estimates, const Selection& selection,
                     const std::string& output) {
  print(estimates_table(estimates) + importance_table(estimates));
  const auto own = selection.own_estimate();
  std::string summary = fmt::format(
      "Behaviour policy of the data: {:.4g} [{:.4g}, {:.4g}], gamma {:.4g}.\n{}", own.value,
      own.low, own.high, selection.fit_options().gamma, overlap_text(estimates));
  if (estimates.front().truth) {
    const auto truth = compare_with_truth(estimates);
    summary += fmt::format(
        "Compared with true returns: rank correlation {:.2f},\n"
        "regret@1 {:.3g} ({:.0f} % of the range), regret@3 {:.3g}.\n",
        truth.spearman, truth.regret_1, truth.range > 0 ? 100 * truth.regret_1 / truth.range : 0.0,
        truth.regret_3);
  }
  summary +=
      "Values are discounted and biased: use them only for comparison.\nwritten: " + output + "\n";
  print(summary);
}

}  // namespace

int run_select(const SelectArguments& arguments, const Invocation& call) {
  auto options = selection_options(arguments);
  const auto threads =
      arguments.threads.given() ? arguments.threads.read("--threads", kThreadRange) : 0;
  ThreadPool pool(threads > 0 ? static_cast<int>(threads) : available_cores());
  const auto episodes = arguments.truth_episodes.given()
                            ? arguments.truth_episodes.read("--truth", between(1, 100000))
                            : 0;
  const SingleThreadedTensors serial;
  Selection selection(arguments.runs, options, pool, print_note);
  if (episodes > 0) selection.check_playable();
  const auto output = arguments.output.value_or("selection-" + selection.key().substr(0, 8));
  auto& files = posix_file_system();
  files.make_directories(output);
  CheckpointStore store(files, output + "/progress", 1);
  load_progress(selection, store, output);
  const int signal = fit(selection, store, call.signals->begin_training());
  if (signal != 0) {
    print_note("stopped; the same command continues");
    return 128 + signal;
  }
  auto estimates = selection.estimates();
  for (size_t i = 0; episodes > 0 && i < estimates.size(); ++i) {
    estimates[i].truth = selection.play(i, episodes);
  }
  const auto json = selection_json(estimates, selection);
  write_file_atomically(files, output + "/selection.json", json.dump(2) + "\n");
  if (chart_unavailable().empty()) {
    write_file_atomically(files, output + "/selection.svg",
                          encode_charts_svg(selection_charts(estimates)));
  }
  write_into_runs(estimates, selection);
  if (call.json) {
    print_json(json);
  } else {
    print_selection(estimates, selection, output);
  }
  return 0;
}

void add_select(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<SelectArguments>();
  auto* command = add_command(
      program, call, "select",
      "Rank policies without an environment, by fitted Q evaluation on logged data. The same\n"
      "command continues where a stopped one left off",
      "  rl_training select RUN_A RUN_B RUN_C\n"
      "  rl_training select RUN/checkpoints/* --data held_out.hdf5 --json\n"
      "  rl_training select runs/* --truth 20",
      [arguments, &call] { return tensor_commands(call).select(*arguments, call); });
  command->add_option("RUN", arguments->runs, "run or checkpoint directories")->required();
  command
      ->add_option("--data", arguments->data,
                   "dataset to evaluate on (default: that of the first run)")
      ->type_name("FILE");
  const auto number = [&](const char* name, NumberArgument& argument, const char* text) {
    command->add_option(name, argument.text, text)
        ->type_name("N")
        ->default_str(argument.text.value_or(""));
  };
  number("--updates", arguments->updates,
         "updates for each of the two parts of a fit (default: 5 / (tau (1 - gamma)), which is "
         "10000 for a horizon of 100 steps)");
  number("--batch-size", arguments->batch_size, "rows per update");
  number("--critics", arguments->critics, "critics per policy");
  number("--seed", arguments->seed, "seed of the fits");
  command->add_option("--tau", arguments->tau, "weight of the online networks in a target update")
      ->type_name("X")
      ->default_str("0.05");
  command
      ->add_option(
          "--gamma", arguments->gamma,
          "discount factor (default: from the length of the data's episodes, 0.99 to 0.998)")
      ->type_name("X");
  command
      ->add_option("--truth", arguments->truth_episodes.text,
                   "episodes to play with each policy, for comparison")
      ->type_name("N");
  command
      ->add_option("--output", arguments->output,
                   "directory of the results (default: selection- and 8 digits of a hash)")
      ->type_name("DIR");
  add_threads(*command, arguments->threads);
}

}  // namespace rl_training
