#include "cli/greedy_policy.h"

namespace rl_training {

Policy greedy_policy(TrainedPolicy& policy) {
  return [&policy](std::span<const double> obs, Rng&, std::span<float> action_unit) {
    const auto chosen = policy.predict({{obs.begin(), obs.end()}}).front();
    const Space& action = policy.env().action;
    for (size_t i = 0; i < action_unit.size(); ++i) {
      action_unit[i] = action.is_discrete() ? static_cast<float>(chosen[i])
                                            : action.to_unit(static_cast<int64_t>(i), chosen[i]);
    }
  };
}

}  // namespace rl_training
