#include "rl_training/api/agent.h"

#include "rl_training/runtime/signal_shield.h"

namespace rl_training {

// Without an environment the policy waits for the data, which decide its spaces.
Agent::Agent(const TrainConfig& config) : config_(config) {
  config_.validate();
  if (config_.has_environment()) policy_ = std::make_unique<TrainedPolicy>(config_);
}

Agent::Agent(std::unique_ptr<Run> run) : run_(std::move(run)) {}

Agent::Agent(std::unique_ptr<TrainedPolicy> policy) : policy_(std::move(policy)) {}

Agent Agent::from_config(const std::string& file_or_name) {
  return Agent(read_train_config(load_config(file_or_name)));
}

TrainedPolicy& Agent::policy() {
  if (run_) return run_->policy();
  if (policy_) return *policy_;
  throw Error(ErrorKind::config, {"", 0, "env_id"},
              "none: the data decide what the policy sees and does (expected learn() first)");
}

const TrainConfig& Agent::config() const {
  if (run_) return run_->config();
  return policy_ ? policy_->config() : config_;
}

void Agent::require_algorithm(const std::string& name) const {
  if (config().algo == name) return;
  throw Error(ErrorKind::config, {"", 0, "algo"},
              "another algorithm (expected " + name + ", got " + config().algo + ")");
}

RunResult Agent::learn(const Callbacks& callbacks, StopRequests* requests) {
  const SignalShield shield;
  if (!run_) {
    RunContext context;
    context.command = "Agent::learn";
    run_ = loaded_from_.empty() ? Run::start(config(), context)
                                : Run::resume(loaded_from_, {}, context);
    policy_.reset();
  }
  return run_->train(callbacks, requests);
}

EvaluationResult Agent::evaluate(int64_t episodes, uint64_t seed) {
  const SignalShield shield;
  return policy().evaluate(episodes, seed);
}

std::vector<double> Agent::predict(const std::vector<double>& obs) {
  const BlockedSignals blocked;  // for so short that they may wait
  return policy().predict({obs}).front();
}

void Agent::save(const std::string& directory) {
  if (run_) {
    run_->save(directory);
  } else {
    policy().save(directory);
  }
}

Agent Agent::load(const std::string& run_or_checkpoint) {
  Agent agent(std::make_unique<TrainedPolicy>(load_policy(run_or_checkpoint)));
  agent.loaded_from_ = run_or_checkpoint;
  return agent;
}

Agent Agent::resume(const std::string& run_or_checkpoint, int64_t total_timesteps) {
  ResumeChanges changes;
  if (total_timesteps > 0) changes.total_timesteps = total_timesteps;
  return Agent(Run::resume(run_or_checkpoint, changes, {.command = "Agent::resume"}));
}

}  // namespace rl_training
