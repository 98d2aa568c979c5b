#include "cli/arguments.h"

#include <algorithm>

#include "rl_training/experiment/train_config.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// The innermost selected subcommand.
const CLI::App& innermost(const CLI::App& program) {
  const CLI::App* app = &program;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

// The name of a command with its parents: "rl_training config show".
std::string full_name(const CLI::App& app) {
  const auto* parent = app.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + " ") + app.get_name();
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Returns CLI11's message for an error. Rewords two messages that are unclear.
std::string plain_text(const CLI::ParseError& error) {
  std::string text = error.what();
  const auto cut_at = [&](const char* mark) { return text.substr(0, text.find(mark)); };
  constexpr const char* kTwice = ": At Most 1 required but received";
  if (text.find(kTwice) != std::string::npos) return cut_at(kTwice) + ": given more than once";
  constexpr const char* kNotIn = " not in {";  // "--format: html not in {text,json}"
  const auto set = text.find(kNotIn), colon = text.find(": ");
  if (set == std::string::npos || colon == std::string::npos || colon > set) return text;
  std::string choices = text.substr(set + std::string_view(kNotIn).size());
  choices = choices.substr(0, choices.find('}'));
  std::replace(choices.begin(), choices.end(), ',', '|');
  return text.substr(0, colon) + ": unknown value (expected " + choices + ", got " +
         text.substr(colon + 2, set - colon - 2) + ")";
}

}  // namespace

CLI::App* add_command(CLI::App& parent, Invocation& call, const std::string& name,
                      const std::string& summary, const std::string& examples,
                      std::function<int()> work) {
  auto* command = parent.add_subcommand(name, summary);
  command->add_flag("--json", call.json, "print JSON on stdout");
  command->footer("Examples:\n" + examples);
  command->callback([&call, work = std::move(work)] { call.run = work; });
  return command;
}

void ConfigArguments::add_to(CLI::App& command, const std::string& name) {
  command.add_option(name, config, "YAML file, or the name of a packaged config (`config list`)")
      ->required()
      ->type_name("FILE|PACKAGED");
  command
      .add_option("--set", assignments, "change a key, for example batch_size=64; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
}

ConfigNode ConfigArguments::load() const {
  auto root = load_config(config);
  for (const auto& assignment : assignments) set_config_value(root, assignment);
  return root;
}

int64_t NumberArgument::read(const char* name, const Range& range) const {
  auto map = ConfigNode::map();
  map.set(name, ConfigNode::scalar(text.value_or("")));
  int64_t value = 0;
  OptionReader(map, "").integer(name, value, range, "");
  return value;
}

void add_run_argument(CLI::App& command, std::string& path) {
  command.add_option("RUN", path, "run directory (its newest valid checkpoint) or one checkpoint")
      ->required()
      ->type_name("RUN|CHECKPOINT");
}

void add_threads(CLI::App& command, NumberArgument& threads) {
  command
      .add_option("--threads", threads.text,
                  "number of threads; 0 finds the fastest number for training, up to all cores. "
                  "Results do not "
                  "depend on it")
      ->type_name("N");
}

std::string usage_problem(const CLI::App& program, const CLI::ParseError& error) {
  const auto& app = innermost(program);
  // Report unknown arguments first: a misspelt --config also causes an error about a missing
  // --config, and that error would hide the misspelling.
  const auto unknown = program.remaining(/*recurse=*/true);
  if (unknown.empty()) return plain_text(error);
  const auto& word = unknown.front();
  if (word.starts_with('-')) {
    const auto name = word.substr(0, word.find('='));
    return "unknown option " + name + " (see `" + full_name(app) + " --help`" +
           did_you_mean(name, option_names(app)) + ")";
  }
  const auto names = subcommand_names(app);
  if (names.empty()) {
    const bool takes_config = app.get_option_no_throw("--config") != nullptr;
    return "unexpected argument " + word +
           (takes_config ? " (did you mean --config " + word + "?)" : "");
  }
  return "unknown subcommand " + word + " (expected " + join(names, " | ") +
         did_you_mean(word, names) + ")";
}

std::string missing_subcommand(const CLI::App& program) {
  return "a subcommand is missing (expected " + join(subcommand_names(innermost(program)), " | ") +
         ")";
}

}  // namespace rl_training
