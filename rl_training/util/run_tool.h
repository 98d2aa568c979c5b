#pragma once
#include <optional>
#include <string>
#include <vector>

namespace rl_training {

// Runs a program found in PATH without a shell. stdin, stdout and stderr are the files `input`,
// `output` and `messages`. Returns the exit code, 128 + n after signal n, or nothing if there is no
// such program.
std::optional<int> run_tool(std::vector<std::string> arguments, const std::string& input,
                            const std::string& output, const std::string& messages);

}  // namespace rl_training
