#include "rl_training/deploy/policy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr int64_t kProbes = 1000;

// The name becomes the prefix of C identifiers.
void check_c_name(const std::string& name, const std::string& key) {
  const bool good = !name.empty() && name.size() <= 64 &&
                    std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return c < 128 && (std::isalnum(c) != 0 || c == '_');
                    });
  if (good) return;
  throw Error(ErrorKind::config, {"", 0, key},
              "not a name in C (expected letters, digits and _, got " + name + ")");
}

void name_columns(ExportedPolicy& exported, const char* what,
                  const std::vector<std::string>& names) {
  if (!names.empty()) exported.facts.push_back(fmt::format("{}: {}", what, join(names, ", ")));
}

}  // namespace

ExportFormat read_export_format(const std::string& text, const std::string& key) {
  if (text == "c") return ExportFormat::c;
  if (text == "onnx") return ExportFormat::onnx;
  throw Error(ErrorKind::config, {"", 0, key},
              "unknown format (expected c | onnx, got " + text + ")");
}

PolicyFile write_policy_file(TrainedPolicy& policy, const PolicyFileOptions& options) {
  check_c_name(options.name, options.name_key);
  auto exported = export_policy(policy, options.name);
  if (!options.checkpoint.empty()) exported.facts.push_back("checkpoint: " + options.checkpoint);
  const auto probes = find_probes(policy, kProbes, options.note);
  name_columns(exported, "observation", probes.observation_names);
  name_columns(exported, "action", probes.action_names);
  std::string text;
  PolicyFile written;
  written.verified = write_and_verify(options.format, policy, probes.obs, exported, text);
  // This form of the comparison also rejects NaN.
  if (!(written.verified.max_abs_error <= kLargestExportError)) {
    throw Error(ErrorKind::internal,
                fmt::format("{}: the exported policy differs from predict by {:.3g} (expected at "
                            "most {:g}); nothing written",
                            options.checkpoint.empty() ? options.name : options.checkpoint,
                            written.verified.max_abs_error, kLargestExportError));
  }
  write_file_atomically(posix_file_system(), options.file, text);
  written.bytes = static_cast<int64_t>(text.size());
  return written;
}

}  // namespace rl_training
