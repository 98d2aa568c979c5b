#include "rl_training/runtime/evaluator.h"

#include <algorithm>
#include <cmath>

#include "rl_training/runtime/acting.h"

namespace rl_training {
namespace {

void summarise(EvaluationResult& result) {
  const auto count = static_cast<double>(result.returns.size());
  for (size_t i = 0; i < result.returns.size(); ++i) {
    result.return_mean += result.returns[i] / count;
    result.length_mean += static_cast<double>(result.lengths[i]) / count;
  }
  double variance = 0;
  for (const double value : result.returns) {
    variance += (value - result.return_mean) * (value - result.return_mean) / count;
  }
  result.return_std = std::sqrt(variance);
}

}  // namespace

Evaluator::Evaluator(std::string env_id, int64_t episodes, uint64_t seed, ThreadPool* pool,
                     EnvOptions options, std::optional<ReferenceScores> reference)
    : env_id_(std::move(env_id)),
      episodes_(episodes),
      seed_(seed),
      pool_(pool),
      options_(std::move(options)),
      reference_(reference) {}

EvaluationResult Evaluator::run(Algorithm& algorithm, const ObsNormalizer& normalizer,
                                const StopRequests* requests) const {
  VectorEnv envs(env_id_, episodes_, seed_, "eval", pool_, options_);
  const GoalTask* goals = envs.goal_task();
  auto obs = obs_buffer(envs);
  const auto policy = algorithm.make_policy_state(episodes_);
  EvaluationResult result;
  result.returns.assign(episodes_, 0.0);
  result.lengths.assign(episodes_, 0);
  std::vector<bool> done(episodes_, false);
  int64_t left = episodes_, reached = 0;
  envs.reset();
  for (int64_t i = 0; i < episodes_; ++i) policy->begin_episode(i);
  while (left > 0) {
    if (requests != nullptr && requests->stop() != 0) {
      result.cut_short = true;
      return result;
    }
    normalized_obs(envs, normalizer, obs);
    step_with(envs, algorithm.act(obs, *policy, ActMode::greedy).contiguous());
    for (int64_t i = 0; i < episodes_; ++i) {
      if (done[i]) continue;
      policy->observe_reward(i, envs.rewards()[i]);
      result.returns[i] += envs.rewards()[i];
      ++result.lengths[i];
      if (envs.terminated()[i] != 0 || envs.truncated()[i] != 0) {
        done[i] = true;
        policy->begin_episode(i);  // the row plays on beside the others, in a further episode
        if (goals != nullptr) {
          const auto* last = reinterpret_cast<const float*>(envs.final_obs_of(i));
          reached += reached_goal(*goals, last) ? 1 : 0;
        }
        --left;
      }
    }
  }
  summarise(result);
  if (goals != nullptr) {
    result.success_rate = static_cast<double>(reached) / static_cast<double>(episodes_);
  }
  result.normalized_score = normalized_score(env_id_, result.return_mean, reference_);
  return result;
}

}  // namespace rl_training
