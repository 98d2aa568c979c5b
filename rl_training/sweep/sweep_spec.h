#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/experiment/train_config.h"
#include "rl_training/sweep/halving.h"
#include "rl_training/sweep/search_space.h"

namespace rl_training {

// A sweep as its YAML file states it (docs/sweeps.md).
struct SweepSpec {
  // Value of `metric` for estimates by `select` on logged data.
  static constexpr const char* kSelection = "selection";

  std::string file;
  ConfigNode config;  // file, packaged name or a map
  Settings changes;   // `set`: keys that all trials share
  std::vector<Settings> points;
  std::vector<int64_t> seeds = {0};
  int64_t trials = 0;  // number of points of a random search
  int64_t sweep_seed = 0;
  std::optional<int64_t> total_timesteps;
  HalvingOptions halving;
  std::string metric = "eval_return_mean";
  MetricMode mode = MetricMode::max;
  int64_t selection_updates = 20000;
  int64_t retries = 2;
  std::string output_dir;

  void visit_options(OptionVisitor& options);
};

// Strict like the reader of configs. `map` is the whole document. Without `grid` and `random` there
// are no points.
SweepSpec read_sweep_spec(const ConfigNode& map);
SweepSpec load_sweep_spec(const std::string& file);

struct Trial {
  size_t number = 0;
  Settings settings;
  TrainConfig config;  // with the first of the seeds

  // "learning_rate=0.001 bc_alpha=2"
  std::string label() const;
};

// The trials with their configs, all checked: Error{config} names the key of the sweep's file.
std::vector<Trial> make_trials(const SweepSpec& spec);
// One trial with settings from the caller.
Trial make_trial(const SweepSpec& spec, size_t number, const Settings& settings);

RoundRules round_rules(const SweepSpec& spec, const std::vector<Trial>& trials);

}  // namespace rl_training
