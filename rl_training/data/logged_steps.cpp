#include "rl_training/data/logged_steps.h"

#include <utility>

#include "rl_training/data/sandbox.h"
#include "rl_training/util/error.h"
#include "rl_training/util/json.h"

namespace rl_training {
namespace {

template <class T>
void hand_over(SandboxOutput& output, const Column<T>& column) {
  output.array(column.data(), column.size() * static_cast<int64_t>(sizeof(T)));
}

// The sizes of all others follow from that of the marks.
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
          {"has_timeouts", steps.has_timeouts},
          {"has_next_observations", steps.has_next_observations},
          {"warnings", warnings}};
}

// How the row of a slot gets its successor.
enum class Successor { none, next_slot, own, itself };

Successor successor_of(const LoggedSteps& steps, int64_t slot, TimeoutPolicy policy) {
  const bool has_next_slot = slot + 1 < steps.slots();
  const bool continues = has_next_slot && steps.is(slot + 1, LoggedSteps::kObservationOnly);
  if (policy == TimeoutPolicy::drop) {
    if (!has_next_slot || steps.is(slot, LoggedSteps::kTimeout)) return Successor::none;
    if (continues || steps.is(slot, LoggedSteps::kTerminal)) return Successor::next_slot;
    return steps.is(slot, LoggedSteps::kLast) ? Successor::none : Successor::next_slot;
  }
  if (continues || !steps.ends(slot)) return Successor::next_slot;
  if (steps.is(slot, LoggedSteps::kOwnSuccessor)) return Successor::own;
  // Termination masks the successor, so anything stands in for it.
  return steps.is(slot, LoggedSteps::kTerminal) ? Successor::itself : Successor::none;
}

bool fits_in_place(const LoggedSteps& steps, TimeoutPolicy policy) {
  for (int64_t slot = 0; slot < steps.slots(); ++slot) {
    if (steps.is(slot, LoggedSteps::kObservationOnly)) continue;
    const auto successor = successor_of(steps, slot, policy);
    if (successor == Successor::own || successor == Successor::itself) return false;
  }
  return true;
}

// Both kinds of builder behind one way of adding a slot.
struct InPlace {
  SlotDatasetBuilder builder;
  const LoggedSteps& steps;

  explicit InPlace(const LoggedSteps& all)
      : builder(all.obs_dim, all.action_dim, all.obs, all.actions), steps(all) {}
  void add(int64_t slot, const float*) {
    builder.add(slot, static_cast<float>(steps.rewards[slot]),
                steps.is(slot, LoggedSteps::kTerminal), steps.is(slot, LoggedSteps::kTimeout));
  }
  void end() { builder.end_episode(false); }
  void end_before(int64_t) { builder.end_episode(true); }
};

struct Copying {
  DatasetBuilder builder;
  const LoggedSteps& steps;

  explicit Copying(const LoggedSteps& all) : builder(all.obs_dim, all.action_dim), steps(all) {}
  void add(int64_t slot, const float* next) {
    const auto obs_dim = static_cast<size_t>(steps.obs_dim);
    if (!builder.episode_open()) {
      builder.begin_episode({steps.obs.data() + slot * steps.obs_dim, obs_dim});
    }
    builder.add(action(slot), static_cast<float>(steps.rewards[slot]), {next, obs_dim},
                steps.is(slot, LoggedSteps::kTerminal), steps.is(slot, LoggedSteps::kTimeout));
  }
  // The next add() begins the next episode.
  void end() { builder.end_episode(); }
  void end_before(int64_t slot) { builder.end_episode(action(slot)); }
  std::span<const float> action(int64_t slot) const {
    return {steps.actions.data() + slot * steps.action_dim, static_cast<size_t>(steps.action_dim)};
  }
};

template <class Target>
TransitionDataset fill(const LoggedSteps& steps, TimeoutPolicy policy) {
  Target target(steps);
  std::vector<float> next_actions;
  std::vector<uint8_t> next_valid;
  int64_t own_successors = 0;
  for (int64_t slot = 0; slot < steps.slots(); ++slot) {
    if (steps.is(slot, LoggedSteps::kObservationOnly)) continue;
    const float* own = steps.successors.data() + own_successors * steps.obs_dim;
    if (steps.is(slot, LoggedSteps::kOwnSuccessor)) ++own_successors;
    const float* here = steps.obs.data() + slot * steps.obs_dim;
    const auto successor = successor_of(steps, slot, policy);
    if (successor == Successor::none) {
      target.end_before(slot);
      continue;
    }
    target.add(slot, successor == Successor::own      ? own
                     : successor == Successor::itself ? here
                                                      : here + steps.obs_dim);
    if (steps.ends(slot)) target.end();
    if (!steps.has_next_actions()) continue;
    const float* next_action = steps.next_actions.data() + slot * steps.action_dim;
    next_actions.insert(next_actions.end(), next_action, next_action + steps.action_dim);
    next_valid.push_back(steps.is(slot, LoggedSteps::kNextActionValid) ? 1 : 0);
  }
  if (steps.has_next_actions()) {
    target.builder.give_next_actions(std::move(next_actions), std::move(next_valid));
  }
  return std::move(target.builder).build();
}

}  // namespace

LoggedSteps read_steps_in_sandbox(const std::string& path,
                                  const std::function<LoggedSteps()>& reader) {
  const auto result =
      run_in_sandbox(path, SandboxLimits::for_file(path), [&](SandboxOutput& output) {
        const LoggedSteps steps = reader();
        hand_over(output, steps.marks);
        hand_over(output, steps.obs);
        hand_over(output, steps.actions);
        hand_over(output, steps.rewards);
        hand_over(output, steps.successors);
        hand_over(output, steps.next_actions);
        output.text(facts_of(steps).dump(-1, ' ', false, Json::error_handler_t::replace));
      });
  const Json facts = Json::parse(result.text);
  LoggedSteps steps;
  steps.file = path;
  steps.obs_dim = facts.at("obs_dim").get<int64_t>();
  steps.action_dim = facts.at("action_dim").get<int64_t>();
  steps.has_timeouts = facts.at("has_timeouts").get<bool>();
  steps.has_next_observations = facts.at("has_next_observations").get<bool>();
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

TransitionDataset make_transitions(const LoggedSteps& steps, TimeoutPolicy policy) {
  return fits_in_place(steps, policy) ? fill<InPlace>(steps, policy) : fill<Copying>(steps, policy);
}

}  // namespace rl_training
