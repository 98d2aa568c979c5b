#include "rl_training/algorithms/phases.h"

#include <algorithm>

#include "rl_training/util/error.h"

namespace rl_training {

void HindsightOptions::visit_options(OptionVisitor& options) {
  options.choice(
      "strategy", strategy,
      {{"future", Strategy::future}, {"final", Strategy::final}, {"episode", Strategy::episode}},
      "source of the new goals: a later step of the episode, its last step, or any of its steps");
  options.integer("k", k, between(0, 1000000), "relabelled rows per original row");
}

void CollectOptions::visit_options(OptionVisitor& options) {
  options.integer("buffer_capacity", buffer_capacity, at_least(1),
                  "transitions to keep; the oldest are dropped");
  options.integer("learning_starts", learning_starts, at_least(0),
                  "environment steps with uniformly random actions before the first update");
  options.integer("train_frequency", train_frequency, at_least(1),
                  "environment steps between blocks of updates");
  options.integer("gradient_updates_per_step", gradient_updates_per_step, at_least(1),
                  "updates per block");
  options.group(
      "her", "hindsight experience replay, for tasks that observe their goal",
      [this](OptionVisitor& inner) { her.visit_options(inner); }, &her.used, "strategy");
}

void CollectOptions::check(int64_t batch_size, int64_t num_envs) const {
  const auto at_least_as_large = [&](const char* what, const char* key, int64_t least) {
    if (buffer_capacity >= least) return;
    throw Error(ErrorKind::config, {"", 0, "buffer_capacity"},
                std::string("smaller than ") + what + " (expected at least " + key + " " +
                    std::to_string(least) + ", got " + std::to_string(buffer_capacity) + ")");
  };
  at_least_as_large("a minibatch", "batch_size", batch_size);
  at_least_as_large("one step of all environments", "num_envs", num_envs);
}

std::vector<PhaseSpec> replay_phases(const CollectOptions& collect, int64_t total_timesteps) {
  return {{.name = "online",
           .source = PhaseSpec::Source::replay,
           .length = total_timesteps,
           .collect = collect}};
}

void RolloutOptions::visit_options(OptionVisitor& options) {
  options.integer("rollout_steps", steps, between(2, 1 << 24),
                  "environment steps per rollout, summed over all environments");
  options.number("gae_lambda", gae_lambda, between(0, 1),
                 "how far advantages look ahead: 0 is one step, 1 is to the end of the rollout");
  options.flag(
      "normalize_observations", normalize_observations,
      "normalise observations by their running mean and variance, which evaluations do not change");
  options.flag("normalize_rewards", normalize_rewards,
               "divide rewards by the running standard deviation of discounted returns");
}

void RolloutOptions::check(int64_t num_envs) const {
  if (steps % num_envs == 0) return;
  throw Error(ErrorKind::config, {"", 0, "rollout_steps"},
              "not a multiple of num_envs (expected a multiple of " + std::to_string(num_envs) +
                  ", got " + std::to_string(steps) + ")");
}

std::vector<PhaseSpec> rollout_phases(const RolloutOptions& rollout, int64_t total_timesteps) {
  return {{.name = "on_policy",
           .source = PhaseSpec::Source::rollout,
           .length = total_timesteps,
           .rollout = rollout}};
}

bool read_data(const std::vector<PhaseSpec>& phases) {
  return std::any_of(phases.begin(), phases.end(),
                     [](const PhaseSpec& phase) { return phase.reads_data(); });
}

const PhaseSpec* collecting_phase(const std::vector<PhaseSpec>& phases) {
  const auto found = std::find_if(phases.begin(), phases.end(),
                                  [](const PhaseSpec& phase) { return phase.collects(); });
  return found == phases.end() ? nullptr : &*found;
}

}  // namespace rl_training
