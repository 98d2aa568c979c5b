#include "cli/command_tree.h"

#include <CLI/CLI.hpp>
#include <string_view>

namespace rl_training {
namespace {

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry;
  entry.positional = option.get_positional();
  entry.name = entry.positional ? option.get_name(true) : "--" + option.get_lnames().front();
  entry.type = option.get_items_expected_max() == 0 ? "" : option.get_type_name();
  entry.meaning = option.get_description();
  entry.required = option.get_required();
  return entry;
}

// The examples at the end of a command's help, without their heading.
std::string examples_of(const CLI::App& app) {
  constexpr std::string_view kHeading = "Examples:\n";
  const auto footer = app.get_footer();
  return footer.starts_with(kHeading) ? footer.substr(kHeading.size()) : footer;
}

void append(const CLI::App& app, const std::string& path, std::vector<CommandEntry>& commands) {
  CommandEntry entry{path, app.get_description(), examples_of(app), {}, {}};
  for (const auto* option : app.get_options()) entry.options.push_back(entry_of(*option));
  const auto children = app.get_subcommands([](const CLI::App*) { return true; });
  for (const auto* child : children) entry.subcommands.push_back(child->get_name());
  commands.push_back(std::move(entry));
  for (const auto* child : children) {
    append(*child, (path.empty() ? "" : path + " ") + child->get_name(), commands);
  }
}

}  // namespace

std::string CommandEntry::usage() const {
  std::string text = "rl_training" + (path.empty() ? "" : " " + path);
  text += subcommands.empty() ? " [OPTIONS]" : " SUBCOMMAND [OPTIONS]";
  for (const auto& option : options) {
    if (option.positional) text += " " + option.name;
  }
  return text;
}

std::vector<CommandEntry> list_commands(const CLI::App& program) {
  std::vector<CommandEntry> commands;
  append(program, "", commands);
  return commands;
}

}  // namespace rl_training
