#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/output.h"
#include "rl_training/deploy/verification.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr int64_t kProbes = 1000;

struct ExportArguments {
  std::string run, format, name = "policy";
  std::optional<std::string> output;
};

ExportFormat read_format(const std::string& text) {
  if (text == "c") return ExportFormat::c;
  if (text == "onnx") return ExportFormat::onnx;
  throw Error(ErrorKind::config, {"", 0, "--format"},
              "unknown format (expected c | onnx, got " + text + ")");
}

// It becomes the prefix of names in C.
void check_name(const std::string& name) {
  const bool good = !name.empty() && name.size() <= 64 &&
                    std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return c < 128 && (std::isalnum(c) != 0 || c == '_');
                    });
  if (good) return;
  throw Error(ErrorKind::config, {"", 0, "--name"},
              "not a name in C (expected letters, digits and _, got " + name + ")");
}

void name_columns(ExportedPolicy& exported, const char* what,
                  const std::vector<std::string>& names) {
  if (!names.empty()) exported.facts.push_back(fmt::format("{}: {}", what, join(names, ", ")));
}

int run_export(const ExportArguments& arguments, const Invocation& call) {
  const auto format = read_format(arguments.format);
  check_name(arguments.name);
  const auto file =
      arguments.output.value_or(arguments.name + (format == ExportFormat::c ? ".h" : ".onnx"));
  const auto checkpoint = find_checkpoint(arguments.run, print_note);
  TrainedPolicy policy(checkpoint);
  auto exported = export_policy(policy, arguments.name);
  exported.facts.push_back("checkpoint: " + checkpoint.path);
  const auto probes = find_probes(policy, kProbes, print_note);
  name_columns(exported, "observation", probes.observation_names);
  name_columns(exported, "action", probes.action_names);
  std::string text;
  const auto verified = write_and_verify(format, policy, probes.obs, exported, text);
  // Also where it is not a number.
  if (!(verified.max_abs_error <= kLargestExportError)) {
    throw Error(ErrorKind::internal,
                fmt::format("{}: the exported policy differs from predict by {:.3g} (expected at "
                            "most {:g}); nothing written",
                            checkpoint.path, verified.max_abs_error, kLargestExportError));
  }
  write_file_atomically(posix_file_system(), file, text);
  if (call.json) {
    print_json({{"file", file},
                {"format", arguments.format},
                {"bytes", text.size()},
                {"max_abs_error", json_number(verified.max_abs_error)},
                {"observations", verified.observations},
                {"undecided", verified.undecided},
                {"verified", verified.method},
                {"checkpoint", checkpoint.path}});
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"file", fmt::format("{} ({} bytes)", file, text.size())},
      {"largest error", fmt::format("{:.3g} against predict, {} observations",
                                    verified.max_abs_error, verified.observations)},
      {"verified", verified.method},
      {"checkpoint", checkpoint.path}};
  if (verified.undecided > 0) {
    rows.insert(rows.begin() + 2,
                {"undecided", fmt::format("{} observations: an action that is as good, to rounding",
                                          verified.undecided)});
  }
  print(text_table(rows));
  return 0;
}

}  // namespace

void add_export(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<ExportArguments>();
  auto* command = add_command(
      program, call, "export",
      "Write a policy as one C header without dependencies, or as an ONNX model, with normaliser\n"
      "and action scaling inside; the file is verified against `predict` first",
      "  rl_training export RUN --format c --output policy.h\n"
      "  rl_training export RUN/checkpoints/best --format onnx --output policy.onnx",
      [arguments, &call] { return run_export(*arguments, call); });
  add_run_argument(*command, arguments->run);
  command->add_option("--format", arguments->format, "c (a header) or onnx")
      ->required()
      ->type_name("FORMAT");
  command->add_option("--output", arguments->output, "file to write (NAME.h, NAME.onnx)")
      ->type_name("FILE");
  command->add_option("--name", arguments->name, "prefix of the names in C, name of the graph")
      ->type_name("NAME")
      ->default_str("policy");
}

}  // namespace rl_training
