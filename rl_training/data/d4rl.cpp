#include "rl_training/data/d4rl.h"

#include <functional>
#include <numeric>
#include <string_view>

#include "rl_training/data/array_layout.h"
#include "rl_training/data/column_names.h"
#include "rl_training/data/flat_arrays.h"
#include "rl_training/data/flat_steps.h"
#include "rl_training/data/hdf5_file.h"
#include "rl_training/data/hdf5_writer.h"
#include "rl_training/data/plain_file.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

// This attribute marks files written by this program. In these files, the next observation of the
// last step of an episode is the true one, never the first observation of the following episode.
// Format 1 stores the time-out flags of steps in `timeouts`. Format 2 marks episode ends as
// described at FlatEnds::last_observations (flat_arrays.h).
constexpr const char* kFormatAttribute = "rl_training_format";
constexpr int64_t kFormat = 2;

// `format` is the value of kFormatAttribute, or 0 for files of other programs.
FlatKeys d4rl_keys(int64_t format) {
  const bool ours = format > 0;
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
  if (format >= 2) {
    keys.timeouts = {"truncations"};
    keys.last_observations = {"timeouts"};
  }
  keys.episode_starts = {"episode_starts"};
  keys.next_actions = {"next_actions"};
  keys.next_action_valid = {"next_action_valid"};
  return keys;
}

int64_t format_of(Hdf5File& file, const std::string& path) {
  const int64_t format = file.integer_attribute(kFormatAttribute).value_or(0);
  if (format >= 0 && format <= kFormat) return format;
  throw Error(ErrorKind::data, {path, 0, kFormatAttribute},
              "written by a newer version (expected at most " + std::to_string(kFormat) + ", got " +
                  std::to_string(format) + ")");
}

std::vector<char> hdf5_bytes(const TransitionDataset& dataset, const Space* bounds) {
  const FlatArrays arrays(dataset, bounds, FlatEnds::last_observations);
  Hdf5Writer file;
  file.add_attribute("", kFormatAttribute, kFormat);
  if (const auto names = names_to_text(dataset); !names.empty()) {
    file.add_attribute("", kNamesKey, names);
  }
  arrays.write_to(file);
  return file.bytes();
}

}  // namespace

LoggedSteps read_d4rl_steps(const std::string& path, const DatasetReadOptions& options,
                            SandboxOutput& output) {
  Hdf5File file(path);
  forbid_opening_files();
  MappedArrays arrays(file);
  auto keys = d4rl_keys(format_of(file, path));
  const auto map = KeyMap::parse({path, 0, ""}, options.keys);
  const auto warnings = apply_key_map(map, arrays, keys);
  auto steps = read_flat_steps(arrays, path, keys, options, output);
  steps.warnings.insert(steps.warnings.end(), warnings.begin(), warnings.end());
  if (const auto names = file.text_attribute(kNamesKey)) names_from_text(*names, steps);
  return steps;
}

Json describe_plain_d4rl(const std::string& path) {
  try {
    const Json marks = PlainFile::marks(path);
    Hdf5File file(path);
    forbid_opening_files();
    if (file.text_attribute(kNamesKey)) return {};  // read_d4rl_steps reads the names
    const int64_t format = format_of(file, path);
    const auto keys = d4rl_keys(format);
    for (const auto* required : {&keys.obs, &keys.actions, &keys.rewards, &keys.terminals}) {
      if (!file.has(required->front())) return {};  // read_d4rl_steps reports the missing array
    }
    PlainArrays arrays;
    int64_t elements = 0;
    for (const auto& name : keys.all()) {
      if (!file.has(name)) continue;
      const auto array = file.plain_array(name);
      if (!array) return {};
      elements += std::accumulate(array->shape.begin(), array->shape.end(), int64_t{1},
                                  std::multiplies<>());
      arrays.emplace(name, *array);
    }
    // Counts 8 bytes per element. Files above the limit are left to read_d4rl_steps, which counts
    // the memory that each array really needs and throws if the sum exceeds the limit.
    if (elements > kMaxHdf5Bytes / static_cast<int64_t>(sizeof(double))) return {};
    return {{"format", format}, {"plain", PlainFile::describe(marks, arrays)}};
  } catch (const Error&) {
    return {};  // the caller then uses read_d4rl_steps, which throws the same error
  }
}

LoggedSteps read_plain_d4rl_steps(const std::string& path, const Json& description,
                                  const DatasetReadOptions& options, ArrayMemory& memory) {
  PlainFile file(path, description.at("plain"), memory);
  const auto keys = d4rl_keys(description.at("format").get<int64_t>());
  return read_flat_steps(file, path, keys, options, memory);
}

void save_d4rl_dataset(const TransitionDataset& dataset, const std::string& path,
                       const Space* bounds) {
  const auto limits = SandboxLimits::for_writing(dataset.rows() * 8 *
                                                 (dataset.obs_dim() + dataset.action_dim() + 2));
  // Calls libhdf5 only in a child process, as the readers do. If a thread of this process held the
  // lock of libhdf5 during a fork, the lock would stay locked in the child.
  const auto result = run_in_sandbox(path, limits, [&](SandboxOutput& output) {
    const auto image = hdf5_bytes(dataset, bounds);
    output.array(image.data(), static_cast<int64_t>(image.size()));
  });
  const auto image = result.arrays.at(0).span();
  write_file_atomically(posix_file_system(), path,
                        {reinterpret_cast<const char*>(image.data()), image.size()});
}

}  // namespace rl_training
