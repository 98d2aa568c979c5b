#include "rl_training/data/flat_layout.h"

#include <array>

#include "rl_training/data/npy_header.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

using Names = FlatKeys::Names;

// Returns the element of `names` that the file contains, or nothing. Throws if the file contains
// several of these names.
std::optional<std::string> find_key(ArraySource& source, const Names& names) {
  std::optional<std::string> found;
  for (const auto& name : names) {
    if (!source.has(name)) continue;
    if (found) {
      throw Error(ErrorKind::data, source.place(name), "the same data is also given as " + *found);
    }
    found = name;
  }
  return found;
}

std::string require_key(ArraySource& source, const Names& names, const std::string& role) {
  const auto key = find_key(source, names);
  if (key) return *key;
  throw_no_such_array(
      source, names.front(),
      "; map one to this role: " + role +
          (role == "terminated" ? "=..., or terminated=none if the task never terminates"
                                : "=..."));
}

[[noreturn]] void wrong_shape(ArraySource& source, const std::string& key,
                              const std::string& wanted) {
  const auto shape = source.shape(key);
  throw Error(ErrorKind::data, source.place(key),
              "wrong shape (expected " + wanted + ", got " + shape_text(shape) + ")" +
                  (shape.size() > 2 ? "; images and other multidimensional data are not read from "
                                      "files: encode or flatten them"
                                    : ""));
}

// Returns the number of columns. A negative `rows` or `dims` accepts any size.
int64_t check_matrix(ArraySource& source, const std::string& key, int64_t rows, int64_t dims) {
  const auto shape = source.shape(key);
  if (shape.size() != 2 || shape[1] < 1 || (rows >= 0 && shape[0] != rows) ||
      (dims >= 0 && shape[1] != dims)) {
    wrong_shape(source, key,
                "(" + (rows < 0 ? "rows" : std::to_string(rows)) + ", " +
                    (dims < 0 ? "dims" : std::to_string(dims)) + ")");
  }
  return shape[1];
}

void check_vector(ArraySource& source, const std::string& key, int64_t rows) {
  const auto shape = source.shape(key);
  const bool column = shape.size() == 2 && shape[1] == 1;
  if ((shape.size() != 1 && !column) || shape[0] != rows) {
    wrong_shape(source, key, shape_text(std::array{rows}));
  }
}

bool is_list_of_integers(ArraySource& source, const std::string& key) {
  return source.shape(key).size() == 1 && source.is_integer(key);
}

// Returns the number of columns.
int64_t check_actions(ArraySource& source, const std::string& key, int64_t rows, bool choices) {
  const bool vector = source.shape(key).size() == 1;
  if (choices && vector) {
    check_vector(source, key, rows);
    return 1;
  }
  if (vector && source.is_integer(key)) {
    wrong_shape(source, key,
                "(" + std::to_string(rows) + ", dims), because the environment is continuous");
  }
  if (vector) {
    throw Error(ErrorKind::data, source.place(key),
                "wrong shape (expected (" + std::to_string(rows) +
                    ", 1) for one continuous action; for discrete actions integers, --env or a "
                    "discrete algorithm; got " +
                    shape_text(source.shape(key)) + " of floats)");
  }
  return check_matrix(source, key, rows, -1);
}

}  // namespace

FlatKeys::Names FlatKeys::all() const {
  Names names;
  for (const auto* some :
       {&obs, &actions, &rewards, &terminals, &timeouts, &next_obs, &terminals_fallback,
        &episode_ends, &episode_starts, &last_observations, &next_actions, &next_action_valid}) {
    names.insert(names.end(), some->begin(), some->end());
  }
  return names;
}

FlatLayout find_flat_layout(ArraySource& source, const FlatKeys& keys, std::optional<bool> stated) {
  FlatLayout layout;
  layout.obs = require_key(source, keys.obs, "obs");
  layout.actions = require_key(source, keys.actions, "action");
  layout.rewards = require_key(source, keys.rewards, "reward");
  layout.terminals = find_key(source, keys.terminals);
  if (!layout.terminals) {
    layout.terminals = find_key(source, keys.terminals_fallback);
    layout.dones = layout.terminals.has_value();
  }
  layout.timeouts = find_key(source, keys.timeouts);
  layout.ends = find_key(source, keys.episode_ends);
  layout.starts = find_key(source, keys.episode_starts);
  layout.last_obs = find_key(source, keys.last_observations);
  layout.next_obs = find_key(source, keys.next_obs);
  layout.next_actions = find_key(source, keys.next_actions);
  layout.next_valid = find_key(source, keys.next_action_valid);
  // Episode starts can replace terminals only if there are no next observations. The last row of
  // each episode is then dropped anyway, so it does not matter whether that row is terminal.
  if (!layout.terminals && !keys.never_terminates && (!layout.starts || layout.next_obs)) {
    require_key(source, keys.terminals, "terminated");
  }

  layout.obs_dim = check_matrix(source, layout.obs, -1, -1);
  layout.rows = source.shape(layout.obs)[0];
  if (layout.rows == 0) throw Error(ErrorKind::data, source.place(layout.obs), "no rows");
  const bool choices = stated.value_or(is_list_of_integers(source, layout.actions));
  layout.choices = choices;
  layout.action_dim = check_actions(source, layout.actions, layout.rows, choices);
  check_vector(source, layout.rewards, layout.rows);
  if (layout.next_obs) check_matrix(source, *layout.next_obs, layout.rows, layout.obs_dim);
  if (layout.next_actions && choices) {
    check_vector(source, *layout.next_actions, layout.rows);
  } else if (layout.next_actions) {
    check_matrix(source, *layout.next_actions, layout.rows, layout.action_dim);
  }
  for (const auto& key : {layout.terminals, layout.timeouts, layout.ends, layout.starts,
                          layout.last_obs, layout.next_valid}) {
    if (key) check_vector(source, *key, layout.rows);
  }
  return layout;
}

}  // namespace rl_training
