#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rl_training/experiment/train_config.h"
#include "rl_training/sweep/halving.h"
#include "rl_training/sweep/search_space.h"

namespace rl_training {

// The contents of a sweep file (docs/sweeps.md).
struct SweepSpec {
  // If `metric` is "selection", trials are ranked by the estimates of `select` on logged data.
  static constexpr const char* kSelection = "selection";

  std::string file;
  ConfigNode config;  // a file, a packaged config or a map of keys
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

// Reads a sweep, as strictly as a config is read. `map` is the whole document. Without `grid` or
// `random`, there are no points.
SweepSpec read_sweep_spec(const ConfigNode& map);
SweepSpec load_sweep_spec(const std::string& file);

struct Trial {
  size_t number = 0;
  Settings settings;
  TrainConfig config;  // with the first seed

  // "learning_rate=0.001 bc_alpha=2"
  std::string label() const;
};

// The trials with their configs. All configs are checked; Error{config} names the key in the sweep
// file.
std::vector<Trial> make_trials(const SweepSpec& spec);
// One trial with settings that the caller provides.
Trial make_trial(const SweepSpec& spec, size_t number, const Settings& settings);

RoundRules round_rules(const SweepSpec& spec, const std::vector<Trial>& trials);

}  // namespace rl_training
