#include "rl_training/api/agent.h"

#include "rl_training/runtime/signal_shield.h"

namespace rl_training {

namespace {

RunContext agent_context(const char* command, const Agent::Warn& warn) {
  RunContext context;
  context.command = command;
  if (warn) context.warn = warn;
  return context;
}

}  // namespace

// Without an environment, the policy is created later, because the data defines its spaces.
Agent::Agent(const TrainConfig& config, Warn warn) : warn_(std::move(warn)), config_(config) {
  config_.validate();
  if (config_.has_environment()) policy_ = std::make_unique<TrainedPolicy>(config_);
}

Agent Agent::from_config(const std::string& file_or_name) {
  return Agent(read_train_config(load_config(file_or_name)));
}

void Agent::load_policy_if_needed() {
  if (run_ || policy_ || loaded_from_.empty()) return;
  PolicyLoading loading;
  if (warn_) loading.warn = warn_;
  policy_ = std::make_unique<TrainedPolicy>(load_policy(loaded_from_, loading));
}

TrainedPolicy& Agent::policy() {
  load_policy_if_needed();
  if (run_) return run_->policy();
  if (policy_) return *policy_;
  throw Error(ErrorKind::config, {"", 0, "env_id"},
              "none: the spaces of the policy come from the data (expected learn() first)");
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
    const auto context = agent_context("Agent::learn", warn_);
    run_ = loaded_from_.empty() ? Run::start(config(), context)
                                : Run::resume(loaded_from_, changes_, context);
    policy_.reset();
    changes_ = {};
  }
  try {
    return run_->train(callbacks, requests);
  } catch (...) {
    close();
    throw;
  }
}

void Agent::close() {
  if (!run_) return;
  config_ = run_->config();
  changes_.arrays = config_.dataset.source.arrays;
  loaded_from_ = run_dir_ = run_->path();
  run_.reset();
}

void Agent::set_total_timesteps(int64_t total_timesteps) {
  changes_.total_timesteps.reset();
  if (config().total_timesteps == total_timesteps) return;
  close();
  if (!loaded_from_.empty()) {
    changes_.total_timesteps = total_timesteps;
    return;
  }
  auto changed = config();
  changed.total_timesteps = total_timesteps;
  auto warn = std::move(warn_);
  *this = Agent(changed, std::move(warn));
}

EvaluationResult Agent::evaluate(int64_t episodes, uint64_t seed, const EvaluationPlace& place) {
  const SignalShield shield;
  return policy().evaluate(episodes, seed, place);
}

std::vector<double> Agent::predict(const std::vector<double>& obs) {
  const BlockedSignals blocked;  // the call is short, so signals are delayed only briefly
  return policy().predict({obs}).front();
}

void Agent::save(const std::string& directory) {
  if (run_) {
    run_->save(directory);
  } else {
    policy().save(directory);
  }
}

Agent Agent::load(const std::string& run_or_checkpoint, const ResumeChanges& changes, Warn warn) {
  Agent agent;
  agent.warn_ = std::move(warn);
  agent.loaded_from_ = run_or_checkpoint;
  agent.changes_ = changes;
  agent.load_policy_if_needed();
  return agent;
}

Agent Agent::resume(const std::string& run_or_checkpoint, int64_t total_timesteps) {
  ResumeChanges changes;
  if (total_timesteps > 0) changes.total_timesteps = total_timesteps;
  return resume(run_or_checkpoint, changes);
}

Agent Agent::resume(const std::string& run_or_checkpoint, const ResumeChanges& changes, Warn warn) {
  Agent agent;
  agent.warn_ = std::move(warn);
  agent.run_ = Run::resume(run_or_checkpoint, changes, agent_context("Agent::resume", agent.warn_));
  return agent;
}

}  // namespace rl_training
