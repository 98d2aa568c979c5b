#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "rl_training/experiment/replay_files.h"
#include "rl_training/experiment/run_data.h"
#include "rl_training/experiment/trained_policy.h"
#include "rl_training/runtime/phase.h"

namespace rl_training {

// The batch request of one process: its share of the rows of each batch. Throws Error{config} if
// batches cannot be divided among the processes.
BatchRequest share_of_batch(const TrainConfig& config, const ProcessGroup* processes);

// The phases of a run and their parts: the sampler of the dataset and, for phases that collect, the
// replay buffer, environments and samplers.
class RunPhases {
 public:
  // `warn` receives warnings about the settings, for example that no update will be made.
  RunPhases(TrainedPolicy& policy, const RunData& data, FileSystem& files, ProcessGroup* processes,
            const std::function<void(const std::string&)>& warn);

  std::vector<Phase*> phases() const;

  void visit_state(StateVisitor& state);
  // Restores the replay rows of a checkpoint. Call it before `visit_state` loads the other state.
  void load_rows(const Checkpoint& checkpoint);
  std::vector<CheckpointFile> checkpoint_files();
  void saved_in(const std::string& directory);

 private:
  // Parts of a phase that collects into a replay buffer.
  struct Replay {
    Replay(const TrainConfig& config, const PhaseSpec& phase, TrainedPolicy& policy,
           Sampler* dataset, const RewardTransform& reward, FileSystem& files,
           ProcessGroup* processes);
    Sampler& source() { return mixture != nullptr ? *mixture : *sampler; }
    void visit_state(StateVisitor& state);

    ReplayBuffer buffer;
    std::unique_ptr<Environment> goal_env;  // computes rewards of relabelled goals
    std::unique_ptr<Sampler> sampler;
    std::unique_ptr<MixtureSampler> mixture;  // null if the phase does not use the dataset
    std::unique_ptr<Collector> collector;
    ReplayFiles files;
  };

  // Parts of a phase with rollouts.
  struct Rollout {
    Rollout(const TrainConfig& config, const PhaseSpec& phase, TrainedPolicy& policy,
            const RewardTransform& reward);
    void visit_state(StateVisitor& state);

    OnPolicyAlgorithm& algorithm;
    RolloutBuffer buffer;
    RolloutSampler sampler;
    RolloutCollector collector;
  };

  std::unique_ptr<Sampler> dataset_;
  // `replay_` is null if no phase collects into a replay buffer. `rollout_` is null if no phase
  // collects rollouts.
  std::unique_ptr<Replay> replay_;
  std::unique_ptr<Rollout> rollout_;
  std::vector<std::unique_ptr<Phase>> phases_;
};

}  // namespace rl_training
