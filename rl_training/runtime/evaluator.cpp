#include "rl_training/runtime/evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rl_training/envs/registry.h"
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

// Results of several episodes. Processes exchange them as bytes.
struct Evaluator::Episodes {
  struct Episode {
    double episode_return = 0;
    int64_t length = 0, reached_goal = 0;
  };
  std::vector<Episode> list;
  bool has_goals = false, cut_short = false;

  std::string bytes() const {
    const std::string flags = {has_goals ? '1' : '0', cut_short ? '1' : '0'};
    return flags +
           std::string(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(Episode));
  }
  void append(const std::string& bytes) {
    has_goals = has_goals || bytes[0] == '1';
    cut_short = cut_short || bytes[1] == '1';
    const size_t count = (bytes.size() - 2) / sizeof(Episode), before = list.size();
    list.resize(before + count);
    if (count > 0) std::memcpy(&list[before], bytes.data() + 2, count * sizeof(Episode));
  }
};

Evaluator::Evaluator(std::string env_id, int64_t episodes, uint64_t seed, ThreadPool* pool,
                     EnvOptions options, std::optional<ReferenceScores> reference,
                     ProcessGroup* processes)
    : env_id_(std::move(env_id)),
      episodes_(episodes),
      seed_(seed),
      pool_(pool),
      options_(std::move(options)),
      reference_(reference),
      processes_(processes) {}

// Plays one episode for each entry of `episodes.list`, beginning with episode number `first`.
void Evaluator::play(Algorithm& algorithm, const ObsNormalizer& normalizer,
                     const StopRequests* requests, int64_t first, Episodes& episodes) const {
  const auto count = static_cast<int64_t>(episodes.list.size());
  const int64_t together = group_size(env_id_), rows = together > 0 ? together : count;
  VectorEnv envs(env_id_, rows, seed_, "eval", pool_, options_, first);
  const GoalTask* goals = envs.goal_task();
  episodes.has_goals = goals != nullptr;
  auto obs = obs_buffer(envs);
  const auto policy = algorithm.make_policy_state(rows);
  // Each environment plays a fixed share of the episodes. Using the episodes that end first would
  // favour short episodes.
  std::vector<int64_t> number(rows), end(rows);
  for (int64_t i = 0; i < rows; ++i) {
    number[i] = i == 0 ? 0 : end[i - 1];
    end[i] = number[i] + (count + i) / rows;
  }
  int64_t left = count;
  envs.reset();
  for (int64_t i = 0; i < rows; ++i) policy->begin_episode(i);
  while (left > 0) {
    if (requests != nullptr && requests->stop() != 0) {
      episodes.cut_short = true;
      return;
    }
    normalized_obs(envs, normalizer, obs);
    step_with(envs, algorithm.act(obs, *policy, ActMode::greedy).contiguous());
    for (int64_t i = 0; i < rows; ++i) {
      if (envs.restarted()[i] != 0) policy->begin_episode(i);
      // Environments that must step together keep stepping after they have played their share.
      if (envs.restarted()[i] != 0 || number[i] == end[i]) continue;
      auto& episode = episodes.list[static_cast<size_t>(number[i])];
      policy->observe_reward(i, envs.rewards()[i]);
      episode.episode_return += envs.rewards()[i];
      ++episode.length;
      if (envs.terminated()[i] == 0 && envs.truncated()[i] == 0) continue;
      policy->begin_episode(i);
      if (goals != nullptr) {
        const auto* last = reinterpret_cast<const float*>(envs.final_obs_of(i));
        episode.reached_goal = reached_goal(*goals, last) ? 1 : 0;
      }
      ++number[i];
      --left;
      if (number[i] == end[i] && !envs.spec().steps_together) envs.rest(i);
    }
  }
}

EvaluationResult Evaluator::run(Algorithm& algorithm, const ObsNormalizer& normalizer,
                                const StopRequests* requests) const {
  const int64_t rank = process_rank(processes_), size = process_count(processes_);
  const int64_t first = rank * episodes_ / size, end = (rank + 1) * episodes_ / size;
  Episodes episodes;
  episodes.list.resize(static_cast<size_t>(end - first));
  if (end > first) play(algorithm, normalizer, requests, first, episodes);
  if (processes_ != nullptr) {
    Episodes all;
    for (const auto& bytes : processes_->exchange(episodes.bytes())) all.append(bytes);
    episodes = std::move(all);
  }
  EvaluationResult result;
  result.cut_short = episodes.cut_short;
  if (result.cut_short) return result;
  int64_t reached = 0;
  for (const auto& episode : episodes.list) {
    result.returns.push_back(episode.episode_return);
    result.lengths.push_back(episode.length);
    reached += episode.reached_goal;
  }
  summarise(result);
  if (episodes.has_goals) {
    result.success_rate = static_cast<double>(reached) / static_cast<double>(episodes_);
  }
  result.normalized_score = normalized_score(env_id_, result.return_mean, reference_);
  return result;
}

}  // namespace rl_training
