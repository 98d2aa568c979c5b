#include "rl_training/data/logged_steps.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/sandbox.h"
#include "rl_training/util/error.h"
#include "rl_training/util/json.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {
namespace {

template <class T>
void hand_over(SandboxOutput& output, const Column<T>& column) {
  output.array(column.data(), column.size() * static_cast<int64_t>(sizeof(T)));
}

// Interprets bytes from the sandbox as `count` elements. Throws if the size does not match.
template <class T>
Column<T> take_over(const Column<unsigned char>& bytes, int64_t count) {
  if (bytes.size() != count * static_cast<int64_t>(sizeof(T))) {
    throw Error(ErrorKind::internal, "broken sandbox message");
  }
  return {std::make_shared<Column<unsigned char>>(bytes), reinterpret_cast<const T*>(bytes.data()),
          count};
}

Json facts_of(const LoggedSteps& steps) {
  Json warnings = Json::array();
  for (const auto& warning : steps.warnings) {
    warnings.push_back({warning.code, warning.message, warning.row.value_or(-1)});
  }
  return {{"obs_dim", steps.obs_dim},
          {"action_dim", steps.action_dim},
          {"categories", steps.categories},
          {"has_timeouts", steps.has_timeouts},
          {"has_next_observations", steps.has_next_observations},
          {"true_successors", steps.true_successors},
          {"observation_names", steps.observation_names},
          {"action_names", steps.action_names},
          {"warnings", warnings}};
}

// Where the next observation of a slot's row is stored: nowhere (none), in the next slot
// (next_slot), or in LoggedSteps::successors (own). `itself` means that the slot's own observation
// takes its place.
enum class Successor { none, next_slot, own, itself };

Successor successor_of(const LoggedSteps& steps, int64_t slot, TimeoutPolicy policy) {
  const bool has_next_slot = slot + 1 < steps.slots();
  if (has_next_slot && !steps.is(slot, LoggedSteps::kAnyEnd)) return Successor::next_slot;
  const bool continues = has_next_slot && steps.is(slot + 1, LoggedSteps::kObservationOnly);
  const bool dropped = policy == TimeoutPolicy::drop && steps.is(slot, LoggedSteps::kTimeout);
  if (steps.true_successors && dropped && !continues) return Successor::none;
  if (policy == TimeoutPolicy::drop && !steps.true_successors) {
    if (!has_next_slot || dropped) return Successor::none;
    if (continues || steps.is(slot, LoggedSteps::kTerminal)) return Successor::next_slot;
    return steps.is(slot, LoggedSteps::kLast) ? Successor::none : Successor::next_slot;
  }
  if (continues || !steps.ends(slot)) return Successor::next_slot;
  if (steps.is(slot, LoggedSteps::kOwnSuccessor)) return Successor::own;
  // Targets never use the successor of a terminal step, so any observation can take its place.
  return steps.is(slot, LoggedSteps::kTerminal) ? Successor::itself : Successor::none;
}

// Whether an extra slot must be added for the row's successor, because the next slot does not hold
// it.
bool needs_slot(const LoggedSteps& steps, int64_t slot, TimeoutPolicy policy) {
  if (steps.is(slot, LoggedSteps::kObservationOnly)) return false;
  const auto found = successor_of(steps, slot, policy);
  return found == Successor::own || found == Successor::itself;
}

int64_t count_extra_slots(const LoggedSteps& steps, TimeoutPolicy policy) {
  if (policy == TimeoutPolicy::drop && !steps.true_successors) return 0;
  int64_t extra = 0;
  for (int64_t slot = 0; slot < steps.slots(); ++slot) {
    extra += needs_slot(steps, slot, policy) ? 1 : 0;
  }
  return extra;
}

std::span<const float> row_of(const Column<float>& rows, int64_t row, int64_t width) {
  return rows.span().subspan(static_cast<size_t>(row * width), static_cast<size_t>(width));
}

// Passes the usable rows to a builder. Ends the open episode at each row that is not usable.
template <class After>
void give_rows(const LoggedSteps& steps, TimeoutPolicy policy, SlotDatasetBuilder& builder,
               const After& after) {
  int64_t own_successors = 0;
  for (int64_t slot = 0; slot < steps.slots(); ++slot) {
    if (steps.is(slot, LoggedSteps::kObservationOnly)) continue;
    const auto found = successor_of(steps, slot, policy);
    const int64_t own = own_successors;
    if (steps.is(slot, LoggedSteps::kOwnSuccessor)) ++own_successors;
    if (found == Successor::none) {
      builder.end_episode(true);
      continue;
    }
    builder.add(slot, static_cast<float>(steps.rewards[slot]),
                steps.is(slot, LoggedSteps::kTerminal), steps.is(slot, LoggedSteps::kTimeout));
    if (found == Successor::own)
      builder.give_successor(row_of(steps.successors, own, steps.obs_dim));
    if (found == Successor::itself) builder.give_successor(row_of(steps.obs, slot, steps.obs_dim));
    if (steps.ends(slot)) builder.end_episode(false);
    after(slot);
  }
}

// Inserts a slot with the successor after each row that needs such a slot. Moves the slots from
// last to first, so that no slot is overwritten before it is moved.
class Expansion {
 public:
  Expansion(LoggedSteps& steps, TimeoutPolicy policy, ArrayMemory& memory)
      : steps_(steps), policy_(policy), extra_(count_extra_slots(steps, policy)) {
    if (extra_ == 0) return;
    slots_ = steps.slots() + extra_;
    if (slots_ <= steps.capacity) {
      obs_ = steps.obs_buffer;
      actions_ = steps.action_buffer;
    } else {
      obs_ = ColumnBuffer<float>(memory, slots_ * steps.obs_dim);
      actions_ = ColumnBuffer<float>(memory, slots_ * steps.action_dim);
    }
    marks_.resize(static_cast<size_t>(slots_));
    rewards_.resize(static_cast<size_t>(slots_));
    if (steps.has_next_actions()) {
      next_actions_.resize(static_cast<size_t>(slots_ * steps.action_dim));
    }
  }

  void run() {
    if (extra_ == 0) return;
    int64_t target = slots_ - 1;
    int64_t own = steps_.successors.size() / steps_.obs_dim;
    for (int64_t slot = steps_.slots() - 1; slot >= 0; --slot) {
      if (steps_.is(slot, LoggedSteps::kOwnSuccessor)) --own;
      if (needs_slot(steps_, slot, policy_)) {
        const float* next = successor_of(steps_, slot, policy_) == Successor::own
                                ? steps_.successors.data() + own * steps_.obs_dim
                                : steps_.obs.data() + slot * steps_.obs_dim;
        put_successor(target--, next);
      }
      put(target--, slot);
    }
    steps_.obs = obs_.column(slots_ * steps_.obs_dim);
    steps_.actions = actions_.column(slots_ * steps_.action_dim);
    steps_.marks = Column<uint8_t>(std::move(marks_));
    steps_.rewards = Column<double>(std::move(rewards_));
    if (steps_.has_next_actions()) steps_.next_actions = Column<float>(std::move(next_actions_));
    steps_.successors = {};
  }

 private:
  void put(int64_t target, int64_t slot) {
    move(obs_.data, target, steps_.obs.data(), slot, steps_.obs_dim);
    move(actions_.data, target, steps_.actions.data(), slot, steps_.action_dim);
    if (!next_actions_.empty()) {
      move(next_actions_.data(), target, steps_.next_actions.data(), slot, steps_.action_dim);
    }
    marks_[static_cast<size_t>(target)] = steps_.marks[slot];
    rewards_[static_cast<size_t>(target)] = steps_.rewards[slot];
  }
  void put_successor(int64_t target, const float* obs) {
    move(obs_.data, target, obs, 0, steps_.obs_dim);
    std::fill_n(actions_.data + target * steps_.action_dim, steps_.action_dim, 0.0f);
    marks_[static_cast<size_t>(target)] = LoggedSteps::kObservationOnly;
  }
  static void move(float* to, int64_t target, const float* from, int64_t slot, int64_t dims) {
    std::memmove(to + target * dims, from + slot * dims, static_cast<size_t>(dims) * sizeof(float));
  }

  LoggedSteps& steps_;
  TimeoutPolicy policy_;
  int64_t extra_, slots_ = 0;
  ColumnBuffer<float> obs_, actions_;
  std::vector<uint8_t> marks_;
  std::vector<double> rewards_;
  std::vector<float> next_actions_;
};

Column<int64_t> as_choices(const Column<float>& actions, ArrayMemory& memory) {
  const ColumnBuffer<int64_t> choices(memory, actions.size());
  for (int64_t i = 0; i < actions.size(); ++i) choices.data[i] = static_cast<int64_t>(actions[i]);
  return choices.column(actions.size());
}

}  // namespace

std::string DatasetWarning::text() const {
  return code + ": " + message + (row ? " (row " + std::to_string(*row) + ")" : "");
}

LoggedSteps read_steps_in_sandbox(const std::string& path, const StepReader& reader) {
  const auto result =
      run_in_sandbox(path, SandboxLimits::for_file(path), [&](SandboxOutput& output) {
        const LoggedSteps steps = reader(output);
        hand_over(output, steps.marks);
        hand_over(output, steps.obs);
        hand_over(output, steps.actions);
        hand_over(output, steps.rewards);
        hand_over(output, steps.successors);
        hand_over(output, steps.next_actions);
        output.text(facts_of(steps).dump(-1, ' ', false, Json::error_handler_t::replace));
      });
  const Json facts = facts_of_reader(result.text, path);
  LoggedSteps steps;
  steps.file = path;
  steps.obs_dim = facts.at("obs_dim").get<int64_t>();
  steps.action_dim = facts.at("action_dim").get<int64_t>();
  steps.categories = facts.at("categories").get<int64_t>();
  steps.has_timeouts = facts.at("has_timeouts").get<bool>();
  steps.has_next_observations = facts.at("has_next_observations").get<bool>();
  steps.true_successors = facts.at("true_successors").get<bool>();
  facts.at("observation_names").get_to(steps.observation_names);
  facts.at("action_names").get_to(steps.action_names);
  for (const auto& warning : facts.at("warnings")) {
    const auto row = warning.at(2).get<int64_t>();
    steps.warnings.push_back({warning.at(0).get<std::string>(), warning.at(1).get<std::string>(),
                              row < 0 ? std::nullopt : std::optional(row)});
  }
  const int64_t slots = result.arrays.at(0).size();
  steps.marks = take_over<uint8_t>(result.arrays.at(0), slots);
  int64_t own_successors = 0;
  for (int64_t slot = 0; slot < slots; ++slot) {
    own_successors += steps.is(slot, LoggedSteps::kOwnSuccessor) ? 1 : 0;
  }
  steps.obs = take_over<float>(result.arrays.at(1), slots * steps.obs_dim);
  steps.actions = take_over<float>(result.arrays.at(2), slots * steps.action_dim);
  steps.rewards = take_over<double>(result.arrays.at(3), slots);
  steps.successors = take_over<float>(result.arrays.at(4), own_successors * steps.obs_dim);
  const bool has_next_actions = result.arrays.at(5).size() > 0;
  steps.next_actions =
      take_over<float>(result.arrays.at(5), has_next_actions ? slots * steps.action_dim : 0);
  return steps;
}

TransitionDataset make_transitions(LoggedSteps steps, TimeoutPolicy policy, ArrayMemory& memory) {
  const bool stays =
      steps.in_place && count_extra_slots(steps, policy) <= SlotDatasetBuilder::kMostSuccessors;
  if (!stays) Expansion(steps, policy, memory).run();
  const bool discrete = steps.categories > 0;
  SlotDatasetBuilder builder(
      Space::unbounded(steps.obs_dim),
      discrete ? Space::discrete(steps.categories) : Space::unit_box(steps.action_dim),
      steps.obs.bytes(),
      discrete ? as_choices(steps.actions, memory).bytes() : steps.actions.bytes(), memory);
  std::vector<float> next_actions;
  std::vector<uint8_t> next_valid;
  give_rows(steps, policy, builder, [&](int64_t slot) {
    if (!steps.has_next_actions()) return;
    const float* next_action = steps.next_actions.data() + slot * steps.action_dim;
    next_actions.insert(next_actions.end(), next_action, next_action + steps.action_dim);
    next_valid.push_back(steps.is(slot, LoggedSteps::kNextActionValid) ? 1 : 0);
  });
  if (steps.has_next_actions() && discrete) {
    const std::vector<int64_t> choices(next_actions.begin(), next_actions.end());
    builder.give_next_actions(std::span<const int64_t>(choices), std::move(next_valid));
  } else if (steps.has_next_actions()) {
    builder.give_next_actions(next_actions, std::move(next_valid));
  }
  return std::move(builder).build().with_names(steps.observation_names, steps.action_names);
}

TransitionDataset make_transitions(const LoggedSteps& steps, TimeoutPolicy policy) {
  HeapMemory memory;
  LoggedSteps copy = steps;
  copy.capacity = 0;
  return make_transitions(std::move(copy), policy, memory);
}

}  // namespace rl_training
