#include "rl_training/data/npz.h"

#include <array>

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
  // Beside one of those, `dones` says less: it may count time-outs too.
  keys.terminals_fallback = {"dones"};
  keys.timeouts = {"timeouts", "truncations"};
  keys.next_obs = {"next_observations", "next_obs"};
  keys.episode_starts = {"episode_starts"};
  keys.next_actions = {"next_actions"};
  keys.next_action_valid = {"next_action_valid"};
  return keys;
}

}  // namespace

LoggedSteps read_npz_steps(const std::string& path, const DatasetReadOptions& options,
                           SandboxOutput& output) {
  NpzReader file(path);
  forbid_opening_files();
  return read_flat_steps(file, path, npz_keys(), options, output);
}

TransitionDataset load_npz_dataset(const std::string& path, const Space* bounds,
                                   DatasetFileSummary* summary) {
  DatasetReadOptions options;
  options.bounds = bounds;
  return load_dataset_file("npz", path, options, summary);
}

void save_npz_dataset(const TransitionDataset& dataset, const std::string& path,
                      const Space* bounds) {
  const FlatArrays arrays(dataset, bounds);
  NpzWriter file;
  const std::array<int64_t, 2> obs_shape = {arrays.rows, arrays.obs_dim};
  const std::array<int64_t, 2> action_shape = {arrays.rows, arrays.action_dim};
  file.add("observations", obs_shape, std::span<const float>(arrays.obs));
  file.add("actions", action_shape, std::span<const float>(arrays.actions));
  file.add("rewards", std::array{arrays.rows}, std::span<const float>(arrays.rewards));
  file.add("next_observations", obs_shape, std::span<const float>(arrays.next_obs));
  file.add_flags("terminals", arrays.terminals);
  file.add_flags("timeouts", arrays.timeouts);
  if (!arrays.next_actions.empty()) {
    file.add("next_actions", action_shape, std::span<const float>(arrays.next_actions));
    file.add_flags("next_action_valid", arrays.next_action_valid);
  }
  if (!arrays.episode_starts.empty()) file.add_flags("episode_starts", arrays.episode_starts);
  write_file_atomically(posix_file_system(), path, file.bytes());
}

}  // namespace rl_training
