#include "rl_training/experiment/report.h"

#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/output.h"

namespace rl_training {
namespace {

struct ReportArguments {
  std::vector<std::string> runs;
  bool markdown = false;
};

// Two runs of one seed are one observation too many, not two seeds.
void warn_of_repeated_seeds(const std::vector<ReportGroup>& groups) {
  for (const auto& group : groups) {
    for (size_t i = 1; i < group.runs.size(); ++i) {
      if (group.runs[i].seed != group.runs[i - 1].seed) continue;
      print_note(fmt::format("warning: seed {} of {} on {} counts twice ({}, {})",
                             group.runs[i].seed, group.algo,
                             group.dataset.empty() ? group.env_id : group.dataset,
                             group.runs[i - 1].path, group.runs[i].path));
    }
  }
}

int run_report(const ReportArguments& arguments, bool json) {
  auto& files = posix_file_system();
  std::vector<RunSummary> runs;
  for (const auto& path : find_runs(files, arguments.runs)) {
    runs.push_back(summarise_run(files, path));
  }
  const auto groups = group_runs(runs);
  warn_of_repeated_seeds(groups);
  if (json) {
    print_json(report_json(groups));
  } else if (arguments.markdown) {
    print(report_markdown(groups));
  } else {
    const auto table = report_table(groups, "+-");
    print(text_table(table.rows, table.header));
  }
  return 0;
}

}  // namespace

void add_report(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<ReportArguments>();
  auto* command = add_command(program, call, "report",
                              "Compare runs: returns by algorithm, environment and dataset",
                              "  rl_training report runs\n"
                              "  rl_training report runs/bcq runs/bear --markdown",
                              [arguments, &call] { return run_report(*arguments, call.json); });
  command->add_option("RUN", arguments->runs, "run directories, or directories with runs in them")
      ->required()
      ->type_name("");
  command->add_flag("--markdown", arguments->markdown, "a Markdown table on stdout");
}

}  // namespace rl_training
