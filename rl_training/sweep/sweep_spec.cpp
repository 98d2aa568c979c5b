#include "rl_training/sweep/sweep_spec.h"

#include <algorithm>
#include <filesystem>

#include "rl_training/experiment/yaml_reader.h"
#include "rl_training/sweep/run_finder.h"
#include "rl_training/sweep/seeds.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

// Reads `seeds: 0-9`, `seeds: 3` or `seeds: [0, 1, 2]`.
std::vector<int64_t> read_seeds(const ConfigNode& node) {
  std::vector<std::string> parts;
  if (node.kind == ConfigNode::Kind::scalar) parts.push_back(node.text);
  for (const auto& item : node.items) parts.push_back(item.text);
  try {
    return parse_seeds(join(parts, ","), "seeds");
  } catch (const Error& error) {
    node.fail("seeds", error.message());
  }
}

Settings read_changes(const ConfigNode& node) {
  if (node.kind != ConfigNode::Kind::map) {
    node.fail("set", "not a map of keys (expected for example {batch_size: 64}, got " +
                         node.shown() + ")");
  }
  return node.entries;
}

void read_points(const ConfigNode& root, SweepSpec& spec) {
  const auto* grid = root.find("grid");
  const auto* random = root.find("random");
  if (grid == nullptr && random == nullptr) return;  // the caller provides the points
  if (grid != nullptr && random != nullptr) {
    random->fail("random", "excludes `grid` (expected one of them)");
  }
  const auto* trials = root.find("trials");
  if (random != nullptr && trials == nullptr) {
    root.fail("trials", "missing (`random` needs the number of points to draw)");
  }
  if (grid != nullptr && trials != nullptr) {
    trials->fail("trials", "not used by `grid` (expected it with `random`)");
  }
  spec.points = grid != nullptr ? grid_points(read_grid(*grid, "grid"))
                                : random_points(read_distributions(*random, "random"), spec.trials,
                                                static_cast<uint64_t>(spec.sweep_seed));
}

// Loads the base config. A path relative to the sweep file takes precedence over a path relative to
// the working directory.
ConfigNode load_base(const ConfigNode& config, const std::string& sweep_file) {
  if (config.kind == ConfigNode::Kind::map) return config;
  if (config.kind != ConfigNode::Kind::scalar) {
    config.fail("config", "not a config (expected a packaged name, a file or a map of keys, got " +
                              config.shown() + ")");
  }
  const auto beside = fs::path(sweep_file).parent_path() / config.text;
  std::error_code ignored;
  try {
    return load_config(fs::is_regular_file(beside, ignored) ? beside.string() : config.text);
  } catch (const Error& error) {
    if (error.place().line > 0) throw;
    config.fail("config", error.message());
  }
}

void check_metric(const SweepSpec& spec, const TrainConfig& config) {
  if (spec.metric == SweepSpec::kSelection) return;
  auto names = metric_names(config);
  names.emplace_back(SweepSpec::kSelection);
  const bool known = std::find(names.begin(), names.end(), spec.metric) != names.end();
  const bool evaluated = config.eval_episodes > 0 || !spec.metric.starts_with("eval_");
  if (known && evaluated) return;
  throw Error(ErrorKind::config, {spec.file, 0, "metric"},
              known ? "needs evaluations (expected eval_episodes of at least 1)"
                    : "no metric of " + config.algo + " with this config (expected one of " +
                          join(names, ", ") + ", got " + spec.metric +
                          did_you_mean(spec.metric, names) + ")");
}

}  // namespace

void SweepSpec::visit_options(OptionVisitor& options) {
  options.integer("trials", trials, between(1, 100000), "number of points to draw for `random`");
  options.integer("sweep_seed", sweep_seed, at_least(0), "seed of the points that are drawn");
  options.integer("total_timesteps", total_timesteps, at_least(1),
                  "length of each run; none uses the config's");
  options.group(
      "halving", "stop the worst trials early",
      [this](OptionVisitor& inner) { halving.visit_options(inner); }, &halving.used,
      "min_timesteps");
  options.text("metric", metric,
               "value by which trials are compared: a metric of the runs, or selection");
  options.choice("mode", mode, {{"max", MetricMode::max}, {"min", MetricMode::min}},
                 "whether larger or smaller values are better");
  options.integer("selection_updates", selection_updates, at_least(1),
                  "updates per estimate, if the metric is selection");
  options.integer("retries", retries, between(0, 100),
                  "further attempts on Slurm for a run that ends without progress");
  options.text("output_dir", output_dir,
               "directory of the sweep; none: runs/NAME, from the file's name");
}

SweepSpec read_sweep_spec(const ConfigNode& map) {
  SweepSpec spec;
  spec.file = map.file;
  OptionReader reader(map, "");
  spec.visit_options(reader);
  for (const char* key : {"config", "set", "seeds", "grid", "random"}) reader.accept(key);
  reader.finish();
  if (const auto* node = map.find("seeds")) spec.seeds = read_seeds(*node);
  if (const auto* node = map.find("set")) spec.changes = read_changes(*node);
  if (const auto* node = map.find("config")) spec.config = *node;
  read_points(map, spec);
  if (spec.output_dir.empty()) {
    const auto stem = fs::path(spec.file).stem().string();
    spec.output_dir = "runs/" + (stem.empty() ? "sweep" : stem);
  }
  return spec;
}

SweepSpec load_sweep_spec(const std::string& file) {
  auto& files = posix_file_system();
  if (!files.exists(file)) {
    throw Error(ErrorKind::config, {file, 0, ""}, "no such file (expected a sweep in YAML)");
  }
  return read_sweep_spec(read_yaml(files.read_file(file), file));
}

std::string Trial::label() const {
  std::string text;
  for (const auto& [key, value] : settings) {
    text += (text.empty() ? "" : " ") + key + "=" + value.shown();
  }
  return text;
}

Trial make_trial(const SweepSpec& spec, size_t number, const Settings& settings) {
  Trial trial;
  trial.number = number;
  trial.settings = settings;
  auto base = spec.config;
  for (const auto& [key, value] : settings) {
    if (key == "config") base = value;
  }
  if (base.kind == ConfigNode::Kind::null) {
    throw Error(ErrorKind::config, {spec.file, 0, "config"},
                "missing (expected for example td3_bc/pendulum)");
  }
  auto root = load_base(base, spec.file);
  const auto set = [&](const std::string& key, const ConfigNode& value) {
    if (key == "seed" || key == "output_dir" || key == "total_timesteps") {
      value.fail(key, "not a key to search over (expected it at the top of the file)");
    }
    if (key != "config") set_config_key(root, key, value, spec.file);
  };
  for (const auto& [key, value] : spec.changes) set(key, value);
  for (const auto& [key, value] : settings) set(key, value);
  if (spec.total_timesteps) {
    set_config_key(root, "total_timesteps",
                   ConfigNode::scalar(std::to_string(*spec.total_timesteps)), spec.file);
  }
  trial.config = with_absolute_paths(read_train_config(root));
  trial.config.seed = spec.seeds.front();
  check_metric(spec, trial.config);
  return trial;
}

std::vector<Trial> make_trials(const SweepSpec& spec) {
  std::vector<Trial> trials;
  for (size_t i = 0; i < spec.points.size(); ++i) {
    trials.push_back(make_trial(spec, i, spec.points[i]));
    const auto& first = trials.front().config;
    const auto& config = trials.back().config;
    if (spec.halving.used &&
        (length_of(config) != length_of(first) || config.eval_interval != first.eval_interval)) {
      throw Error(ErrorKind::config, {spec.file, 0, "halving"},
                  "trials differ in length or eval_interval (expected equal ones: set "
                  "total_timesteps, and set: {eval_interval: N})");
    }
  }
  return trials;
}

RoundRules round_rules(const SweepSpec& spec, const std::vector<Trial>& trials) {
  if (trials.empty()) return {spec.halving, spec.mode};
  const auto& first = trials.front().config;
  return {spec.halving, spec.mode, length_of(first), first.eval_interval, trials.size()};
}

}  // namespace rl_training
