#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "rl_training/experiment/replay_files.h"
#include "rl_training/experiment/run_data.h"
#include "rl_training/experiment/trained_policy.h"
#include "rl_training/runtime/phase.h"

namespace rl_training {

// The share of one process in the batches of a run. Error{config} if they cannot be shared.
BatchRequest share_of_batch(const TrainConfig& config, const ProcessGroup* processes);

// The phases of a run and what they work with: the sampler of its dataset and, where a phase
// collects, replay buffer, environments and samplers.
class RunPhases {
 public:
  // `warn` hears of settings that will not do what they seem to.
  RunPhases(TrainedPolicy& policy, const RunData& data, FileSystem& files, ProcessGroup* processes,
            const std::function<void(const std::string&)>& warn);

  std::vector<Phase*> phases() const;

  void visit_state(StateVisitor& state);
  // The replay rows of a checkpoint; before `visit_state` reads the rest.
  void load_rows(const Checkpoint& checkpoint);
  std::vector<CheckpointFile> checkpoint_files();
  void saved_in(const std::string& directory);

 private:
  // What a phase that collects into a replay buffer works with.
  struct Replay {
    Replay(const TrainConfig& config, const PhaseSpec& phase, TrainedPolicy& policy,
           Sampler* dataset, const RewardTransform& reward, FileSystem& files,
           ProcessGroup* processes);
    Sampler& source() { return mixture != nullptr ? *mixture : *sampler; }
    void visit_state(StateVisitor& state);

    ReplayBuffer buffer;
    std::unique_ptr<Environment> goal_env;  // computes rewards of relabelled goals
    std::unique_ptr<Sampler> sampler;
    std::unique_ptr<MixtureSampler> mixture;  // null: no prior data
    std::unique_ptr<Collector> collector;
    ReplayFiles files;
  };

  // What a phase of rollouts works with.
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
  // Null: no phase collects in this way.
  std::unique_ptr<Replay> replay_;
  std::unique_ptr<Rollout> rollout_;
  std::vector<std::unique_ptr<Phase>> phases_;
};

}  // namespace rl_training
