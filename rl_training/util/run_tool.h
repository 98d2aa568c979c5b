#pragma once
#include <optional>
#include <string>
#include <vector>

namespace rl_training {

// Runs a program from PATH without a shell. Redirects stdin, stdout and stderr to the files
// `input`, `output` and `messages`. Returns the exit code, or 128 + n if signal n ended the
// program, or nothing if PATH contains no such program.
std::optional<int> run_tool(std::vector<std::string> arguments, const std::string& input,
                            const std::string& output, const std::string& messages);

}  // namespace rl_training
