#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/tensor_commands.h"
#include "rl_training/deploy/policy_file.h"

namespace rl_training {

struct ExportArguments {
  std::string run, format, name = "policy";
  std::optional<std::string> output;
};

int run_export(const ExportArguments& arguments, const Invocation& call) {
  PolicyFileOptions options;
  options.format = read_export_format(arguments.format, "--format");
  options.name = arguments.name;
  options.name_key = "--name";
  options.file = arguments.output.value_or(arguments.name +
                                           (options.format == ExportFormat::c ? ".h" : ".onnx"));
  options.note = print_note;
  const auto checkpoint = find_checkpoint(arguments.run, print_note);
  options.checkpoint = checkpoint.path;
  TrainedPolicy policy(checkpoint);
  const auto written = write_policy_file(policy, options);
  const auto& verified = written.verified;
  if (call.json) {
    print_json({{"file", options.file},
                {"format", arguments.format},
                {"bytes", written.bytes},
                {"max_abs_error", json_number(verified.max_abs_error)},
                {"observations", verified.observations},
                {"undecided", verified.undecided},
                {"verified", verified.method},
                {"checkpoint", checkpoint.path}});
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"file", fmt::format("{} ({} bytes)", options.file, written.bytes)},
      {"largest error", fmt::format("{:.3g} compared with predict, {} observations",
                                    verified.max_abs_error, verified.observations)},
      {"verified", verified.method},
      {"checkpoint", checkpoint.path}};
  if (verified.undecided > 0) {
    rows.insert(rows.begin() + 2,
                {"undecided",
                 fmt::format("{} observations: another action that is equally good up to rounding",
                             verified.undecided)});
  }
  print(text_table(rows));
  return 0;
}

void add_export(CLI::App& program, Invocation& call) {
  auto arguments = std::make_shared<ExportArguments>();
  auto* command = add_command(
      program, call, "export",
      "Write a policy as a C header without dependencies, or as an ONNX model, including\n"
      "normalisation and action scaling; the result is compared with `predict` first",
      "  rl_training export RUN --format c --output policy.h\n"
      "  rl_training export RUN/checkpoints/best --format onnx --output policy.onnx",
      [arguments, &call] { return tensor_commands(call).export_policy(*arguments, call); });
  add_run_argument(*command, arguments->run);
  command->add_option("--format", arguments->format, "c (a C header) or onnx")
      ->required()
      ->type_name("FORMAT");
  command->add_option("--output", arguments->output, "file to write (NAME.h, NAME.onnx)")
      ->type_name("FILE");
  command
      ->add_option("--name", arguments->name, "prefix of the names in C, or name of the ONNX graph")
      ->type_name("NAME")
      ->default_str("policy");
}

}  // namespace rl_training
