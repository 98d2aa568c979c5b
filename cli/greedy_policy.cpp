#include "cli/greedy_policy.h"

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

}  // namespace rl_training
