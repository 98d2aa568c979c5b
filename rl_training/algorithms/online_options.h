#pragma once
#include "rl_training/util/options.h"

namespace rl_training {

// Hindsight experience replay: keys of the `her` group.
struct HindsightOptions {
  bool used = false;
  std::string strategy = "future";
  int64_t k = 4;  // relabelled rows for each row as it was

  void visit_options(OptionVisitor& options);
};

// How an algorithm learns from an environment: what is collected, and how many updates follow.
struct OnlineOptions {
  int64_t buffer_capacity = 1000000;
  int64_t learning_starts = 5000;
  int64_t train_frequency = 1;
  int64_t gradient_updates_per_step = 1;
  HindsightOptions her;

  // Which of the keys for prior data there are: none, all, or, where the run begins with
  // `total_timesteps` updates from the dataset anyway, only the ratio.
  enum class Prior { none, ratio, all };
  Prior prior = Prior::none;
  int64_t offline_pretrain_updates = 0;
  std::optional<double> offline_batch_ratio = 0.5;  // none: by the number of rows of each source

  // For a run that comes from a dataset: the policy explores from the first step.
  static OnlineOptions after_offline();

  void visit_options(OptionVisitor& options);
  // Rules between keys: Error{config} naming the key.
  void check(int64_t batch_size, int64_t num_envs) const;
};

}  // namespace rl_training
