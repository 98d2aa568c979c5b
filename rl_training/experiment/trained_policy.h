#pragma once
#include <memory>

#include "rl_training/data/normalizer.h"
#include "rl_training/envs/environment.h"
#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/experiment/train_config.h"
#include "rl_training/runtime/evaluator.h"

namespace rl_training {

// A policy with all it needs to act: networks, observation scaling and action bounds.
class TrainedPolicy {
 public:
  // Freshly initialised from the config's seed.
  explicit TrainedPolicy(TrainConfig config);
  // As it was saved.
  explicit TrainedPolicy(const Checkpoint& checkpoint);

  const TrainConfig& config() const { return config_; }
  const EnvSpec& env() const { return env_; }
  Algorithm& algorithm() { return *algorithm_; }
  ObsNormalizer& normalizer() { return normalizer_; }
  ThreadPool& pool() const { return *pool_; }

  EvaluationResult evaluate(int64_t episodes, uint64_t seed);
  // Greedy actions in the environment's units for rows of raw observations.
  std::vector<std::vector<double>> predict(const std::vector<std::vector<double>>& obs);

  // As a checkpoint directory of its own: enough to act, not to train on.
  void save(const std::string& directory);

  void visit_state(StateVisitor& state);

 private:
  TrainConfig config_;
  EnvSpec env_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Algorithm> algorithm_;
  ObsNormalizer normalizer_;
};

// What a checkpoint says of itself beside its tensors.
Json checkpoint_facts(const TrainConfig& config, const EnvSpec& env, int threads,
                      const std::string& fingerprint);

// The config that a checkpoint was made with.
TrainConfig config_of(const Checkpoint& checkpoint);

// A trailing slash is how shells complete a directory.
std::string without_slash(std::string path);

// A run directory (its newest good checkpoint), or one checkpoint directory such as
// RUN/checkpoints/best. Damaged ones that are passed over give a line to `warn`.
Checkpoint find_checkpoint(const std::string& run_or_checkpoint,
                           const std::function<void(const std::string&)>& warn);

}  // namespace rl_training
