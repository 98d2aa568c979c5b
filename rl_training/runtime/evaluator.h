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
  std::vector<double> returns;  // raw rewards, undiscounted
  std::vector<int64_t> lengths;
  double return_mean = 0, return_std = 0, length_mean = 0;  // population std over episodes
  std::optional<double> success_rate;      // of tasks with goals: episodes that reached theirs
  std::optional<double> normalized_score;  // of the mean, where the task has reference scores
  bool cut_short = false;                  // then the rest says nothing

  EvaluationMetrics as_metrics() const {
    return {return_mean, return_std, length_mean, normalized_score, success_rate};
  }
};

// Plays whole episodes with the greedy policy, all at once as one batch; where environments exist
// in a given number, each plays its share of the episodes. It has a stream of its own that starts
// again each time: evaluations are comparable and leave training untouched.
class Evaluator {
 public:
  // Several `processes` share the episodes, and each receives all results.
  Evaluator(std::string env_id, int64_t episodes, uint64_t seed, ThreadPool* pool,
            EnvOptions options = {}, std::optional<ReferenceScores> reference = {},
            ProcessGroup* processes = nullptr);

  // A request to stop is looked for after each step; an evaluation that is cut short leaves no
  // trace.
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
  std::optional<ReferenceScores> reference_;  // of a task that D4RL has none for
  ProcessGroup* processes_;
};

}  // namespace rl_training
