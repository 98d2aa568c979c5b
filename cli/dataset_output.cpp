#include "cli/dataset_output.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/output.h"
#include "rl_training/data/d4rl.h"
#include "rl_training/data/minari_writer.h"
#include "rl_training/data/npz.h"

namespace rl_training {
namespace {

// Whether `out` is the file `input`, possibly under another name, or a file below the directory
// `input`.
bool would_overwrite(const std::string& out, const std::string& input) {
  namespace fs = std::filesystem;
  std::error_code code;  // with `code`, fs::equivalent returns false for missing files
  if (fs::equivalent(out, input, code)) return true;
  if (!fs::is_directory(input, code)) return false;
  const auto readable = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(input, readable, code)) {
    if (fs::equivalent(out, entry.path(), code)) return true;
  }
  return false;
}

}  // namespace

void WriteArguments::add_to(CLI::App& command) {
  command
      .add_option("OUT", out,
                  "file to write: .npz, .hdf5 in D4RL's layout, or a directory NAME-v0 for Minari")
      ->required()
      ->type_name("");
  command.add_option("--to", format, "format: auto (by the name), npz, d4rl, minari")
      ->check(CLI::IsMember({"auto", "npz", "d4rl", "minari"}))
      ->type_name("FORMAT");
}

void WriteArguments::check(const std::vector<std::string>& inputs) const {
  chosen();
  for (const auto& input : inputs) {
    if (!would_overwrite(out, input)) continue;
    throw Error(ErrorKind::config, {out, 0, ""},
                "is also the input " + input + " (expected another file to write to)");
  }
}

std::string WriteArguments::chosen() const {
  if (format != "auto") return format;
  if (out.ends_with(".npz")) return "npz";
  if (out.ends_with(".hdf5") || out.ends_with(".h5")) return "d4rl";
  throw Error(ErrorKind::config, {out, 0, ""},
              "unknown output format (expected a name that ends in .npz, .hdf5 or .h5, or "
              "--to minari)");
}

void WriteArguments::save(const TransitionDataset& dataset, const Space* bounds, bool scale,
                          const Invocation& call) const {
  const auto kind = chosen();
  const Space* scaled_to = scale ? bounds : nullptr;
  if (kind == "npz") save_npz_dataset(dataset, out, scaled_to);
  if (kind == "d4rl") save_d4rl_dataset(dataset, out, scaled_to);
  if (kind == "minari") {
    MinariDetails details;
    details.bounds = bounds;
    details.scale_actions = scale;
    save_minari_dataset(dataset, out, details);
  }
  const Json report = {{"path", out},
                       {"kind", kind},
                       {"rows", dataset.rows()},
                       {"episodes", dataset.episodes().size()},
                       {"return_mean", json_number(dataset.mean_return())},
                       {"fingerprint", dataset.fingerprint()}};
  if (call.json) return print_json(report);
  print(fmt::format("{}: {} rows, {} episodes, mean return {:.1f}\n", out, dataset.rows(),
                    dataset.episodes().size(), dataset.mean_return()));
}

}  // namespace rl_training
