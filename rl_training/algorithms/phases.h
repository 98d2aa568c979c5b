#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/util/options.h"

namespace rl_training {

// Hindsight experience replay: keys of the `her` group.
struct HindsightOptions {
  enum class Strategy { future, final, episode };
  bool used = false;
  Strategy strategy = Strategy::future;
  int64_t k = 4;  // relabelled rows per original row

  void visit_options(OptionVisitor& options);
};

// How transitions are collected from an environment, and how many updates follow.
struct CollectOptions {
  int64_t buffer_capacity = 1000000;
  int64_t learning_starts = 5000;
  int64_t train_frequency = 1;
  int64_t gradient_updates_per_step = 1;
  HindsightOptions her = {};

  void visit_options(OptionVisitor& options);
  // Checks rules that involve several keys. Throws Error{config} that names the invalid key.
  void check(int64_t batch_size, int64_t num_envs) const;
};

// How an on-policy algorithm collects rollouts. A rollout is used for a few passes and then
// discarded.
struct RolloutOptions {
  int64_t steps = 2048;      // summed over all environments
  int64_t epochs = 10;       // passes over a rollout
  int64_t minibatches = 32;  // updates per pass
  double gae_lambda = 0.95;
  bool normalize_observations = true, normalize_rewards = true;

  // Does not visit `epochs` and `minibatches`, which the algorithm sets.
  void visit_options(OptionVisitor& options);
  // Checks rules that involve several keys. Throws Error{config} that names the invalid key.
  void check(int64_t num_envs) const;
  int64_t updates() const { return epochs * minibatches; }  // maximum number of updates per rollout
};

// One phase of training: the source of its batches, its length and its learning rates. A run is a
// list of phases; see docs/architecture.md.
struct PhaseSpec {
  enum class Source {
    data,     // the dataset alone; the length is in updates
    replay,   // the replay buffer; the length is in environment steps
    mixture,  // dataset and replay buffer; the length is in environment steps
    rollout,  // rollouts of the current policy; the length is in environment steps
  };
  // What the learning-rate schedule spans: the run or the phase. With `constant`, the multiplier of
  // the learning rate is the schedule's `start` throughout the phase, without warm-up.
  enum class Schedule { run, phase, constant };

  std::string name;
  Source source = Source::data;
  int64_t length = 0;
  Schedule schedule = Schedule::run;

  // Used by phases that collect.
  CollectOptions collect = {};  // for collection into a replay buffer
  RolloutOptions rollout = {};  // for collection into a rollout
  // Fraction of dataset rows in the batches of a mixture. Without a value, all rows of the dataset
  // and the replay buffer are equally likely.
  std::optional<double> data_share = {};
  // Environment steps before the first update. Has an effect only if larger than learning_starts.
  int64_t warmup_steps = 0;
  int64_t min_buffer_size = 0;  // replay rows required before the first update

  bool reads_data() const { return source == Source::data || source == Source::mixture; }
  bool collects() const { return source != Source::data; }
  bool rolls_out() const { return source == Source::rollout; }
};

// The phases of a run that learns only from collected transitions.
std::vector<PhaseSpec> replay_phases(const CollectOptions& collect, int64_t total_timesteps);

// The phases of an on-policy run.
std::vector<PhaseSpec> rollout_phases(const RolloutOptions& rollout, int64_t total_timesteps);

bool read_data(const std::vector<PhaseSpec>& phases);
// The first phase that collects, or null.
const PhaseSpec* collecting_phase(const std::vector<PhaseSpec>& phases);

}  // namespace rl_training
