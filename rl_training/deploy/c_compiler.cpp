#include "rl_training/deploy/c_compiler.h"

#include <filesystem>

#include "rl_training/deploy/c_header.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/run_tool.h"
#include "rl_training/util/scratch_directory.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// The first error in a compiler's output, or the beginning of the output if there is no error line.
std::string first_error(const std::string& messages) {
  const auto at = messages.find("error:");
  return at == std::string::npos ? shortened(messages, 200)
                                 : messages.substr(at, messages.find('\n', at) - at);
}

std::string bytes_of(const std::vector<std::vector<double>>& rows) {
  std::string bytes;
  for (const auto& row : rows) {
    for (const double value : row) {
      const auto rounded = static_cast<float>(value);
      bytes.append(reinterpret_cast<const char*>(&rounded), sizeof rounded);
    }
  }
  return bytes;
}

std::vector<std::vector<double>> rows_of(const std::string& bytes, size_t rows, size_t width) {
  if (bytes.size() != rows * width * sizeof(float)) {
    throw Error(ErrorKind::internal, "the exported header computed " +
                                         std::to_string(bytes.size()) + " bytes (expected " +
                                         std::to_string(rows * width * sizeof(float)) + ")");
  }
  std::vector<float> values(rows * width);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  std::vector<std::vector<double>> result;
  for (size_t row = 0; row < rows; ++row) {
    const float* first = values.data() + row * width;
    result.emplace_back(first, first + width);
  }
  return result;
}

}  // namespace

std::optional<std::vector<std::vector<double>>> run_c_header(
    const ExportedPolicy& policy, const std::string& header,
    const std::vector<std::vector<double>>& obs) {
  auto& files = posix_file_system();
  const ScratchDirectory scratch;
  const auto program = scratch.file("probe"), source = scratch.file("probe.c");
  files.write_file(scratch.file("policy.h"), header);
  files.write_file(source, write_c_probe(policy, "policy.h"));
  files.write_file(scratch.file("obs"), bytes_of(obs));
  const auto compiled =
      run_tool({"cc", "-std=c99", "-Wall", "-Werror", "-O2", "-o", program, source, "-lm"},
               "/dev/null", "/dev/null", scratch.file("messages"));
  if (!compiled) return std::nullopt;
  if (*compiled != 0) {
    throw Error(ErrorKind::internal, "cc does not accept the exported header: " +
                                         first_error(files.read_file(scratch.file("messages"))));
  }
  const auto ended =
      run_tool({program}, scratch.file("obs"), scratch.file("actions"), scratch.file("messages"));
  if (!ended || *ended != 0) {
    throw Error(ErrorKind::internal, "the exported header fails its self-test (exit " +
                                         std::to_string(ended.value_or(-1)) + ")");
  }
  return rows_of(files.read_file(scratch.file("actions")), obs.size(), policy.action_unit.size());
}

}  // namespace rl_training
