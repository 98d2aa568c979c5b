#pragma once
#include <memory>
#include <optional>

#include "rl_training/data/normalizer.h"
#include "rl_training/envs/environment.h"
#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/experiment/train_config.h"
#include "rl_training/runtime/evaluator.h"

namespace rl_training {

// Optional settings of an evaluation.
struct EvaluationPlace {
  std::string env_id = {};                 // "" for the environment of the config
  const StopRequests* requests = nullptr;  // can interrupt the evaluation
  // Options of the environment. Without a value, the environment of the config has the options of
  // the config, and another environment has its default options.
  std::optional<EnvOptions> options = {};
};

// A policy and everything that it needs to act: networks, observation normaliser and action bounds.
class TrainedPolicy {
 public:
  // Initialises a new policy for the environment of the config, with the config's seed.
  explicit TrainedPolicy(const TrainConfig& config);
  // Initialises a new policy for the spaces of `env`. `processes` is null unless several processes
  // train together.
  TrainedPolicy(TrainConfig config, EnvSpec env, ProcessGroup* processes = nullptr);
  // Loads a saved policy. This needs no environment, because the checkpoint contains spaces and
  // bounds.
  explicit TrainedPolicy(const Checkpoint& checkpoint);

  const TrainConfig& config() const { return config_; }
  // Spaces, bounds and id. Other fields are complete only if the policy was created for an
  // environment.
  const EnvSpec& env() const { return env_; }
  // Path of the loaded checkpoint; "" if the policy was not loaded.
  const std::string& checkpoint() const { return checkpoint_; }
  // Creates the environment of the config. Throws Error{config} naming `purpose` if the config has
  // no environment, and Error{checkpoint} if the spaces of environment and policy differ.
  std::unique_ptr<Environment> make_own_environment(const std::string& purpose) const;
  Algorithm& algorithm() { return *algorithm_; }
  ObsNormalizer& normalizer() { return normalizer_; }
  ThreadPool& pool() const { return *pool_; }

  EvaluationResult evaluate(int64_t episodes, uint64_t seed, const EvaluationPlace& place = {});
  // Returns greedy actions in the environment's units for rows of raw observations. Each row is the
  // first observation of an episode.
  std::vector<std::vector<double>> predict(const std::vector<std::vector<double>>& obs);
  // Returns the actions for the next step of each row's episode. `state` contains the policy's
  // memory of these episodes.
  std::vector<std::vector<double>> predict(const std::vector<std::vector<double>>& obs,
                                           PolicyState& state);

  // Writes a checkpoint that suffices for acting but not for resuming.
  void save(const std::string& directory);

  void visit_state(StateVisitor& state);

 private:
  TrainedPolicy(const Checkpoint& checkpoint, const TrainConfig& config);
  std::unique_ptr<Environment> make_fitting_environment(const std::string& id,
                                                        const EnvOptions& options) const;

  TrainConfig config_;
  EnvSpec env_;
  std::string checkpoint_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Algorithm> algorithm_;
  ObsNormalizer normalizer_;
};

// Runs a policy step by step in one episode and stores the policy's memory. `policy` must outlive
// this object.
class PolicyEpisode {
 public:
  explicit PolicyEpisode(TrainedPolicy& policy)
      : policy_(&policy), state_(policy.algorithm().make_policy_state(1)) {}

  // Resets the policy's memory. Call this at the start of each episode.
  void begin() { state_->begin_episode(0); }
  // Returns the greedy action for a raw observation, in the environment's units.
  std::vector<double> act(const std::vector<double>& obs) {
    return policy_->predict({obs}, *state_).front();
  }
  // Passes the raw reward of the last action to the policy. Call it before the next act().
  void observe_reward(double reward) { state_->observe_reward(0, reward); }

 private:
  TrainedPolicy* policy_;
  std::unique_ptr<PolicyState> state_;
};

// Metadata that is stored in a checkpoint.
Json checkpoint_facts(const TrainConfig& config, const EnvSpec& env, int threads,
                      const std::string& fingerprint);

// The config stored in a checkpoint.
TrainConfig config_of(const Checkpoint& checkpoint, ConfigUse use = ConfigUse::training);
// The spaces stored in a checkpoint, with the config's `env_id`.
EnvSpec spaces_of(const Checkpoint& checkpoint, const TrainConfig& config);

// Removes trailing slashes, which shells add when they complete a directory.
std::string without_slash(std::string path);

struct PolicyLoading {
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  std::optional<int64_t> threads = {};  // overrides the number in the config
  // For return-conditioned policies; overrides the value in the config.
  std::optional<double> target_return = {};
};

// Loads the policy of a run (its newest valid checkpoint) or of one checkpoint. Does not need the
// environment.
TrainedPolicy load_policy(const std::string& run_or_checkpoint, const PolicyLoading& loading = {});

// Loads the newest valid checkpoint of a run directory, or one checkpoint directory such as
// RUN/checkpoints/best. Warns about each damaged checkpoint that is skipped.
Checkpoint find_checkpoint(const std::string& run_or_checkpoint,
                           const std::function<void(const std::string&)>& warn);

}  // namespace rl_training
