#include "rl_training/envs/rollout.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "rl_training/envs/registry.h"
#include "rl_training/util/error.h"

namespace rl_training {

PlayedEpisode play_episode(Environment& env, const Policy& policy, Rng rng,
                           const std::function<void(const PlayedEpisode&)>& look) {
  const EnvSpec& spec = env.spec();
  std::vector<double> obs(static_cast<size_t>(spec.obs_dim));
  std::vector<double> action(static_cast<size_t>(spec.action.dims()));
  std::vector<float> action_unit(action.size());
  PlayedEpisode played;
  env.reset(rng, obs);
  if (look) look(played);
  for (bool done = false; !done;) {
    policy(obs, rng, action_unit);
    for (size_t k = 0; k < action.size(); ++k) {
      action[k] =
          spec.action.from_unit(static_cast<int64_t>(k), std::clamp(action_unit[k], -1.0f, 1.0f));
    }
    const StepResult result = env.step(action, obs);
    played.sum += result.reward;
    ++played.steps;
    if (look) look(played);
    done = result.terminated || result.truncated;
  }
  return played;
}

void collect_episode(Environment& env, const Policy& policy, int64_t max_steps, Rng& rng,
                     DatasetBuilder& builder) {
  const EnvSpec& spec = env.spec();
  std::vector<double> obs(static_cast<size_t>(spec.obs_dim));
  std::vector<double> action(static_cast<size_t>(spec.action.dims()));
  std::vector<float> action_unit(action.size());
  std::vector<float> stored_obs(obs.size());
  const auto round_obs = [&] {
    std::transform(obs.begin(), obs.end(), stored_obs.begin(),
                   [](double value) { return static_cast<float>(value); });
    return std::span<const float>(stored_obs);
  };

  env.reset(rng, obs);
  builder.begin_episode(round_obs());
  bool done = false;
  for (int64_t step = 1; !done && step <= max_steps; ++step) {
    policy(obs, rng, action_unit);
    for (size_t k = 0; k < action.size(); ++k) {
      action_unit[k] = std::clamp(action_unit[k], -1.0f, 1.0f);
      action[k] = spec.action.from_unit(static_cast<int64_t>(k), action_unit[k]);
    }
    StepResult result = env.step(action, obs);
    if (step == max_steps && !result.terminated) result.truncated = true;
    builder.add(action_unit, static_cast<float>(result.reward), round_obs(), result.terminated,
                result.truncated);
    done = result.terminated || result.truncated;
  }
}

TransitionDataset collect_dataset(Environment& env, const Policy& policy, int64_t steps, Rng rng) {
  DatasetBuilder builder(env.spec().obs_dim, env.spec().action.dims());
  while (builder.rows() < steps) {
    collect_episode(env, policy, steps - builder.rows(), rng, builder);
  }
  return std::move(builder).build().with_next_actions();
}

void random_policy(std::span<const double> /*obs*/, Rng& rng, std::span<float> action_unit) {
  rng.fill_uniform(action_unit, -1.0f, 1.0f);
}

void zero_policy(std::span<const double> /*obs*/, Rng& /*rng*/, std::span<float> action_unit) {
  std::fill(action_unit.begin(), action_unit.end(), 0.0f);
}

TransitionDataset random_dataset(const std::string& env_id, int64_t size, uint64_t seed,
                                 const EnvOptions& options) {
  const auto env = make_environment(env_id, options);
  if (size < 1) {
    throw Error(ErrorKind::config, {"", 0, "dataset_size"},
                "out of range (expected >= 1, got " + std::to_string(size) + ")");
  }
  return collect_dataset(*env, random_policy, size, Rng(seed, "dataset"));
}

}  // namespace rl_training
