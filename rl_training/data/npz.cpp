#include "rl_training/data/npz.h"

#include "rl_training/data/array_layout.h"
#include "rl_training/data/column_names.h"
#include "rl_training/data/flat_arrays.h"
#include "rl_training/data/flat_steps.h"
#include "rl_training/data/npz_archive.h"
#include "rl_training/data/npz_writer.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

FlatKeys npz_keys() {
  FlatKeys keys;
  keys.obs = {"observations", "obs"};
  keys.actions = {"actions"};
  keys.rewards = {"rewards"};
  keys.terminals = {"terminals", "terminations"};
  // `dones` is ignored if the file contains terminals, because `dones` may include time-outs.
  keys.terminals_fallback = {"dones"};
  keys.timeouts = {"timeouts", "truncations"};
  keys.next_obs = {"next_observations", "next_obs"};
  keys.episode_starts = {"episode_starts"};
  keys.next_actions = {"next_actions"};
  keys.next_action_valid = {"next_action_valid"};
  return keys;
}

// Reads the names, which are stored as text with one byte per element.
void read_names(NpzReader& file, LoggedSteps& steps) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  if (!file.has(kNamesKey) || file.header(kNamesKey).count > kMostBytes) return;
  std::string text;
  for (const double byte : file.read_doubles(kNamesKey)) {
    if (!(byte >= 0 && byte < 256)) return;
    text.push_back(static_cast<char>(static_cast<unsigned char>(byte)));
  }
  names_from_text(text, steps);
}

}  // namespace

LoggedSteps read_npz_steps(const std::string& path, const DatasetReadOptions& options,
                           SandboxOutput& output) {
  NpzReader file(path);
  forbid_opening_files();
  auto steps = read_named_arrays(file, path, options, output);
  read_names(file, steps);
  return steps;
}

LoggedSteps read_named_arrays(ArraySource& file, const std::string& path,
                              const DatasetReadOptions& options, ArrayMemory& memory) {
  MappedArrays arrays(file);
  auto keys = npz_keys();
  auto map = KeyMap::parse({path, 0, ""}, options.keys);
  if (map.layout.empty() && map.names.empty()) map.layout = recognise_layout(file);
  const auto warnings = apply_key_map(map, arrays, keys);
  auto steps = read_flat_steps(arrays, path, keys, options, memory);
  steps.warnings.insert(steps.warnings.end(), warnings.begin(), warnings.end());
  return steps;
}

TransitionDataset load_npz_dataset(const std::string& path, const Space* bounds,
                                   DatasetFileSummary* summary) {
  DatasetReadOptions options;
  options.bounds = bounds;
  return load_dataset_file("npz", path, options, summary);
}

void save_npz_dataset(const TransitionDataset& dataset, const std::string& path,
                      const Space* bounds) {
  const FlatArrays arrays(dataset, bounds, FlatEnds::flags);
  NpzWriter file;
  arrays.write_to(file);
  if (const auto names = names_to_text(dataset); !names.empty()) file.add_text(kNamesKey, names);
  write_file_atomically(posix_file_system(), path, file.bytes());
}

}  // namespace rl_training
