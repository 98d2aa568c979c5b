#include "cli/greedy_policy.h"

#include "rl_training/envs/registry.h"

namespace rl_training {

Policy greedy_policy(TrainedPolicy& trained) {
  const auto episode = std::make_shared<PolicyEpisode>(trained);
  Policy policy = [episode, space = trained.env().action](std::span<const double> obs, Rng&,
                                                          std::span<float> action_unit) {
    const auto chosen = episode->act({obs.begin(), obs.end()});
    for (size_t i = 0; i < action_unit.size(); ++i) {
      action_unit[i] = space.is_discrete() ? static_cast<float>(chosen[i])
                                           : space.to_unit(static_cast<int64_t>(i), chosen[i]);
    }
  };
  policy.begin_episode = [episode] { episode->begin(); };
  policy.observe_reward = [episode](double reward) { episode->observe_reward(reward); };
  return policy;
}

std::unique_ptr<Environment> environment_for(const TrainedPolicy& trained,
                                             const std::string& env_id,
                                             const std::string& purpose) {
  if (env_id.empty()) return trained.make_own_environment(purpose);
  auto environment = make_environment(env_id);
  const auto& spec = environment->spec();
  const auto& own = trained.env();
  if (spec.observation.shape == own.observation.shape && spec.action.shape == own.action.shape &&
      spec.action.categories == own.action.categories) {
    return environment;
  }
  throw Error(ErrorKind::config, {"", 0, "--env"},
              "the policy does not fit " + env_id + " (expected " + own.observation.text() +
                  " and " + own.action.text() + ", got " + spec.observation.text() + " and " +
                  spec.action.text() + ")");
}

}  // namespace rl_training
