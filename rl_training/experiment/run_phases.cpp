#include "rl_training/experiment/run_phases.h"

#include <algorithm>

#include "rl_training/data/window_sampler.h"
#include "rl_training/envs/registry.h"
#include "rl_training/runtime/hindsight.h"

namespace rl_training {
namespace {

uint64_t own_seed(const TrainConfig& config, const ProcessGroup* processes) {
  return seed_of_process(static_cast<uint64_t>(config.seed), process_rank(processes));
}

// The processes divide the configured buffer capacity equally.
int64_t share_of_buffer(const TrainConfig& config, const PhaseSpec& phase,
                        const ProcessGroup* processes) {
  const int64_t share = phase.collect.buffer_capacity / process_count(processes);
  if (share >= config.num_envs) return share;
  throw Error(ErrorKind::config, {"", 0, "buffer_capacity"},
              "too small to be shared by " + std::to_string(process_count(processes)) +
                  " processes (expected at least num_envs rows for each, got " +
                  std::to_string(share) + ")");
}

std::unique_ptr<Sampler> dataset_sampler(const TrainConfig& config, const RunData& data,
                                         TrainedPolicy& policy, const ProcessGroup* processes) {
  const auto request = share_of_batch(config, processes);
  const Rng rng(own_seed(config, processes), "data");
  if (request.window > 0) {
    return std::make_unique<WindowSampler>(data.rows, policy.normalizer(), request, rng);
  }
  return std::make_unique<UniformSampler>(data.rows, policy.normalizer(), request, rng,
                                          &policy.pool());
}

std::optional<ReturnRule> kept_returns(const BatchRequest& request) {
  if (!request.has(BatchColumn::return_to_go)) return {};
  return request.returns;
}

void warn_without_updates(const PhaseSpec& phase,
                          const std::function<void(const std::string&)>& warn) {
  if (planned_updates(phase) > 0) return;
  const UpdateRhythm rhythm(phase);
  warn("warning: no update will be made in " + std::to_string(phase.length) +
       " environment steps: updates start after " +
       std::to_string(std::max(rhythm.first_update_step, rhythm.min_rows)) +
       " of them (learning_starts, warmup_steps, min_buffer_size), every " +
       std::to_string(rhythm.train_frequency) + " (train_frequency)");
}

}  // namespace

BatchRequest share_of_batch(const TrainConfig& config, const ProcessGroup* processes) {
  auto request = config.algorithm->request();
  const int64_t count = process_count(processes);
  if (count > 1 && (request.rows % count != 0 || request.rows < 2 * count)) {
    throw Error(ErrorKind::config, {"", 0, "batch_size"},
                std::to_string(count) + " processes cannot share it (expected a multiple of " +
                    std::to_string(count) + ", at least 2 rows for each, got " +
                    std::to_string(request.rows) + ")");
  }
  request.rows /= count;
  return request;
}

RunPhases::Replay::Replay(const TrainConfig& config, const PhaseSpec& phase, TrainedPolicy& policy,
                          Sampler* dataset, const RewardTransform& reward, FileSystem& file_system,
                          ProcessGroup* processes)
    : buffer(share_of_buffer(config, phase, processes), policy.env().observation,
             policy.env().action, config.num_envs, kept_returns(config.algorithm->request())),
      files(buffer, file_system, process_rank(processes)) {
  const auto seed = own_seed(config, processes);
  const auto request = share_of_batch(config, processes);
  if (phase.collect.her.used) {
    goal_env = make_environment(config.env_id, config.env);
    sampler = std::make_unique<HindsightSampler>(buffer, policy.normalizer(), request,
                                                 *goal_env->goal_task(), reward, phase.collect.her,
                                                 Rng(seed, "replay"));
  } else {
    sampler =
        std::make_unique<ReplaySampler>(buffer, policy.normalizer(), request, Rng(seed, "replay"));
  }
  if (phase.reads_data()) {
    mixture = std::make_unique<MixtureSampler>(*dataset, *sampler, phase.data_share,
                                               Rng(seed, "mixture"));
  }
  collector = std::make_unique<Collector>(
      VectorEnv(config.env_id, config.num_envs, seed, "env", &policy.pool(), config.env), buffer,
      policy.algorithm(), policy.normalizer(),
      Collector::Options{.learning_starts = phase.collect.learning_starts,
                         .reward = reward,
                         .processes = process_count(processes)},
      Rng(seed, "explore"));
}

void RunPhases::Replay::visit_state(StateVisitor& state) {
  state.part("buffer", buffer);
  state.part("sampler", *sampler);
  if (mixture != nullptr) state.part("mixture", *mixture);
  state.part("collector", *collector);
}

RunPhases::Rollout::Rollout(const TrainConfig& config, const PhaseSpec& phase,
                            TrainedPolicy& policy, const RewardTransform& reward)
    : algorithm(dynamic_cast<OnPolicyAlgorithm&>(policy.algorithm())),
      buffer(policy.env().observation, policy.env().action, phase.rollout.steps / config.num_envs,
             config.num_envs),
      sampler(buffer, config.algorithm->request(),
              Rng(static_cast<uint64_t>(config.seed), "rollout")),
      collector(VectorEnv(config.env_id, config.num_envs, static_cast<uint64_t>(config.seed), "env",
                          &policy.pool(), config.env),
                buffer, algorithm, policy.normalizer(),
                {.rollout = phase.rollout, .gamma = config.algorithm->gamma, .reward = reward}) {}

void RunPhases::Rollout::visit_state(StateVisitor& state) {
  state.part("buffer", buffer);
  state.part("sampler", sampler);
  state.part("collector", collector);
}

RunPhases::RunPhases(TrainedPolicy& policy, const RunData& data, FileSystem& files,
                     ProcessGroup* processes, const std::function<void(const std::string&)>& warn) {
  const auto& config = policy.config();
  if (data.rows != nullptr) {
    dataset_ = dataset_sampler(config, data, policy, processes);
  }
  for (const auto& spec : config.phases()) {
    if (!spec.collects()) {
      phases_.push_back(std::make_unique<DataPhase>(spec, *dataset_));
      continue;
    }
    if (spec.rolls_out()) {
      if (process_count(processes) > 1) {
        throw Error(ErrorKind::config, {"", 0, "algo"},
                    "several processes cannot share rollouts (expected one, got " +
                        std::to_string(process_count(processes)) + "); see num_envs");
      }
      rollout_ =
          std::make_unique<Rollout>(config, spec, policy, collected_reward(config, data, warn));
      phases_.push_back(std::make_unique<RolloutPhase>(spec, rollout_->collector, rollout_->sampler,
                                                       rollout_->algorithm));
      continue;
    }
    warn_without_updates(spec, warn);
    replay_ = std::make_unique<Replay>(config, spec, policy, dataset_.get(),
                                       collected_reward(config, data, warn), files, processes);
    phases_.push_back(std::make_unique<OnlinePhase>(spec, *replay_->collector, replay_->source(),
                                                    replay_->mixture.get()));
  }
}

std::vector<Phase*> RunPhases::phases() const {
  std::vector<Phase*> phases;
  for (const auto& phase : phases_) phases.push_back(phase.get());
  return phases;
}

// A checkpoint that was written before a phase was added has no state for that phase. The phase
// then starts with an empty buffer and new environments.
void RunPhases::visit_state(StateVisitor& state) {
  if (dataset_ != nullptr) state.part("sampler", *dataset_);
  auto saved = static_cast<int64_t>(phases_.size());
  state.scalar("phases", saved);
  bool collects = replay_ != nullptr || rollout_ != nullptr;
  state.scalar("collects", collects);
  if (saved < 1 || saved > static_cast<int64_t>(phases_.size()) ||
      (collects && replay_ == nullptr && rollout_ == nullptr)) {
    throw Error(ErrorKind::checkpoint, {"", 0, "phases"},
                "more phases than the config has (expected 1 to " + std::to_string(phases_.size()) +
                    ", got " + std::to_string(saved) + ")");
  }
  for (int64_t i = 0; i < saved; ++i) {
    state.part("phase" + std::to_string(i), *phases_[static_cast<size_t>(i)]);
  }
  if (collects && replay_ != nullptr) state.part("online", *replay_);
  if (collects && rollout_ != nullptr) state.part("online", *rollout_);
}

void RunPhases::load_rows(const Checkpoint& checkpoint) {
  if (replay_ != nullptr && !checkpoint.files.empty()) replay_->files.load(checkpoint);
}

std::vector<CheckpointFile> RunPhases::checkpoint_files() {
  return replay_ == nullptr ? std::vector<CheckpointFile>() : replay_->files.checkpoint_files();
}

void RunPhases::saved_in(const std::string& directory) {
  if (replay_ != nullptr) replay_->files.saved_in(directory);
}

}  // namespace rl_training
