#include "rl_training/data/flat_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "rl_training/util/error.h"

namespace rl_training {
namespace {

// Whether a predicate is true for all values. Blocks of sixteen values without an early exit let
// the compiler vectorise the loop.
template <class T, class Test>
bool all_pass(std::span<const T> values, const Test& test) {
  constexpr size_t kLanes = 16;
  const size_t whole = values.size() / kLanes * kLanes;
  std::array<T, kLanes> failed{};
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) failed[k] += test(values[i + k]) ? T{0} : T{1};
  }
  bool fine = std::all_of(failed.begin(), failed.end(), [](T count) { return count == 0; });
  for (size_t i = whole; i < values.size(); ++i) fine &= test(values[i]);
  return fine;
}

// Whether the value is finite as a float. 0x1.ffffffp127 is the smallest positive double that
// rounds to an infinite float.
bool is_finite_float(float value) { return std::abs(value) <= std::numeric_limits<float>::max(); }
bool is_finite_float(double value) { return std::abs(value) < 0x1.ffffffp127; }

template <class T>
void check_all_finite(const ErrorPlace& place, std::span<const T> values, int64_t columns,
                      int64_t first_row) {
  const auto is_finite = [](T value) { return is_finite_float(value); };
  if (all_pass(values, is_finite)) return;
  const auto wrong = std::find_if_not(values.begin(), values.end(), is_finite);
  const int64_t index = wrong - values.begin();
  throw Error(ErrorKind::data, place,
              fmt::format("row {}, column {} is not a finite float (got {:g})",
                          first_row + index / columns, index % columns, *wrong));
}

// Sets `mark` where the flags under `key` are set.
void add_marks(ArraySource& source, const std::optional<std::string>& key, uint8_t mark,
               std::vector<uint8_t>& marks) {
  if (!key) return;
  const auto set = [&](int64_t first_row, std::span<const double> values) {
    const auto flags = to_flags(source.place(*key), values, first_row);
    uint8_t* target = marks.data() + first_row;
    for (size_t i = 0; i < flags.size(); ++i) target[i] |= flags[i] != 0 ? mark : uint8_t{0};
  };
  source.read_blocks(*key, ArraySource::BlockUser<double>(set));
}

// An array such as `dones` usually marks every end of an episode. This function clears the terminal
// flag of rows that are also marked as time-outs.
void sort_out_dones(const FlatLayout& layout, std::vector<uint8_t>& marks,
                    std::vector<DatasetWarning>& warnings) {
  using Steps = LoggedSteps;
  for (auto& mark : marks) {
    if ((mark & Steps::kTimeout) != 0) mark &= static_cast<uint8_t>(~Steps::kTerminal);
  }
  warnings.push_back(
      {"dones",
       "`" + *layout.terminals + "` is treated as termination" +
           (layout.timeouts ? " where there is no time-out"
                            : ": at time-outs among them, bootstrapping wrongly stops"),
       std::nullopt});
}

// Marks episode ends that the file does not flag as terminations or time-outs: the rows that
// `layout.ends` marks, the row before each row that `layout.starts` marks, and the rows at the time
// limit in the options.
void add_implied_ends(ArraySource& source, const FlatLayout& layout,
                      const DatasetReadOptions& options, std::vector<uint8_t>& marks) {
  using Steps = LoggedSteps;
  if (layout.ends) {
    std::vector<uint8_t> ends(marks.size(), 0);
    add_marks(source, layout.ends, 1, ends);
    for (size_t row = 0; row < ends.size(); ++row) {
      const bool flagged = (marks[row] & (Steps::kTerminal | Steps::kTimeout)) != 0;
      if (ends[row] != 0 && !flagged) marks[row] |= Steps::kTimeout;
    }
  }
  if (layout.starts) {
    std::vector<uint8_t> starts(marks.size(), 0);
    add_marks(source, layout.starts, 1, starts);
    for (size_t row = 1; row < starts.size(); ++row) {
      if (starts[row] != 0) marks[row - 1] |= Steps::kLast;
    }
  }
  if (layout.timeouts || layout.ends || layout.starts || options.episode_length <= 0) return;
  int64_t steps = 0;
  for (auto& mark : marks) {
    ++steps;
    if ((mark & Steps::kTerminal) == 0 && steps == options.episode_length) mark |= Steps::kTimeout;
    if ((mark & (Steps::kTerminal | Steps::kTimeout)) != 0) steps = 0;
  }
}

Column<double> read_rewards(ArraySource& source, const FlatLayout& layout,
                            const DatasetReadOptions& options) {
  HeapMemory memory;
  const ColumnBuffer<double> rewards(memory, layout.rows);
  const auto take = [&](int64_t first_row, std::span<const double> values) {
    if (!options.allow_nonfinite) check_finite(source.place(layout.rewards), values, 1, first_row);
    std::copy(values.begin(), values.end(), rewards.data + first_row);
  };
  source.read_blocks(layout.rewards, ArraySource::BlockUser<double>(take));
  return rewards.column(layout.rows);
}

// Returns the number of consecutive rows without a mark, from `row` up to but not including
// `end_row` or the last row of the file.
int64_t inner_rows(const std::vector<uint8_t>& marks, int64_t row, int64_t end_row) {
  const int64_t limit = std::min(end_row, static_cast<int64_t>(marks.size()) - 1);
  int64_t end = row;
  while (end < limit && marks[static_cast<size_t>(end)] == 0) ++end;
  return end - row;
}

// Returns the next observations that must be stored separately, and marks their rows with
// kOwnSuccessor. Rows marked with kObservationOnly are skipped. The marked rows are
// - rows whose next observation differs from the observation of the following row (if such a row
//   does not end an episode, it is also marked with kBreak);
// - the last row of the file;
// - if `trust_equal` is true, all rows that end an episode.
std::vector<float> find_successors(ArraySource& source, const FlatLayout& layout,
                                   const DatasetReadOptions& options, std::span<const float> obs,
                                   bool trust_equal, std::vector<uint8_t>& marks) {
  using Steps = LoggedSteps;
  const auto width = static_cast<size_t>(layout.obs_dim);
  const auto equal = [&](const float* own, int64_t row, int64_t rows) {
    return std::memcmp(own, obs.data() + static_cast<size_t>(row) * width,
                       static_cast<size_t>(rows) * width * sizeof(float)) == 0;
  };
  std::mutex mutex;
  std::map<int64_t, std::vector<float>> found;  // key: first row of the block
  const auto look = [&](int64_t first_row, std::span<const float> next) {
    if (!options.allow_nonfinite) {
      check_finite(source.place(*layout.next_obs), next, layout.obs_dim, first_row);
    }
    std::vector<float> successors;
    const int64_t end_row = first_row + static_cast<int64_t>(next.size() / width);
    int64_t one_by_one = first_row;  // rows before this row are compared one by one
    for (int64_t row = first_row; row < end_row; ++row) {
      const float* own = next.data() + static_cast<size_t>(row - first_row) * width;
      if (row >= one_by_one) {
        // Inside an episode, the next observation of a row usually equals the observation of the
        // following row. One memcmp() therefore compares all rows up to the end of the episode.
        const int64_t stretch = inner_rows(marks, row, end_row);
        one_by_one = row + stretch;
        if (stretch > 0 && equal(own, row + 1, stretch)) {
          row = one_by_one - 1;
          continue;
        }
      }
      auto& mark = marks[static_cast<size_t>(row)];
      if ((mark & Steps::kObservationOnly) != 0) continue;
      const bool file_ends = row + 1 == layout.rows;
      const bool differs = file_ends || !equal(own, row + 1, 1);
      const bool ends = (mark & (Steps::kTerminal | Steps::kTimeout | Steps::kLast)) != 0;
      if (differs && !ends && !file_ends) mark |= Steps::kBreak;
      if (!differs && !(ends && trust_equal)) continue;
      mark |= Steps::kOwnSuccessor;
      successors.insert(successors.end(), own, own + width);
    }
    const std::lock_guard lock(mutex);
    found.emplace(first_row, std::move(successors));
  };
  source.read_blocks(*layout.next_obs, ArraySource::BlockUser<float>(look));
  std::vector<float> all;
  for (const auto& [row, successors] : found) {
    all.insert(all.end(), successors.begin(), successors.end());
  }
  return all;
}

// Number of slots to allocate. Except under TimeoutPolicy::drop, each row that ends an episode, and
// the last row of the file, may need one more slot for its successor. If the number turns out too
// small, make_transitions() allocates again.
int64_t slots_to_reserve(const std::vector<uint8_t>& marks, const DatasetReadOptions& options) {
  auto slots = static_cast<int64_t>(marks.size());
  if (options.timeout_policy == TimeoutPolicy::drop) return slots;
  for (const uint8_t mark : marks) slots += mark != 0 ? 1 : 0;
  return slots + 1;
}

void check_block(ArraySource& source, const std::string& key, const DatasetReadOptions& options,
                 int64_t columns, int64_t first_row, std::span<const float> values) {
  if (!options.allow_nonfinite) check_finite(source.place(key), values, columns, first_row);
}

// Returns the action space of a file that has discrete actions but does not state how many actions
// there are. The number of actions is the largest action in the file plus 1.
Space find_choices(ArraySource& source, const FlatLayout& layout) {
  constexpr int64_t kMostChoices = 1 << 16;
  std::mutex mutex;
  double largest = 0;
  for (const auto& key : {std::optional(layout.actions), layout.next_actions}) {
    if (!key) continue;
    const auto look = [&](int64_t first_row, std::span<const double> values) {
      check_choices(source.place(*key), values, kMostChoices, first_row);
      const std::lock_guard lock(mutex);
      for (const double value : values) largest = std::max(largest, value);
    };
    source.read_blocks(*key, ArraySource::BlockUser<double>(look));
  }
  return Space::discrete(static_cast<int64_t>(largest) + 1);
}

// Uses the memory of the source if lend() returns it. Otherwise reads into new memory with
// `capacity` slots.
void read_observations(ArraySource& source, const FlatLayout& layout,
                       const DatasetReadOptions& options, int64_t capacity, ArrayMemory& memory,
                       LoggedSteps& steps) {
  const auto check = [&](int64_t first_row, std::span<const float> values) {
    check_block(source, layout.obs, options, layout.obs_dim, first_row, values);
  };
  if (const auto lent = source.lend(layout.obs)) {
    check(0, lent->span());
    steps.obs = *lent;
    steps.in_place = true;
    return;
  }
  const int64_t count = layout.rows * layout.obs_dim;
  steps.capacity = capacity;
  steps.obs_buffer = ColumnBuffer<float>(memory, capacity * layout.obs_dim);
  source.read_into(layout.obs, steps.obs_buffer.first(count), check);
  steps.obs = steps.obs_buffer.column(count);
}

void read_next_actions(ArraySource& source, const FlatLayout& layout,
                       const DatasetReadOptions& options, std::vector<uint8_t>& marks,
                       LoggedSteps& steps) {
  if (layout.next_valid) {
    add_marks(source, layout.next_valid, LoggedSteps::kNextActionValid, marks);
  } else {
    for (auto& mark : marks) mark |= LoggedSteps::kNextActionValid;
  }
  std::vector<float> next_actions(static_cast<size_t>(layout.rows * layout.action_dim));
  read_actions(source, *layout.next_actions, layout.action_dim, options, next_actions);
  steps.next_actions = Column<float>(std::move(next_actions));
}

}  // namespace

void check_finite(const ErrorPlace& place, std::span<const float> values, int64_t columns,
                  int64_t first_row) {
  check_all_finite(place, values, columns, first_row);
}

void check_finite(const ErrorPlace& place, std::span<const double> values, int64_t columns,
                  int64_t first_row) {
  check_all_finite(place, values, columns, first_row);
}

std::vector<uint8_t> to_flags(const ErrorPlace& place, std::span<const double> values,
                              int64_t first_row) {
  const auto is_flag = [](double value) { return value == 0 || value == 1; };
  if (all_pass(values, is_flag)) {
    std::vector<uint8_t> flags(values.size());
    for (size_t row = 0; row < values.size(); ++row) flags[row] = values[row] != 0 ? 1 : 0;
    return flags;
  }
  const auto wrong = std::find_if_not(values.begin(), values.end(), is_flag);
  throw Error(ErrorKind::data, place,
              fmt::format("row {} is not a flag (expected 0 or 1, got {:g})",
                          first_row + (wrong - values.begin()), *wrong));
}

void check_choices(const ErrorPlace& place, std::span<const double> values, int64_t categories,
                   int64_t first_row) {
  const Space space = Space::discrete(categories);
  const auto is_choice = [&](double value) { return space.contains_choice(value); };
  if (all_pass(values, is_choice)) return;
  const auto wrong = std::find_if_not(values.begin(), values.end(), is_choice);
  throw Error(
      ErrorKind::data, place,
      fmt::format(
          "row {} is not a discrete action (expected a whole number from 0 to {}, got {:g})",
          first_row + (wrong - values.begin()), categories - 1, *wrong));
}

void check_action_dim(const ErrorPlace& place, const DatasetReadOptions& options, int64_t dims) {
  if (!options.bounds || options.bounds->size() == dims) return;
  throw Error(ErrorKind::data, place,
              "the environment has other actions (expected " +
                  std::to_string(options.bounds->size()) + " columns, got " + std::to_string(dims) +
                  ")");
}

void read_actions(ArraySource& source, const std::string& key, int64_t dims,
                  const DatasetReadOptions& options, std::span<float> out) {
  if (!options.bounds) {
    source.read_into(key, out, [&](int64_t first_row, std::span<const float> values) {
      check_block(source, key, options, dims, first_row, values);
    });
    return;
  }
  if (options.bounds->is_discrete()) {
    const auto take = [&](int64_t first_row, std::span<const double> values) {
      check_choices(source.place(key), values, options.bounds->categories, first_row);
      std::copy(values.begin(), values.end(), out.begin() + first_row);
    };
    source.read_blocks(key, ArraySource::BlockUser<double>(take));
    return;
  }
  const auto scale = [&](int64_t first_row, std::span<const double> values) {
    if (!options.allow_nonfinite) check_finite(source.place(key), values, dims, first_row);
    float* target = out.data() + first_row * dims;
    for (size_t i = 0; i < values.size(); ++i) {
      target[i] = options.bounds->to_unit(static_cast<int64_t>(i) % dims, values[i]);
    }
  };
  source.read_blocks(key, ArraySource::BlockUser<double>(scale));
}

LoggedSteps read_flat_steps(ArraySource& source, const std::string& file, const FlatKeys& keys,
                            const DatasetReadOptions& given, ArrayMemory& memory) {
  const FlatLayout layout = find_flat_layout(
      source, keys, given.bounds ? std::optional(given.bounds->is_discrete()) : std::nullopt);
  DatasetReadOptions options = given;
  Space found;
  if (!given.bounds && layout.choices) {
    found = find_choices(source, layout);
    options.bounds = &found;
  }
  check_action_dim(source.place(layout.actions), options, layout.action_dim);
  LoggedSteps steps;
  steps.file = file;
  steps.obs_dim = layout.obs_dim;
  steps.action_dim = layout.action_dim;
  steps.categories = options.bounds ? options.bounds->categories : 0;
  steps.has_timeouts = layout.timeouts || layout.ends || layout.last_obs;
  steps.has_next_observations = layout.next_obs.has_value();
  steps.true_successors = keys.true_successors;

  // Reads the small arrays first, so that a wrong flag is reported before large arrays are read.
  std::vector<uint8_t> marks(static_cast<size_t>(layout.rows), 0);
  add_marks(source, layout.terminals, LoggedSteps::kTerminal, marks);
  add_marks(source, layout.timeouts, LoggedSteps::kTimeout, marks);
  add_marks(source, layout.last_obs, LoggedSteps::kObservationOnly, marks);
  if (layout.dones) sort_out_dones(layout, marks, steps.warnings);
  add_implied_ends(source, layout, options, marks);
  steps.rewards = read_rewards(source, layout, options);

  read_observations(source, layout, options, slots_to_reserve(marks, options), memory, steps);
  if (layout.next_obs) {
    steps.successors = Column<float>(find_successors(source, layout, options, steps.obs.span(),
                                                     keys.trust_equal_successors, marks));
  }

  const int64_t action_count = layout.rows * layout.action_dim;
  const auto lent_actions = options.bounds ? std::nullopt : source.lend(layout.actions);
  if (steps.in_place && lent_actions) {
    check_block(source, layout.actions, options, layout.action_dim, 0, lent_actions->span());
    steps.actions = *lent_actions;
  } else {
    steps.action_buffer =
        ColumnBuffer<float>(memory, std::max(steps.capacity, layout.rows) * layout.action_dim);
    read_actions(source, layout.actions, layout.action_dim, options,
                 steps.action_buffer.first(action_count));
    steps.actions = steps.action_buffer.column(action_count);
  }
  if (layout.next_actions) read_next_actions(source, layout, options, marks, steps);
  steps.marks = Column<uint8_t>(std::move(marks));
  return steps;
}

}  // namespace rl_training
