#pragma once
#include <memory>
#include <string>

#include "rl_training/experiment/run.h"

namespace rl_training {

// An agent for C++ programs: created from a config, trained in a run directory, asked for
// actions, saved and loaded.
//
//   auto agent = rl_training::TD3BC::from_config("td3_bc/pendulum");
//   agent.learn();
//   std::vector<double> action = agent.predict({1.0, 0.0, 0.0});
class Agent {
 public:
  using Warn = std::function<void(const std::string&)>;

  // The config is validated like one read from a file. `warn` receives the warnings of a run.
  explicit Agent(const TrainConfig& config, Warn warn = {});
  // A packaged config by name, or a YAML file.
  static Agent from_config(const std::string& file_or_name);

  // A new agent trains in a new run directory below config().output_dir; one that was loaded or
  // resumed continues exactly where that run or checkpoint stopped.
  // Signal handlers of the program run in another thread meanwhile (runtime/signal_shield.h); your
  // handler can stop training through `requests`. After an exception, for example from a callback
  // or an environment, the agent is in the state of the run's last checkpoint.
  RunResult learn(const Callbacks& callbacks = {}, StopRequests* requests = nullptr);
  // Sets the length of the run, counted from its beginning; a finished run is extended.
  void set_total_timesteps(int64_t total_timesteps);
  EvaluationResult evaluate(int64_t episodes = 10, uint64_t seed = 0,
                            const EvaluationPlace& place = {});
  // The greedy action for one raw observation, in the environment's units: for a policy with
  // memory, the first action of an episode.
  std::vector<double> predict(const std::vector<double>& obs);
  // An episode played step by step, for policies with memory. Valid until the next learn().
  PolicyEpisode episode() { return PolicyEpisode(policy()); }

  // The policy as a separate checkpoint directory, loadable by `load` and `rl_training predict`.
  void save(const std::string& directory);
  // Loads a run directory or a checkpoint; `changes` apply to a later learn().
  static Agent load(const std::string& run_or_checkpoint, const ResumeChanges& changes = {},
                    Warn warn = {});
  // The same, ready to continue training; `total_timesteps` > 0 sets a new length.
  static Agent resume(const std::string& run_or_checkpoint, int64_t total_timesteps = 0);
  static Agent resume(const std::string& run_or_checkpoint, const ResumeChanges& changes,
                      Warn warn = {});
  // Releases the run directory, so that another process may resume the run. A later learn() resumes
  // it.
  void close();

  const TrainConfig& config() const;
  // "" before the first learn().
  std::string run_dir() const { return run_ ? run_->path() : run_dir_; }
  // Valid until the next learn().
  TrainedPolicy& policy();

 protected:
  // Throws Error{config} if this agent has another algorithm.
  void require_algorithm(const std::string& name) const;

 private:
  Agent() = default;
  void load_policy_if_needed();

  Warn warn_;
  TrainConfig config_;                     // before the first learn()
  std::unique_ptr<TrainedPolicy> policy_;  // while there is no run
  std::string loaded_from_, run_dir_;
  ResumeChanges changes_;     // for the next learn() of a loaded agent
  std::unique_ptr<Run> run_;  // from the first learn() on
};

}  // namespace rl_training
