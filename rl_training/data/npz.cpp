#include "rl_training/data/npz.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "rl_training/data/npz_archive.h"
#include "rl_training/data/npz_writer.h"
#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

using Names = std::vector<std::string>;

// The name under which an array is stored, or nothing. Two names for one thing are refused.
std::optional<std::string> find_key(const NpzReader& file, const Names& names) {
  std::optional<std::string> found;
  for (const auto& name : names) {
    if (!file.has(name)) continue;
    if (found) {
      throw Error(ErrorKind::data, file.place(name), "the same thing is also given as " + *found);
    }
    found = name;
  }
  return found;
}

std::string require_key(const NpzReader& file, const Names& names) {
  const auto key = find_key(file, names);
  if (key) return *key;
  throw Error(ErrorKind::data, file.place(names.front()), "the file has no such array");
}

// The arrays of a file with shapes that fit each other. Looking at the headers alone, this comes
// before any data are read.
struct Layout {
  std::string obs, actions, rewards;
  std::optional<std::string> terminals, timeouts, starts, next_obs, next_actions, next_valid;
  int64_t rows = 0, obs_dim = 0, action_dim = 0;
};

[[noreturn]] void wrong_shape(NpzReader& file, const std::string& key, const std::string& wanted) {
  throw Error(
      ErrorKind::data, file.place(key),
      "wrong shape (expected " + wanted + ", got " + shape_text(file.header(key).shape) + ")");
}

// dims < 0: any number of them.
int64_t check_matrix(NpzReader& file, const std::string& key, int64_t rows, int64_t dims) {
  const auto& shape = file.header(key).shape;
  if (shape.size() != 2 || shape[1] < 1 || (rows >= 0 && shape[0] != rows) ||
      (dims >= 0 && shape[1] != dims)) {
    wrong_shape(file, key,
                "(" + (rows < 0 ? "rows" : std::to_string(rows)) + ", " +
                    (dims < 0 ? "dims" : std::to_string(dims)) + ")");
  }
  return shape[1];
}

void check_vector(NpzReader& file, const std::string& key, int64_t rows) {
  const auto& shape = file.header(key).shape;
  const bool column = shape.size() == 2 && shape[1] == 1;
  if ((shape.size() != 1 && !column) || shape[0] != rows) {
    wrong_shape(file, key, shape_text(std::array{rows}));
  }
}

Layout find_layout(NpzReader& file) {
  Layout layout;
  layout.obs = require_key(file, {"observations", "obs"});
  layout.actions = require_key(file, {"actions"});
  layout.rewards = require_key(file, {"rewards"});
  layout.terminals = find_key(file, {"terminals", "terminations"});
  // Beside one of those, `dones` says less: it may count time-outs too.
  if (!layout.terminals) layout.terminals = find_key(file, {"dones"});
  layout.timeouts = find_key(file, {"timeouts", "truncations"});
  layout.starts = find_key(file, {"episode_starts"});
  layout.next_obs = find_key(file, {"next_observations", "next_obs"});
  layout.next_actions = find_key(file, {"next_actions"});
  layout.next_valid = find_key(file, {"next_action_valid"});
  // Episode starts can stand in for terminals only where every last row is dropped anyway:
  // guessing "never terminates" would be wrong.
  if (!layout.terminals && (!layout.starts || layout.next_obs)) require_key(file, {"terminals"});

  layout.obs_dim = check_matrix(file, layout.obs, -1, -1);
  layout.rows = file.header(layout.obs).shape[0];
  if (layout.rows == 0) throw Error(ErrorKind::data, file.place(layout.obs), "no rows");
  layout.action_dim = check_matrix(file, layout.actions, layout.rows, -1);
  check_vector(file, layout.rewards, layout.rows);
  if (layout.next_obs) check_matrix(file, *layout.next_obs, layout.rows, layout.obs_dim);
  if (layout.next_actions) check_matrix(file, *layout.next_actions, layout.rows, layout.action_dim);
  for (const auto& key : {layout.terminals, layout.timeouts, layout.starts, layout.next_valid}) {
    if (key) check_vector(file, *key, layout.rows);
  }
  return layout;
}

template <class T>
void check_finite(const NpzReader& file, const std::string& key, const std::vector<T>& values,
                  int64_t dims) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(static_cast<float>(values[i]))) continue;
    throw Error(
        ErrorKind::data, file.place(key),
        fmt::format("row {}, column {} is not a finite float (got {:g})",
                    static_cast<int64_t>(i) / dims, static_cast<int64_t>(i) % dims, values[i]));
  }
}

std::vector<float> read_matrix(NpzReader& file, const std::string& key, int64_t dims) {
  auto values = file.read_floats(key);
  check_finite(file, key, values, dims);
  return values;
}

std::vector<float> read_actions(NpzReader& file, const std::string& key, int64_t dims,
                                const ActionBounds* bounds) {
  if (!bounds) return read_matrix(file, key, dims);
  const auto values = file.read_doubles(key);
  check_finite(file, key, values, dims);
  std::vector<float> actions(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    actions[i] = bounds->to_unit(static_cast<int64_t>(i) % dims, values[i]);
  }
  return actions;
}

std::vector<uint8_t> read_flags(NpzReader& file, const std::optional<std::string>& key,
                                int64_t rows) {
  std::vector<uint8_t> flags(static_cast<size_t>(rows), 0);
  if (!key) return flags;
  const auto values = file.read_doubles(*key);
  for (size_t row = 0; row < values.size(); ++row) {
    if (values[row] != 0 && values[row] != 1) {
      throw Error(
          ErrorKind::data, file.place(*key),
          fmt::format("row {} is not a flag (expected 0 or 1, got {:g})", row, values[row]));
    }
    flags[row] = values[row] != 0 ? 1 : 0;
  }
  return flags;
}

struct Content {
  std::vector<float> obs, next_obs, actions;
  std::vector<double> rewards;
  std::vector<uint8_t> terminals, timeouts, starts;
};

// Rows to keep, in order, as transitions in `builder`.
std::vector<int64_t> add_rows(const Layout& layout, const Content& content,
                              DatasetBuilder& builder) {
  const auto dims = static_cast<size_t>(layout.obs_dim);
  const auto obs = [&](int64_t row) {
    return std::span(content.obs).subspan(static_cast<size_t>(row) * dims, dims);
  };
  std::vector<int64_t> kept;
  for (int64_t row = 0; row < layout.rows; ++row) {
    if (!builder.episode_open()) builder.begin_episode(obs(row));
    const bool terminal = content.terminals[row] != 0;
    const bool flagged = terminal || content.timeouts[row] != 0;
    const bool file_ends = row + 1 == layout.rows;
    bool last = flagged || file_ends || content.starts[row + 1] != 0;
    std::span<const float> next;
    if (layout.next_obs) {
      next = std::span(content.next_obs).subspan(static_cast<size_t>(row) * dims, dims);
      if (!last) last = std::memcmp(next.data(), obs(row + 1).data(), next.size_bytes()) != 0;
    } else if (!last) {
      next = obs(row + 1);
    } else if (terminal) {
      next = obs(row);  // a stand-in that termination masks
    }
    if (!next.empty()) {
      const auto action_dim = static_cast<size_t>(layout.action_dim);
      const auto action =
          std::span(content.actions).subspan(static_cast<size_t>(row) * action_dim, action_dim);
      builder.add(action, static_cast<float>(content.rewards[row]), next, terminal,
                  content.timeouts[row] != 0);
      kept.push_back(row);
    }
    if (last && !file_ends) builder.begin_episode(obs(row + 1));
  }
  return kept;
}

void add_next_actions(NpzReader& file, const Layout& layout, const ActionBounds* bounds,
                      const std::vector<int64_t>& kept, DatasetBuilder& builder) {
  const auto all = read_actions(file, *layout.next_actions, layout.action_dim, bounds);
  const auto all_valid = read_flags(file, layout.next_valid, layout.rows);
  std::vector<float> actions;
  std::vector<uint8_t> valid;
  for (const int64_t row : kept) {
    const auto first = all.begin() + row * layout.action_dim;
    actions.insert(actions.end(), first, first + layout.action_dim);
    valid.push_back(layout.next_valid ? all_valid[row] : 1);
  }
  builder.give_next_actions(std::move(actions), valid);
}

}  // namespace

TransitionDataset load_npz_dataset(const std::string& path, const ActionBounds* bounds,
                                   DatasetFileSummary* summary) {
  NpzReader file(path);
  const Layout layout = find_layout(file);
  if (bounds && bounds->dims() != layout.action_dim) {
    throw Error(ErrorKind::data, file.place(layout.actions),
                "the environment has other actions (expected " + std::to_string(bounds->dims()) +
                    " columns, got " + std::to_string(layout.action_dim) + ")");
  }
  Content content;
  content.obs = read_matrix(file, layout.obs, layout.obs_dim);
  content.actions = read_actions(file, layout.actions, layout.action_dim, bounds);
  content.rewards = file.read_doubles(layout.rewards);
  check_finite(file, layout.rewards, content.rewards, 1);
  content.terminals = read_flags(file, layout.terminals, layout.rows);
  content.timeouts = read_flags(file, layout.timeouts, layout.rows);
  content.starts = read_flags(file, layout.starts, layout.rows);
  if (layout.next_obs) content.next_obs = read_matrix(file, *layout.next_obs, layout.obs_dim);

  DatasetBuilder builder(layout.obs_dim, layout.action_dim);
  const auto kept = add_rows(layout, content, builder);
  if (kept.empty()) {
    throw Error(ErrorKind::data, {path, 0, ""}, "no row has a successor, nothing to learn from");
  }
  if (layout.next_actions) add_next_actions(file, layout, bounds, kept, builder);
  if (summary) {
    *summary = {};
    summary->rows = layout.rows;
    for (const uint8_t flag : content.terminals) summary->terminals += flag;
    for (const uint8_t flag : content.timeouts) summary->timeouts += flag;
    for (const double reward : content.rewards) summary->reward_sum += reward;
    summary->has_next_observations = layout.next_obs.has_value();
    summary->dropped_rows = layout.rows - static_cast<int64_t>(kept.size());
  }
  return std::move(builder).build();
}

void save_npz_dataset(const TransitionDataset& dataset, const std::string& path) {
  std::vector<float> obs, next_obs, actions, rewards, next_actions;
  std::vector<uint8_t> terminals, timeouts, next_valid, starts;
  const int64_t obs_dim = dataset.obs_dim(), action_dim = dataset.action_dim();
  for (int64_t row = 0; row < dataset.rows(); ++row) {
    obs.insert(obs.end(), dataset.obs(row), dataset.obs(row) + obs_dim);
    next_obs.insert(next_obs.end(), dataset.next_obs(row), dataset.next_obs(row) + obs_dim);
    actions.insert(actions.end(), dataset.action(row), dataset.action(row) + action_dim);
    rewards.push_back(dataset.reward(row));
    terminals.push_back(dataset.terminated(row) ? 1 : 0);
    timeouts.push_back(dataset.truncated(row) ? 1 : 0);
    if (!dataset.has_next_actions()) continue;
    const float* next = dataset.next_action(row);
    next_actions.insert(next_actions.end(), next, next + action_dim);
    next_valid.push_back(dataset.next_action_valid(row) ? 1 : 0);
  }
  // Episodes that end without a flag could not be told apart otherwise.
  bool unflagged_end = false;
  starts.assign(static_cast<size_t>(dataset.rows()), 0);
  for (const Episode& episode : dataset.episodes()) {
    starts[static_cast<size_t>(episode.first_row)] = 1;
    const int64_t last = episode.first_row + episode.rows - 1;
    if (!dataset.terminated(last) && !dataset.truncated(last)) unflagged_end = true;
  }

  NpzWriter file;
  const std::array<int64_t, 2> obs_shape = {dataset.rows(), obs_dim};
  const std::array<int64_t, 2> action_shape = {dataset.rows(), action_dim};
  file.add("observations", obs_shape, std::span<const float>(obs));
  file.add("actions", action_shape, std::span<const float>(actions));
  file.add("rewards", std::array{dataset.rows()}, std::span<const float>(rewards));
  file.add("next_observations", obs_shape, std::span<const float>(next_obs));
  file.add_flags("terminals", terminals);
  file.add_flags("timeouts", timeouts);
  if (dataset.has_next_actions()) {
    file.add("next_actions", action_shape, std::span<const float>(next_actions));
    file.add_flags("next_action_valid", next_valid);
  }
  if (unflagged_end) file.add_flags("episode_starts", starts);
  write_file_atomically(posix_file_system(), path, file.bytes());
}

}  // namespace rl_training
