#pragma once
#include <memory>
#include <string>

#include "rl_training/experiment/run.h"

namespace rl_training {

// An agent for C++ programs. Create it from a config, train it in a run directory, predict actions,
// save it and load it.
//
//   auto agent = rl_training::TD3BC::from_config("td3_bc/pendulum");
//   agent.learn();
//   std::vector<double> action = agent.predict({1.0, 0.0, 0.0});
class Agent {
 public:
  using Warn = std::function<void(const std::string&)>;

  // Validates the config in the same way as a config file. `warn` receives the warnings of a run.
  explicit Agent(const TrainConfig& config, Warn warn = {});
  // Reads a packaged config by name, or a YAML file.
  static Agent from_config(const std::string& file_or_name);

  // Trains the agent. A new agent trains in a new run directory below config().output_dir. An agent
  // that was loaded or resumed continues exactly where its run or checkpoint stopped.
  //
  // During learn() and evaluate(), signal handlers of the program run in another thread
  // (runtime/signal_shield.h). Your handler can stop training through `requests`. After an
  // exception, for example from a callback or an environment, the agent is in the state of the
  // run's last checkpoint. If there is none yet, the next learn() starts the run from its
  // beginning.
  RunResult learn(const Callbacks& callbacks = {}, StopRequests* requests = nullptr);
  // Sets the total length of the run in timesteps, counted from its beginning. A larger value
  // extends a finished run.
  void set_total_timesteps(int64_t total_timesteps);
  EvaluationResult evaluate(int64_t episodes = 10, uint64_t seed = 0,
                            const EvaluationPlace& place = {});
  // Returns the greedy action for one raw observation, in the units of the environment. For a
  // policy with memory, this is the first action of an episode.
  std::vector<double> predict(const std::vector<double>& obs);
  // Starts an episode for step-by-step prediction with a policy that has memory. The result is
  // valid until the next learn() or close().
  PolicyEpisode episode() { return PolicyEpisode(policy()); }

  // Writes a separate checkpoint directory, which load() and `rl_training predict` can read. While
  // a run is open, the checkpoint also contains the training state; otherwise only the policy.
  void save(const std::string& directory);
  // Loads a run directory or a checkpoint. `changes` apply to a later learn().
  static Agent load(const std::string& run_or_checkpoint, const ResumeChanges& changes = {},
                    Warn warn = {});
  // Opens a run for further training, from its directory or from a checkpoint; learn() then
  // continues it. A `total_timesteps` above 0 sets a new total length.
  static Agent resume(const std::string& run_or_checkpoint, int64_t total_timesteps = 0);
  static Agent resume(const std::string& run_or_checkpoint, const ResumeChanges& changes,
                      Warn warn = {});
  // Releases the run directory, so that another process can resume the run. A later learn() of this
  // agent also resumes the run.
  void close();

  const TrainConfig& config() const;
  // The run directory, or "" if the agent has no run yet.
  std::string run_dir() const { return run_ ? run_->path() : run_dir_; }
  // The reference is valid until the next learn() or close().
  TrainedPolicy& policy();

 protected:
  // Throws Error{config} if this agent has another algorithm.
  void require_algorithm(const std::string& name) const;

 private:
  Agent() = default;
  void load_policy_if_needed();

  Warn warn_;
  TrainConfig config_;                     // used while there is no run
  std::unique_ptr<TrainedPolicy> policy_;  // used while there is no run
  std::string loaded_from_, run_dir_;
  ResumeChanges changes_;     // for the next learn() of a loaded agent
  std::unique_ptr<Run> run_;  // null while no run is open
};

}  // namespace rl_training
