#include "rl_training/envs/rollout.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "rl_training/envs/registry.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

// Clips the policy's action and scales it to the environment's units.
void to_environment(const Space& space, std::span<float> action_unit, std::span<double> action) {
  for (const float value : action_unit) {
    if (!std::isfinite(value)) throw Error(ErrorKind::diverged, "an action is not finite");
  }
  if (space.is_discrete()) {
    const auto last = static_cast<double>(space.categories - 1);
    action[0] = std::clamp(std::round(static_cast<double>(action_unit[0])), 0.0, last);
    return;
  }
  for (size_t k = 0; k < action.size(); ++k) {
    action_unit[k] = std::clamp(action_unit[k], -1.0f, 1.0f);
    action[k] = space.from_unit(static_cast<int64_t>(k), action_unit[k]);
  }
}

// Converts an image observation to doubles, the type that policies take.
void read_pixels(const Environment& env, std::span<double> obs) {
  if (!env.spec().observation.is_image()) return;
  std::vector<uint8_t> image(obs.size());
  env.observe_pixels(image);
  std::copy(image.begin(), image.end(), obs.begin());
}

}  // namespace

PlayedEpisode play_episode(Environment& env, const Policy& policy, Rng rng,
                           const std::function<void(const PlayedEpisode&)>& look) {
  const EnvSpec& spec = env.spec();
  std::vector<double> obs(static_cast<size_t>(spec.observation.size()));
  std::vector<double> action(static_cast<size_t>(spec.action.size()));
  std::vector<float> action_unit(action.size());
  PlayedEpisode played;
  env.reset(rng, obs);
  read_pixels(env, obs);
  policy.begin_episode();
  if (look) look(played);
  for (bool done = false; !done;) {
    policy.act(obs, rng, action_unit);
    to_environment(spec.action, action_unit, action);
    const StepResult result = env.step(action, obs);
    read_pixels(env, obs);
    policy.observe_reward(result.reward);
    played.sum += result.reward;
    ++played.steps;
    if (look) look(played);
    // A task without the TimeLimit wrapper may never end by itself, so the limit is applied here.
    const bool at_limit = spec.max_episode_steps > 0 && played.steps >= spec.max_episode_steps;
    done = result.terminated || result.truncated || at_limit;
  }
  return played;
}

void collect_episode(Environment& env, const Policy& policy, int64_t max_steps, Rng& rng,
                     DatasetBuilder& builder) {
  const EnvSpec& spec = env.spec();
  std::vector<double> obs(static_cast<size_t>(spec.observation.size()));
  std::vector<double> action(static_cast<size_t>(spec.action.size()));
  std::vector<float> action_unit(action.size());
  std::vector<float> stored_obs(obs.size());
  const auto round_obs = [&] {
    std::transform(obs.begin(), obs.end(), stored_obs.begin(),
                   [](double value) { return static_cast<float>(value); });
    return std::span<const float>(stored_obs);
  };

  env.reset(rng, obs);
  policy.begin_episode();
  builder.begin_episode(round_obs());
  bool done = false;
  for (int64_t step = 1; !done && step <= max_steps; ++step) {
    policy.act(obs, rng, action_unit);
    to_environment(spec.action, action_unit, action);
    StepResult result = env.step(action, obs);
    policy.observe_reward(result.reward);
    if (step == max_steps && !result.terminated) result.truncated = true;
    const auto choice = static_cast<int64_t>(action[0]);
    const SpaceValue taken = spec.action.is_discrete()
                                 ? SpaceValue(std::span<const int64_t>(&choice, 1))
                                 : SpaceValue(action_unit);
    builder.add(taken, static_cast<float>(result.reward), round_obs(), result.terminated,
                result.truncated);
    done = result.terminated || result.truncated;
  }
}

DatasetBuilder builder_for(const EnvSpec& spec) {
  if (spec.observation.is_image()) {
    throw Error(ErrorKind::data, {"", 0, spec.id}, "images cannot be collected into a dataset");
  }
  return {Space::unbounded(spec.observation.size()),
          spec.action.is_discrete() ? spec.action : Space::unit_box(spec.action.size())};
}

TransitionDataset collect_dataset(Environment& env, const Policy& policy, int64_t steps, Rng rng,
                                  const std::function<void(int64_t rows)>& look) {
  DatasetBuilder builder = builder_for(env.spec());
  while (builder.rows() < steps) {
    collect_episode(env, policy, steps - builder.rows(), rng, builder);
    if (look) look(builder.rows());
  }
  return std::move(builder).build().with_next_actions();
}

Policy random_policy(const Space& action) {
  if (action.is_discrete()) {
    const auto choices = static_cast<uint64_t>(action.categories);
    return [choices](std::span<const double>, Rng& rng, std::span<float> out) {
      out[0] = static_cast<float>(rng.below(choices));
    };
  }
  return [](std::span<const double>, Rng& rng, std::span<float> out) {
    rng.fill_uniform(out, -1.0f, 1.0f);
  };
}

void zero_policy(std::span<const double> /*obs*/, Rng& /*rng*/, std::span<float> action_unit) {
  std::fill(action_unit.begin(), action_unit.end(), 0.0f);
}

TransitionDataset random_dataset(const std::string& env_id, int64_t size, uint64_t seed,
                                 const EnvOptions& options,
                                 const std::function<void(int64_t rows)>& look) {
  const auto env = make_environment(env_id, options);
  if (size < 1) {
    throw Error(ErrorKind::config, {"", 0, "dataset_size"},
                "out of range (expected >= 1, got " + std::to_string(size) + ")");
  }
  return collect_dataset(*env, random_policy(env->spec().action), size, Rng(seed, "dataset"), look);
}

}  // namespace rl_training
