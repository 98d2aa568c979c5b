#pragma once
#include <memory>
#include <optional>
#include <string>

#include "rl_training/algorithms/algorithm.h"
#include "rl_training/data/normalizer.h"
#include "rl_training/envs/reference_scores.h"
#include "rl_training/envs/vector_env.h"
#include "rl_training/runtime/loop_metrics.h"
#include "rl_training/runtime/stop_request.h"
#include "rl_training/util/process_group.h"

namespace rl_training {

struct EvaluationResult {
  std::vector<double> returns;  // undiscounted sums of raw rewards
  std::vector<int64_t> lengths;
  double return_mean = 0, return_std = 0, length_mean = 0;  // return_std: population std of returns
  // In tasks with goals: fraction of episodes whose goal is reached at the last observation.
  std::optional<double> success_rate;
  std::optional<double> normalized_score;  // of the mean return, if the task has reference scores
  bool cut_short = false;                  // interrupted; the other fields are not valid

  EvaluationMetrics as_metrics() const {
    return {return_mean, return_std, length_mean, normalized_score, success_rate};
  }
};

// Plays whole episodes with the greedy policy, all of them at the same time as one batch. If the
// task has a fixed number of environments, each environment instead plays its share of the
// episodes. Evaluation has its own random stream, which restarts with each evaluation. Evaluations
// are therefore comparable and do not affect training.
class Evaluator {
 public:
  // With several `processes`, each process plays a share of the episodes and receives all results.
  Evaluator(std::string env_id, int64_t episodes, uint64_t seed, ThreadPool* pool,
            EnvOptions options = {}, std::optional<ReferenceScores> reference = {},
            ProcessGroup* processes = nullptr);

  // Checks `requests` before each step. If a stop was requested, returns a result with `cut_short`.
  EvaluationResult run(Algorithm& algorithm, const ObsNormalizer& normalizer,
                       const StopRequests* requests = nullptr) const;

 private:
  struct Episodes;
  void play(Algorithm& algorithm, const ObsNormalizer& normalizer, const StopRequests* requests,
            int64_t first, Episodes& episodes) const;

  std::string env_id_;
  int64_t episodes_;
  uint64_t seed_;
  ThreadPool* pool_;
  EnvOptions options_;
  std::optional<ReferenceScores> reference_;  // used if the task has no D4RL reference scores
  ProcessGroup* processes_;
};

}  // namespace rl_training
