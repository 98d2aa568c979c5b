#include "rl_training/report/leaderboard.h"

#include "cli/arguments.h"
#include "cli/output.h"

namespace rl_training {
namespace {

struct LeaderboardArguments {
  std::vector<std::string> paths, filters;
  std::string format, output;
  bool best = false;
  NumberArgument at;
};

int run_leaderboard(const LeaderboardArguments& arguments, const Invocation& call) {
  if (!arguments.output.empty() && !arguments.output.ends_with(".html")) {
    throw Error(ErrorKind::config, {arguments.output, 0, "--output"},
                "unknown format (expected a name that ends in .html)");
  }
  ReportOptions options;
  options.filters = arguments.filters;
  if (arguments.best) options.choice.pick = EvaluationChoice::Pick::best;
  if (arguments.at.given()) {
    options.choice = {EvaluationChoice::Pick::at, arguments.at.read("--at", at_least(0))};
  }
  const auto report =
      make_report(read_runs(posix_file_system(), arguments.paths, print_note), options);
  for (const auto& note : report.notes) print_note(note);
  const auto board = make_leaderboard(report);
  if (!arguments.output.empty()) {
    write_file_atomically(posix_file_system(), arguments.output, leaderboard_html(board, {}));
  }
  if (call.json || arguments.format == "json") {
    print_json(leaderboard_json(board));
  } else if (arguments.format == "markdown") {
    print(leaderboard_markdown(board));
  } else if (!arguments.output.empty() && arguments.format.empty()) {
    print("leaderboard  " + arguments.output + "\n");
  } else {
    print(leaderboard_text(board, text_width()));
  }
  return 0;
}

}  // namespace

void add_leaderboard(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<LeaderboardArguments>();
  auto* command = add_command(program, call, "leaderboard",
                              "Tabulate algorithms by task, with intervals over seeds",
                              "  rl_training leaderboard runs\n"
                              "  rl_training leaderboard runs --output leaderboard.html\n"
                              "  rl_training leaderboard runs --format markdown",
                              [arguments, &call] { return run_leaderboard(*arguments, call); });
  command->add_option("DIR", arguments->paths, "run directories, or directories with runs in them")
      ->required()
      ->type_name("");
  command->add_option("--output", arguments->output, "one HTML file")->type_name("FILE.html");
  command->add_option("--format", arguments->format, "output format: text, markdown or json")
      ->check(CLI::IsMember({"text", "markdown", "json"}))
      ->type_name("NAME");
  command->add_option("--filter", arguments->filters, "only runs with this value; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  auto* best =
      command->add_flag("--best", arguments->best,
                        "compare best evaluations (selected after the fact, so optimistic)");
  command->add_option("--at", arguments->at.text, "compare evaluations at this step")
      ->excludes(best)
      ->type_name("STEP");
}

}  // namespace rl_training
