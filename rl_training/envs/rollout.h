#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/envs/env_options.h"
#include "rl_training/envs/environment.h"

namespace rl_training {

// A policy for one environment. A policy that depends only on the current observation needs only
// `act`; a policy with memory also needs the other two functions.
struct Policy {
  using Act =
      std::function<void(std::span<const double> obs, Rng& rng, std::span<float> action_unit)>;

  template <class Function>
  requires std::constructible_from<Act, Function> Policy(Function act_by)
      : act(std::move(act_by)) {}  // NOLINT(google-explicit-constructor)

  // Writes the action for an observation: values in [-1, 1], or the index of a discrete action.
  Act act;
  std::function<void()> begin_episode = [] {};
  std::function<void(double reward)> observe_reward = [](double) {};  // reward of the last action
};

struct PlayedEpisode {
  double sum = 0;  // sum of raw rewards
  int64_t steps = 0;
};

// Plays one whole episode. Resets and the policy draw from `rng`. If `look` is set, it is called
// after the reset and after each step.
PlayedEpisode play_episode(Environment& env, const Policy& policy, Rng rng,
                           const std::function<void(const PlayedEpisode&)>& look = {});

// Returns a dataset builder for environments with this spec. Continuous actions are in [-1, 1].
DatasetBuilder builder_for(const EnvSpec& spec);

// Adds one episode to `builder`, truncated after `max_steps` steps.
void collect_episode(Environment& env, const Policy& policy, int64_t max_steps, Rng& rng,
                     DatasetBuilder& builder);

// Plays episodes until there are `steps` rows, and truncates the last episode at that point. Resets
// and the policy draw from `rng`. The dataset includes next actions. If `look` is set, it is called
// after each episode with the number of rows so far.
TransitionDataset collect_dataset(Environment& env, const Policy& policy, int64_t steps, Rng rng,
                                  const std::function<void(int64_t rows)>& look = {});

// Selects uniformly random actions.
Policy random_policy(const Space& action);
// Always selects the centre of the bounds, or the first discrete action.
void zero_policy(std::span<const double> obs, Rng& rng, std::span<float> action_unit);
// Collects `size` rows with `random_policy`. `look` is called as in collect_dataset.
TransitionDataset random_dataset(const std::string& env_id, int64_t size, uint64_t seed,
                                 const EnvOptions& options = {},
                                 const std::function<void(int64_t rows)>& look = {});

}  // namespace rl_training
