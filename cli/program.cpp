#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "build_info.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/signal_thread.h"
#include "cli/tensor_commands.h"
#include "rl_training/report/tables.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

using AddCommand = void (*)(CLI::App&, Invocation&);
constexpr AddCommand kCommands[] = {
    add_train,         add_sweep,  add_resume, add_evaluate,    add_predict,
    add_select,        add_export, add_report, add_leaderboard, add_algorithms,
    add_envs,          add_config, add_env,    add_dataset,     add_render,
    add_verify_resume, add_doctor, add_bench,  add_completion,  add_reference,
};

// Wraps descriptions at the width of the terminal. The description of an option ends with the
// options that it needs or excludes, because the left column is too narrow for them.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return wrapped_text(app->get_description(), width_);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_display_name(true), command->get_description());
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option),
                 make_option_desc(option));
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const auto type = option->get_type_name(), value = option->get_default_str();
    const bool list = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    return (type.empty() ? "" : " " + type) + (value.empty() ? "" : "=" + value) +
           (list ? " ..." : "") + (option->get_required() ? " REQUIRED" : "");
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    return option->get_description() + related("needs ", option->get_needs()) +
           related("not with ", option->get_excludes());
  }

  // Indented lines are examples, which must not be wrapped.
  std::string make_footer(const CLI::App* app) const override {
    std::istringstream lines(app->get_footer());
    std::string text, paragraph;
    for (std::string line; std::getline(lines, line);) {
      const bool example = line.starts_with(' ');
      if (example) text += wrapped_text(std::exchange(paragraph, ""), width_) + line + "\n";
      if (!example) paragraph += line + " ";
    }
    return text + wrapped_text(paragraph, width_);
  }

 private:
  static std::string related(const char* relation, const std::set<CLI::Option*>& options) {
    std::set<std::string> names;  // sorted by name, because the order of pointers varies
    for (const auto* option : options) names.insert(option->get_name());
    if (names.empty()) return "";
    return std::string(" (") + relation + join({names.begin(), names.end()}, ", ") + ")";
  }

  std::string entry(const std::string& name, const std::string& meaning) const {
    constexpr size_t kColumn = 26;
    const auto left = "  " + name;
    auto text = wrapped_text(meaning, width_, std::string(kColumn, ' '));
    if (left.size() + 2 > kColumn || text.empty()) return left + "\n" + text;
    return text.replace(0, left.size(), left);
  }

  size_t width_ = std::max<size_t>(text_width(), 50);
};

void describe(CLI::App& app, Invocation& call) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "rl_training " RL_TRAINING_VERSION " (" RL_TRAINING_COMMIT
                                    ", " RL_TRAINING_BUILD_TYPE ")");
  app.footer(
      "Examples:\n"
      "  rl_training train --config td3_bc/pendulum\n"
      "  rl_training evaluate RUN --episodes 100\n"
      "  rl_training predict RUN --obs '[1.0, 0.0, 0.0]'\n"
      "  rl_training SUBCOMMAND --help\n"
      "Exit codes: 0 ok, 1 internal, 2 usage or config, 3 data, 4 checkpoint, 5 diverged,\n"
      "6 I/O, 130 and 143 stopped by a signal after a final checkpoint.");
  for (const auto add : kCommands) add(app, call);
}

int parse_and_run(CLI::App& app, Invocation& call, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    throw Error(ErrorKind::config, usage_problem(app, error));
  }
  if (!call.run) throw Error(ErrorKind::config, missing_subcommand(app));
  return call.run();
}

// The first line of an exception's message, without the backtrace.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

int run_commands(int argc, char** argv, const TensorCommands* tensors) {
  SignalThread signals;
  Invocation call;
  call.signals = &signals;
  call.tensors = tensors;
  call.program = argc > 0 ? argv[0] : "rl_training";
  for (int i = 0; i < argc; ++i) {
    call.command_line += (i > 0 ? " " : "") + shell_word(argv[i]);
    if (i > 0) call.arguments.emplace_back(argv[i]);
    // `json` is set before parsing, so that a parsing error can also be printed as JSON.
    call.json = call.json || std::string(argv[i]) == "--json";
  }
  CLI::App app(
      "Trains reinforcement-learning agents from logged data, from environments, or from both.",
      "rl_training");
  try {
    describe(app, call);
    const int code = parse_and_run(app, call, argc, argv);
    if (!stdout_is_good()) throw Error(ErrorKind::io, {"stdout", 0, ""}, "cannot write");
    return code;
  } catch (const Error& error) {
    print_error(error, call.json);
    return error.exit_code();
  } catch (const std::bad_alloc&) {
    const Error memory(ErrorKind::io, "out of memory");
    print_error(memory, call.json);
    return memory.exit_code();
  } catch (const std::exception& error) {
    const Error internal(ErrorKind::internal, "internal: " + first_line(error.what()));
    print_error(internal, call.json);
    return internal.exit_code();
  }
}

}  // namespace rl_training
