#pragma once
#include <memory>

#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/experiment/trained_policy.h"
#include "rl_training/runtime/collector.h"
#include "rl_training/runtime/trainer.h"

namespace rl_training {

// What a run needs to learn from its environment: replay buffer, collector and samplers, and the
// buffer's rows as files of a checkpoint. Rows never change, so each checkpoint adds one file with
// the rows since the one before and links the others.
class OnlineSetup {
 public:
  // `dataset` is the sampler of the prior data, or null; `reward` is what is learnt from.
  OnlineSetup(const TrainConfig& config, TrainedPolicy& policy, Sampler* dataset,
              const RewardTransform& reward);

  Collector& collector() { return *collector_; }
  const MixtureSampler* mixture() const { return mixture_.get(); }  // null: no prior data
  Sampler& sampler() { return mixture_ != nullptr ? *mixture_ : *replay_; }
  const ReplayBuffer& buffer() const { return buffer_; }
  static OnlinePlan plan(const TrainConfig& config);

  void visit_state(StateVisitor& state);
  // The rows of a checkpoint; before `visit_state` reads the rest.
  void load_rows(const Checkpoint& checkpoint);
  // Files for the next checkpoint, and the news that it was saved in that directory.
  std::vector<CheckpointFile> checkpoint_files();
  void saved_in(const std::string& directory);

 private:
  struct Segment {
    int64_t first = 0, rows = 0;
    CheckpointFile file;
  };

  ReplayBuffer buffer_;
  std::unique_ptr<Environment> goal_env_;  // computes rewards of relabelled goals
  std::unique_ptr<Sampler> replay_;
  std::unique_ptr<MixtureSampler> mixture_;
  std::unique_ptr<Collector> collector_;
  std::vector<Segment> segments_, pending_;
};

}  // namespace rl_training
