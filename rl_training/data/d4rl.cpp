#include "rl_training/data/d4rl.h"

#include <functional>
#include <numeric>
#include <string_view>

#include "rl_training/data/flat_arrays.h"
#include "rl_training/data/flat_steps.h"
#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/hdf5_writer.h"
#include "rl_training/data/plain_file.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

// Marks files of ours, in which every next observation is a true one.
constexpr const char* kFormatAttribute = "rl_training_format";

FlatKeys d4rl_keys(bool ours) {
  FlatKeys keys;
  keys.obs = {"observations"};
  keys.actions = {"actions"};
  keys.rewards = {"rewards"};
  keys.terminals = {"terminals"};
  keys.timeouts = {"timeouts"};
  keys.next_obs = {"next_observations"};
  keys.trust_equal_successors = ours;
  keys.true_successors = ours;
  if (!ours) return keys;
  keys.episode_starts = {"episode_starts"};
  keys.next_actions = {"next_actions"};
  keys.next_action_valid = {"next_action_valid"};
  return keys;
}

std::vector<char> hdf5_bytes(const FlatArrays& arrays) {
  Hdf5Writer file;
  file.add_attribute("", kFormatAttribute, int64_t{1});
  arrays.write_to(file);
  return file.bytes();
}

}  // namespace

LoggedSteps read_d4rl_steps(const std::string& path, const DatasetReadOptions& options,
                            SandboxOutput& output) {
  Hdf5File file(path);
  forbid_opening_files();
  const bool ours = file.integer_attribute(kFormatAttribute).has_value();
  return read_flat_steps(file, path, d4rl_keys(ours), options, output);
}

Json describe_plain_d4rl(const std::string& path) {
  try {
    const Json marks = PlainFile::marks(path);
    Hdf5File file(path);
    forbid_opening_files();
    const bool ours = file.integer_attribute(kFormatAttribute).has_value();
    PlainArrays arrays;
    int64_t elements = 0;
    for (const auto& name : d4rl_keys(ours).all()) {
      if (!file.has(name)) continue;
      const auto array = file.plain_array(name);
      if (!array) return {};
      elements += std::accumulate(array->shape.begin(), array->shape.end(), int64_t{1},
                                  std::multiplies<>());
      arrays.emplace(name, *array);
    }
    // Beyond the limit the other way says so.
    if (elements > kMaxHdf5Bytes / static_cast<int64_t>(sizeof(double))) return {};
    return {{"ours", ours}, {"plain", PlainFile::describe(marks, arrays)}};
  } catch (const Error&) {
    return {};  // the other way meets it too
  }
}

LoggedSteps read_plain_d4rl_steps(const std::string& path, const Json& description,
                                  const DatasetReadOptions& options, ArrayMemory& memory) {
  PlainFile file(path, description.at("plain"), memory);
  const auto keys = d4rl_keys(description.at("ours").get<bool>());
  return read_flat_steps(file, path, keys, options, memory);
}

void save_d4rl_dataset(const TransitionDataset& dataset, const std::string& path,
                       const Space* bounds) {
  const auto limits = SandboxLimits::for_writing(dataset.rows() * 8 *
                                                 (dataset.obs_dim() + dataset.action_dim() + 2));
  // In a child like the readers, so that no thread of this process ever holds libhdf5's lock.
  const auto result = run_in_sandbox(path, limits, [&](SandboxOutput& output) {
    const auto image = hdf5_bytes(FlatArrays(dataset, bounds));
    output.array(image.data(), static_cast<int64_t>(image.size()));
  });
  const auto image = result.arrays.at(0).span();
  write_file_atomically(posix_file_system(), path,
                        {reinterpret_cast<const char*>(image.data()), image.size()});
}

}  // namespace rl_training
