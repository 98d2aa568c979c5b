#pragma once
#include <memory>

#include "rl_training/data/normalizer.h"
#include "rl_training/envs/environment.h"
#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/experiment/train_config.h"
#include "rl_training/runtime/evaluator.h"

namespace rl_training {

// Where a policy is evaluated, if not in the environment of its config.
struct EvaluationPlace {
  std::string env_id = {};                 // "": the config's
  const StopRequests* requests = nullptr;  // cut an evaluation short
};

// A policy with all it needs to act: networks, observation scaling and action bounds.
class TrainedPolicy {
 public:
  // Freshly initialised from the config's seed, for its environment.
  explicit TrainedPolicy(const TrainConfig& config);
  // The same for the spaces of `env`; in training one process of several, or null.
  TrainedPolicy(TrainConfig config, EnvSpec env, ProcessGroup* processes = nullptr);
  // As it was saved. No environment is needed: the checkpoint holds spaces and bounds.
  explicit TrainedPolicy(const Checkpoint& checkpoint);

  const TrainConfig& config() const { return config_; }
  // Spaces and bounds; the other fields are there if the policy was made for an environment.
  const EnvSpec& env() const { return env_; }
  // Where it was loaded from; "" if it was not.
  const std::string& checkpoint() const { return checkpoint_; }
  // The environment of the config. Error{config} if it has none, `purpose` being what needs one;
  // Error{checkpoint} if its spaces are not those of the policy.
  std::unique_ptr<Environment> make_own_environment(const std::string& purpose) const;
  Algorithm& algorithm() { return *algorithm_; }
  ObsNormalizer& normalizer() { return normalizer_; }
  ThreadPool& pool() const { return *pool_; }

  EvaluationResult evaluate(int64_t episodes, uint64_t seed, const EvaluationPlace& place = {});
  // Greedy actions in the environment's units for rows of raw observations, each the first of an
  // episode.
  std::vector<std::vector<double>> predict(const std::vector<std::vector<double>>& obs);
  // The same for the next step of each row's episode; `state` was made for as many rows.
  std::vector<std::vector<double>> predict(const std::vector<std::vector<double>>& obs,
                                           PolicyState& state);

  // As a separate checkpoint directory: enough to act, not to resume training.
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

// A policy in one episode, step by step: what it remembers is here. `policy` must outlive it.
class PolicyEpisode {
 public:
  explicit PolicyEpisode(TrainedPolicy& policy)
      : policy_(&policy), state_(policy.algorithm().make_policy_state(1)) {}

  // The episode from its first step on.
  void begin() { state_->begin_episode(0); }
  // The greedy action at a raw observation, in the environment's units.
  std::vector<double> act(const std::vector<double>& obs) {
    return policy_->predict({obs}, *state_).front();
  }
  // The raw reward that the last action earned, before the next action is asked for.
  void observe_reward(double reward) { state_->observe_reward(0, reward); }

 private:
  TrainedPolicy* policy_;
  std::unique_ptr<PolicyState> state_;
};

// What a checkpoint records besides its tensors.
Json checkpoint_facts(const TrainConfig& config, const EnvSpec& env, int threads,
                      const std::string& fingerprint);

// The config that a checkpoint was made with.
TrainConfig config_of(const Checkpoint& checkpoint, ConfigUse use = ConfigUse::training);
// The spaces that it was made for, under the config's `env_id`.
EnvSpec spaces_of(const Checkpoint& checkpoint, const TrainConfig& config);

// A trailing slash is how shells complete a directory.
std::string without_slash(std::string path);

struct PolicyLoading {
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  std::optional<int64_t> threads = {};       // in place of the config's
  std::optional<double> target_return = {};  // the same, for return-conditioned policies
};

// The policy of a run (its newest good checkpoint) or of one checkpoint, without its environment.
TrainedPolicy load_policy(const std::string& run_or_checkpoint, const PolicyLoading& loading = {});

// A run directory (its newest good checkpoint), or one checkpoint directory such as
// RUN/checkpoints/best. Damaged ones that are passed over give a line to `warn`.
Checkpoint find_checkpoint(const std::string& run_or_checkpoint,
                           const std::function<void(const std::string&)>& warn);

}  // namespace rl_training
