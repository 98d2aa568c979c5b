#pragma once
#include <optional>
#include <string>
#include <vector>

namespace rl_training {

// Runs a program of PATH, without a shell: stdin comes from `input`, stdout goes to `output` and
// stderr to `messages`, all files. The exit code, 128 + n after signal n; none if there is no
// such program.
std::optional<int> run_tool(std::vector<std::string> arguments, const std::string& input,
                            const std::string& output, const std::string& messages);

}  // namespace rl_training
