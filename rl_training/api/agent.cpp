#include "rl_training/api/agent.h"

#include "rl_training/runtime/signal_shield.h"

namespace rl_training {

namespace {

const TrainConfig& validated(const TrainConfig& config) {
  config.validate();
  return config;
}

}  // namespace

Agent::Agent(const TrainConfig& config)
    : policy_(std::make_unique<TrainedPolicy>(validated(config))) {}

Agent::Agent(std::unique_ptr<Run> run) : run_(std::move(run)) {}

Agent::Agent(std::unique_ptr<TrainedPolicy> policy) : policy_(std::move(policy)) {}

Agent Agent::from_config(const std::string& file_or_name) {
  return Agent(read_train_config(load_config(file_or_name)));
}

TrainedPolicy& Agent::policy() { return run_ ? run_->policy() : *policy_; }

const TrainConfig& Agent::config() const { return run_ ? run_->config() : policy_->config(); }

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
    run_ = loaded_from_.empty() ? Run::start(policy_->config(), context)
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
    policy_->save(directory);
  }
}

Agent Agent::load(const std::string& run_or_checkpoint) {
  const auto checkpoint = find_checkpoint(run_or_checkpoint, [](const std::string&) {});
  Agent agent(std::make_unique<TrainedPolicy>(checkpoint));
  agent.loaded_from_ = run_or_checkpoint;
  return agent;
}

Agent Agent::resume(const std::string& run_or_checkpoint, int64_t total_timesteps) {
  ResumeChanges changes;
  if (total_timesteps > 0) changes.total_timesteps = total_timesteps;
  return Agent(Run::resume(run_or_checkpoint, changes, {.command = "Agent::resume"}));
}

}  // namespace rl_training
