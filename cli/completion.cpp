#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/command_tree.h"
#include "cli/output.h"
#include "rl_training/algorithms/registry.h"
#include "rl_training/envs/registry.h"
#include "rl_training/experiment/packaged_configs.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// Both scripts first determine the subcommand from the words before the cursor. The bash script
// stores it in $path, the zsh script in $command.

// Shell patterns of the form 'PATH|WORD', one for each subcommand WORD of the command PATH:
// '|dataset', 'dataset|inspect', ...
std::vector<std::string> steps(const std::vector<CommandEntry>& commands) {
  std::vector<std::string> patterns;
  for (const auto& command : commands) {
    for (const auto& name : command.subcommands) {
      patterns.push_back("'" + command.path + "|" + name + "'");
    }
  }
  return patterns;
}

// The names that can be completed after certain options and commands.
struct KnownNames {
  std::string configs, algorithms, environments;

  KnownNames() {
    for (const auto& config : packaged_configs()) configs += config.name + " ";
    for (const auto& info : rl_training::algorithms()) algorithms += info.name + " ";
    for (const auto& info : rl_training::environments()) environments += info.id + " ";
  }
};

std::string quoted_for_zsh(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else if (c == ':') {
      quoted += "\\:";
    } else {
      quoted += c;
    }
  }
  return quoted;
}

}  // namespace

std::string bash_completion(const std::vector<CommandEntry>& commands) {
  const KnownNames names;
  std::string cases;
  for (const auto& command : commands) {
    auto words = command.subcommands;
    for (const auto& option : command.options) {
      if (!option.positional) words.push_back(option.name);
    }
    cases += fmt::format("    '{}') words='{}' ;;\n", command.path, join(words, " "));
  }
  return fmt::format(
      R"(# bash completion for rl_training; `rl_training completion bash` prints it.
_rl_training() {{
  local path='' words='' word
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$path|$word" in
      {}) path="${{path:+$path }}$word" ;;
    esac
  done
  case "$path" in
{}  esac
  case "$path|$previous" in
    *'|--config' | 'config check|check' | 'config show|show' | 'verify-resume|verify-resume')
      words='{}' ;;
    'algorithms|algorithms') words+=' {}' ;;
    *'|--env' | 'envs|envs') words+=' {}' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o bashdefault -o default -F _rl_training rl_training
)",
      join(steps(commands), " | "), cases, names.configs, names.algorithms, names.environments);
}

std::string zsh_completion(const std::vector<CommandEntry>& commands) {
  const KnownNames names;
  std::string cases;
  for (const auto& command : commands) {
    std::string words;
    const auto add = [&](const std::string& name, const std::string& meaning) {
      words += fmt::format("\n      '{}:{}'", name, quoted_for_zsh(meaning));
    };
    for (const auto& other : commands) {
      const auto parent = other.path.rfind(' ');
      const bool child =
          !other.path.empty() &&
          (parent == std::string::npos ? "" : other.path.substr(0, parent)) == command.path;
      if (child) add(other.path.substr(parent + 1), other.summary);
    }
    for (const auto& option : command.options) {
      if (!option.positional) add(option.name, option.meaning);
    }
    cases += fmt::format("    '{}') entries=({}) ;;\n", command.path, words);
  }
  return fmt::format(
      R"(#compdef rl_training
# zsh completion for rl_training; `rl_training completion zsh` prints it.
_rl_training() {{
  local command='' word
  local -a entries names
  for word in ${{words[2,CURRENT-1]}}; do
    case "$command|$word" in
      {}) command="${{command:+$command }}$word" ;;
    esac
  done
  case "$command" in
{}  esac
  case "$command|${{words[CURRENT-1]}}" in
    *'|--config' | 'config check|check' | 'config show|show' | 'verify-resume|verify-resume')
      names=({}) ;;
    'algorithms|algorithms') names=({}) ;;
    *'|--env' | 'envs|envs') names=({}) ;;
  esac
  (( $#names )) && compadd -a names
  _describe 'rl_training' entries
  _files
}}
_rl_training "$@"
)",
      join(steps(commands), " | "), cases, names.configs, names.algorithms, names.environments);
}

void add_completion(CLI::App& program, Invocation& call) {
  auto shell = std::make_shared<std::string>();
  auto* command = add_command(program, call, "completion", "Print a shell completion script",
                              "  source <(rl_training completion bash)\n"
                              "  rl_training completion zsh > ~/.zfunc/_rl_training",
                              [shell, &program, &call] {
                                const auto commands = list_commands(program);
                                const auto script = *shell == "bash" ? bash_completion(commands)
                                                                     : zsh_completion(commands);
                                call.json ? print_json({{"script", script}}) : print(script);
                                return 0;
                              });
  command->add_option("SHELL", *shell, "bash or zsh")
      ->required()
      ->type_name("")
      ->check(CLI::IsMember({"bash", "zsh"}).name(""));
}

}  // namespace rl_training
