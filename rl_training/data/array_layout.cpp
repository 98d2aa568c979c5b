#include "rl_training/data/array_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "rl_training/data/npy_header.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

using Warnings = std::vector<DatasetWarning>;

// Keys of derived arrays. The parentheses avoid clashes with array names in files.
constexpr const char* kObs = "(obs)";
constexpr const char* kActions = "(actions)";
constexpr const char* kRewards = "(rewards)";
constexpr const char* kTerminals = "(terminals)";
constexpr const char* kStarts = "(episode starts)";
constexpr const char* kLastObservations = "(last observations)";

void require_array(MappedArrays& arrays, const std::string& name) {
  if (!arrays.has(name)) throw_no_such_array(arrays, name);
}

int64_t rows_of(MappedArrays& arrays, const std::string& name) {
  require_array(arrays, name);
  const auto shape = arrays.shape(name);
  if (!shape.empty()) return shape[0];
  throw Error(ErrorKind::data, arrays.place(name), "wrong shape (expected rows, got a number)");
}

// Adds the array `key`: a vector of `rows` values that `compute` derives from the array `name`.
template <class Compute>
void derive_vector(MappedArrays& arrays, const char* key, const std::string& name, int64_t rows,
                   const Compute& compute) {
  require_array(arrays, name);
  arrays.add(key, {name, {rows}, [&arrays, name, rows, compute] {
                     auto result = compute(arrays.file().read_doubles(name));
                     result.resize(static_cast<size_t>(rows), 0.0);
                     return result;
                   }});
}

void use_zero_rewards(MappedArrays& arrays, FlatKeys& keys, const std::string& obs,
                      Warnings& warnings) {
  const int64_t rows = rows_of(arrays, obs);
  arrays.add(kRewards, {"rewards", {rows}, [rows] {
                          return std::vector<double>(static_cast<size_t>(rows));
                        }});
  keys.rewards = {kRewards};
  warnings.push_back({"no_rewards",
                      "the file has no rewards: they are set to 0, from which only bc can learn",
                      {}});
}

void apply_ogbench(MappedArrays& arrays, FlatKeys& keys, Warnings& warnings) {
  keys.obs = {"observations"};
  keys.actions = {"actions"};
  keys.rewards = {"rewards"};
  keys.terminals = keys.terminals_fallback = {};
  keys.episode_ends = {"terminals"};
  require_array(arrays, "terminals");
  if (!arrays.has("rewards")) use_zero_rewards(arrays, keys, "observations", warnings);
  keys.never_terminates = !arrays.has("masks");
  if (keys.never_terminates) return;
  derive_vector(arrays, kTerminals, "masks", rows_of(arrays, "masks"),
                [](std::vector<double> masks) {
                  for (auto& mask : masks) mask = 1 - mask;
                  return masks;
                });
  keys.terminals = {kTerminals};
}

// `index` lists the rows where trajectories begin. Some files omit row 0, and some also list the
// row count as the end of the last trajectory. The episodes are the same in all cases.
void apply_neorl(MappedArrays& arrays, FlatKeys& keys, Warnings&) {
  keys.obs = {"obs"};
  keys.actions = {"action"};
  keys.rewards = {"reward"};
  keys.next_obs = {"next_obs"};
  keys.terminals = {};
  keys.terminals_fallback = {"done"};
  if (!arrays.has("index")) return;
  const int64_t rows = rows_of(arrays, "obs");
  const auto place = arrays.place("index");
  derive_vector(arrays, kStarts, "index", rows, [rows, place](const std::vector<double>& index) {
    std::vector<double> starts(static_cast<size_t>(rows), 0.0);
    for (const double row : index) {
      if (!(row >= 0 && row <= static_cast<double>(rows)) || row != std::floor(row)) {
        throw Error(ErrorKind::data, place,
                    "is no row (expected 0 to " + std::to_string(rows) + ")");
      }
      if (row < static_cast<double>(rows)) starts[static_cast<size_t>(row)] = 1;
    }
    return starts;
  });
  keys.episode_starts = {kStarts};
}

// Adds the array `key`: the array `name` without its first row, followed by a row of zeros.
void derive_shifted(MappedArrays& arrays, const char* key, const std::string& name) {
  require_array(arrays, name);
  const auto shape = arrays.shape(name);
  const int64_t rows = rows_of(arrays, name);
  arrays.add(key, {name, shape, [&arrays, name, rows] {
                     auto values = arrays.file().read_doubles(name);
                     const auto width =
                         rows == 0 ? 0 : static_cast<std::ptrdiff_t>(values.size()) / rows;
                     std::rotate(values.begin(), values.begin() + width, values.end());
                     std::fill(values.end() - width, values.end(), 0.0);
                     return values;
                   }});
}

void apply_exorl(MappedArrays& arrays, FlatKeys& keys, Warnings&) {
  keys.obs = {"observation"};
  derive_shifted(arrays, kActions, "action");
  derive_shifted(arrays, kRewards, "reward");
  keys.actions = {kActions};
  keys.rewards = {kRewards};
  keys.terminals = {kTerminals};
  keys.last_observations = {kLastObservations};
  const int64_t rows = rows_of(arrays, "observation");
  derive_vector(arrays, kTerminals, "discount", rows, [](const std::vector<double>& discounts) {
    std::vector<double> ends;
    for (size_t i = 1; i < discounts.size(); ++i) ends.push_back(discounts[i] == 0 ? 1 : 0);
    return ends;
  });
  derive_vector(arrays, kLastObservations, "observation", rows, [rows](const auto&) {
    std::vector<double> last(static_cast<size_t>(rows), 0.0);
    if (!last.empty()) last.back() = 1;
    return last;
  });
}

// Returns, for each trajectory, the row of `obs` with its last observation.
std::vector<int64_t> imitation_ends(MappedArrays& arrays, int64_t rows) {
  const auto indices = arrays.file().read_doubles("indices");
  std::vector<int64_t> ends;
  const auto steps = static_cast<double>(rows) - static_cast<double>(indices.size()) - 1;
  for (size_t i = 0; i < indices.size(); ++i) {
    const double before = i == 0 ? 0 : indices[i - 1];
    if (!(indices[i] >= before && indices[i] <= steps) || indices[i] != std::floor(indices[i])) {
      throw Error(ErrorKind::data, arrays.place("indices"),
                  "entry " + std::to_string(i) + " does not fit the trajectories in obs");
    }
    ends.push_back(static_cast<int64_t>(indices[i]) + static_cast<int64_t>(i));
  }
  ends.push_back(rows - 1);
  return ends;
}

// Adds the array `key`: the array `name` with a row of zeros after each trajectory.
void derive_padded(MappedArrays& arrays, const char* key, const std::string& name,
                   const std::vector<int64_t>& ends) {
  auto shape = arrays.shape(name);
  const int64_t steps = rows_of(arrays, name), rows = ends.back() + 1;
  if (steps + static_cast<int64_t>(ends.size()) != rows) {
    throw Error(ErrorKind::data, arrays.place(name),
                "wrong shape (expected " +
                    std::to_string(rows - static_cast<int64_t>(ends.size())) + " rows, got " +
                    shape_text(shape) + ")");
  }
  shape[0] = rows;
  arrays.add(key,
             {name, shape, [&arrays, name, ends, rows, steps] {
                const auto values = arrays.file().read_doubles(name);
                const size_t width = steps == 0 ? 1 : values.size() / static_cast<size_t>(steps);
                std::vector<double> padded;
                size_t trajectory = 0, from = 0;
                for (int64_t row = 0; row < rows; ++row) {
                  if (row == ends[trajectory]) {
                    padded.resize(padded.size() + width, 0.0);
                    ++trajectory;
                    continue;
                  }
                  const auto start = values.begin() + static_cast<std::ptrdiff_t>(from);
                  padded.insert(padded.end(), start, start + static_cast<std::ptrdiff_t>(width));
                  from += width;
                }
                return padded;
              }});
}

void apply_imitation(MappedArrays& arrays, FlatKeys& keys, Warnings& warnings) {
  for (const char* name : {"obs", "acts", "terminal", "indices"}) require_array(arrays, name);
  const int64_t rows = rows_of(arrays, "obs");
  if (rows == 0) throw Error(ErrorKind::data, arrays.place("obs"), "no rows");
  const auto ends = imitation_ends(arrays, rows);
  keys.obs = {"obs"};
  keys.actions = {kActions};
  derive_padded(arrays, kActions, "acts", ends);
  keys.rewards = {kRewards};
  if (arrays.has("rews")) {
    derive_padded(arrays, kRewards, "rews", ends);
  } else {
    use_zero_rewards(arrays, keys, "obs", warnings);
  }
  if (rows_of(arrays, "terminal") != static_cast<int64_t>(ends.size())) {
    throw Error(ErrorKind::data, arrays.place("terminal"),
                "wrong shape (expected " + std::to_string(ends.size()) + " trajectories, got " +
                    shape_text(arrays.shape("terminal")) + ")");
  }
  keys.terminals = {kTerminals};
  derive_vector(arrays, kTerminals, "terminal", rows, [ends, rows](const auto& terminal) {
    std::vector<double> flags(static_cast<size_t>(rows), 0.0);
    for (size_t i = 0; i < ends.size(); ++i) {
      const int64_t last_step = ends[i] - 1;
      const bool has_steps = last_step > (i == 0 ? -1 : ends[i - 1]);
      if (has_steps) flags[static_cast<size_t>(last_step)] = terminal[i];
    }
    return flags;
  });
  keys.last_observations = {kLastObservations};
  derive_vector(arrays, kLastObservations, "indices", rows, [ends, rows](const auto&) {
    std::vector<double> last(static_cast<size_t>(rows), 0.0);
    for (const int64_t row : ends) last[static_cast<size_t>(row)] = 1;
    return last;
  });
}

struct Layout {
  const char* name;
  void (*apply)(MappedArrays& arrays, FlatKeys& keys, Warnings& warnings);
  // A file has this layout if it contains every array of `all`, no array of `none`, and at least
  // one array of `any`. An empty `any` imposes no condition.
  std::vector<std::string> all, none, any;
};

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> table = {
      {"ogbench",
       apply_ogbench,
       {"observations", "actions", "terminals"},
       {"rewards", "timeouts"},
       {"qpos", "qvel"}},
      {"neorl", apply_neorl, {"obs", "action", "reward", "done", "next_obs", "index"}, {}, {}},
      {"exorl", apply_exorl, {"observation", "action", "reward", "discount"}, {"observations"}, {}},
      {"imitation", apply_imitation, {"obs", "acts", "terminal", "indices"}, {}, {}}};
  return table;
}

void derive_starts_from_numbers(MappedArrays& arrays, FlatKeys& keys, const std::string& name) {
  derive_vector(arrays, kStarts, name, rows_of(arrays, name), [](const std::vector<double>& ids) {
    std::vector<double> starts(ids.size(), 0.0);
    for (size_t i = 1; i < ids.size(); ++i) starts[i] = ids[i] != ids[i - 1] ? 1 : 0;
    return starts;
  });
  keys.episode_starts = {kStarts};
}

void apply_names(const KeyMap& map, MappedArrays& arrays, FlatKeys& keys) {
  const auto several = [&](const char* role, const char* key, FlatKeys::Names& target) {
    const auto found = map.names.find(role);
    if (found == map.names.end()) return;
    if (found->second.size() == 1) {
      require_array(arrays, found->second[0]);
      target = found->second;
    } else {
      arrays.add_side_by_side(key, found->second);
      target = {key};
    }
  };
  const auto single = [&](const char* role) -> std::string {
    const auto found = map.names.find(role);
    if (found == map.names.end()) return "";
    if (found->second.size() != 1) {
      throw Error(ErrorKind::data, arrays.place(role), "expected one array in the map of names");
    }
    require_array(arrays, found->second[0]);
    return found->second[0];
  };
  several("obs", kObs, keys.obs);
  several("action", kActions, keys.actions);
  several("next_obs", "(next_obs)", keys.next_obs);
  if (const auto name = single("reward"); !name.empty()) keys.rewards = {name};
  if (const auto name = single("timeout"); !name.empty()) keys.timeouts = {name};
  if (const auto name = single("episode"); !name.empty()) {
    derive_starts_from_numbers(arrays, keys, name);
  }
  if (const auto name = single("episode_end"); !name.empty()) {
    keys.episode_ends = {name};
    std::erase(keys.terminals, name);
    std::erase(keys.terminals_fallback, name);
    keys.never_terminates = true;  // makes the terminals optional
  }
  if (map.never_terminates()) {
    keys.terminals = keys.terminals_fallback = {};
    keys.never_terminates = true;
    return;
  }
  const auto terminated = single("terminated"), done = single("done");
  if (!terminated.empty() && !is_done_name(terminated)) {
    keys.terminals = {terminated};
    keys.terminals_fallback = {};
  } else if (!terminated.empty() || !done.empty()) {
    keys.terminals = {};
    keys.terminals_fallback = {done.empty() ? terminated : done};
  }
}

}  // namespace

std::vector<std::string> array_layouts() {
  std::vector<std::string> names;
  for (const auto& layout : layouts()) names.emplace_back(layout.name);
  return names;
}

std::string recognise_layout(ArraySource& file) {
  const auto has = [&](const std::string& name) { return file.has(name); };
  for (const auto& layout : layouts()) {
    if (!std::all_of(layout.all.begin(), layout.all.end(), has)) continue;
    if (std::any_of(layout.none.begin(), layout.none.end(), has)) continue;
    if (layout.any.empty() || std::any_of(layout.any.begin(), layout.any.end(), has)) {
      return layout.name;
    }
  }
  return "";
}

std::vector<DatasetWarning> apply_key_map(const KeyMap& map, MappedArrays& arrays, FlatKeys& keys) {
  Warnings warnings;
  if (!map.layout.empty()) {
    const auto found = std::find_if(layouts().begin(), layouts().end(), [&](const Layout& layout) {
      return map.layout == layout.name;
    });
    if (found == layouts().end()) {
      throw Error(ErrorKind::data, arrays.place(""),
                  "unknown layout of arrays `" + shortened(map.layout, 40) + "` (expected " +
                      join(array_layouts(), ", ") + ", or role=name,name" +
                      did_you_mean(map.layout, array_layouts()) + ")");
    }
    found->apply(arrays, keys, warnings);
  }
  apply_names(map, arrays, keys);
  return warnings;
}

}  // namespace rl_training
