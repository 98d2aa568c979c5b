#include "rl_training/experiment/dataset_source.h"

#include <functional>

#include "rl_training/data/best_episodes.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/data/mixing.h"
#include "rl_training/envs/recipes.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"

namespace rl_training {
namespace {

constexpr int64_t kDefaultRandomRows = 20000;

// Which of the keys a kind takes. Every other kind is a file format.
struct Keys {
  bool path = false, id = false, size = false, seed = false;
};

Keys keys_of(const std::string& kind) {
  if (kind == "random") return {.size = true, .seed = true};
  if (kind == "recipe") return {.id = true, .size = true, .seed = true};
  if (kind == "minari") return {.path = true, .id = true};
  return {.path = true};
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names = {"random", "recipe", "auto"};
  for (const auto& name : dataset_file_kinds()) names.push_back(name);
  return names;
}

std::string place_of(const DatasetSource& source) {
  return !source.path.empty() ? source.path : !source.id.empty() ? source.id : source.kind;
}

void check_fits(const TransitionDataset& dataset, const EnvSpec& env, const std::string& where) {
  const auto check = [&](const char* key, int64_t expected, int64_t got) {
    if (expected == got) return;
    throw Error(ErrorKind::data, {where, 0, key},
                "does not fit " + env.id + " (expected width " + std::to_string(expected) +
                    ", got " + std::to_string(got) + ")");
  };
  if (dataset.rows() == 0) throw Error(ErrorKind::data, {where, 0, ""}, "holds no transitions");
  check("observations", env.obs_dim, dataset.obs_dim());
  check("actions", env.action.dims(), dataset.action_dim());
}

TransitionDataset load_source(const DatasetSource& source, const DatasetOptions& options,
                              const EnvSpec& env) {
  const auto seed = static_cast<uint64_t>(source.seed);
  TransitionDataset dataset;
  if (source.kind == "random") {
    dataset = random_dataset(env.id, source.size > 0 ? source.size : kDefaultRandomRows, seed);
  } else if (source.kind == "recipe") {
    dataset = recipe_dataset(source.id, source.size, seed);
  } else {
    DatasetReadOptions read;
    if (options.actions == "environment") read.bounds = &env.action;
    if (options.timeout_policy == "drop") read.timeout_policy = TimeoutPolicy::drop;
    if (options.timeout_policy == "keep") read.timeout_policy = TimeoutPolicy::keep;
    read.episode_length = env.max_episode_steps;
    read.allow_nonfinite = options.allow_nonfinite;
    read.columns = options.csv_columns;
    dataset = load_dataset_file(source.kind, source.path.empty() ? source.id : source.path, read);
  }
  check_fits(dataset, env, place_of(source));
  return dataset;
}

}  // namespace

void DatasetSource::visit_options(OptionVisitor& options, const std::string& prefix, bool in_mix) {
  const auto key = [&](const char* name) { return prefix + name; };
  options.choice(key("kind").c_str(), kind, kind_names(), "where the transitions come from");
  options.text(key("path").c_str(), path, "file or directory, for kinds that read one");
  options.text(key("id").c_str(), id, "name of a recipe, or id of a Minari dataset");
  options.integer(key("size").c_str(), size, between(0, 1e9),
                  "rows to make; 0 leaves it to the kind");
  options.integer(key("seed").c_str(), seed, at_least(0), "seed of a dataset that is made");
  if (in_mix) options.number("weight", weight, above(0), "share of this part in the mixture");
}

void DatasetSource::check(const std::string& prefix) const {
  const auto takes = keys_of(kind);
  const auto check_key = [&](bool taken, bool given, bool required, const std::string& name) {
    const ErrorPlace place = {"", 0, prefix + name};
    if (required && !given) {
      throw Error(ErrorKind::config, place, "missing (" + prefix + "kind: " + kind + " needs it)");
    }
    if (!taken && given)
      throw Error(ErrorKind::config, place, "not used by " + prefix + "kind: " + kind);
  };
  check_key(takes.path, !path.empty(), takes.path && id.empty(), "path");
  check_key(takes.id, !id.empty(), takes.id && path.empty(), "id");
  check_key(takes.size, size > 0, false, "size");
  check_key(takes.seed, seed > 0, false, "seed");
  if (kind == "recipe") find_recipe(id);
}

void DatasetOptions::visit_options(OptionVisitor& options) {
  source.visit_options(options, "dataset_", false);
  options.groups(
      "dataset_mix", "several datasets by weight instead of one: [{kind, weight, ...}, ...]",
      mix.size(), [this](size_t count) { mix.assign(count, {}); },
      [this](size_t i, OptionVisitor& inner) { mix[i].visit_options(inner, "", true); });
  options.integer("dataset_mix_size", mix_size, between(0, 1e9),
                  "rows of the mixture; 0 takes as many as all parts have");
  options.integer("dataset_mix_seed", mix_seed, at_least(0), "seed of the mixture");
  options.number("dataset_top_fraction", top_fraction, above_up_to(0, 1),
                 "share of the episodes to keep, the best by discounted return");
  options.flag("normalize_observations", normalize_observations,
               "scale observations to zero mean and unit variance over the dataset");
  options.choice("dataset_actions", actions, {"environment", "unit"},
                 "units of the actions in a file: the environment's, or already [-1, 1]");
  options.choice("timeout_policy", timeout_policy, {"auto", "drop", "keep"},
                 "steps at which the time limit struck; auto drops them for d4rl files only");
  options.text("csv_columns", csv_columns, "which column of a csv file is what");
  options.flag("allow_nonfinite", allow_nonfinite, "let NaN and infinities in a file through");
  std::vector<std::string> presets = {"none"};
  for (const auto& preset : reward_presets()) presets.emplace_back(preset.name);
  std::string preset = reward.preset.empty() ? "none" : reward.preset;
  options.choice("reward_preset", preset, presets, "a named change of the rewards");
  reward.preset = preset == "none" ? "" : preset;
  options.number("reward_scale", reward.scale, any_number(), "factor of the rewards");
  options.number("reward_shift", reward.shift, any_number(), "added to the rewards");
  options.number("reward_clip_min", reward.clip_min, any_number(), "lowest reward");
  options.number("reward_clip_max", reward.clip_max, any_number(), "highest reward");
}

void DatasetOptions::check() const {
  if (mix.empty()) {
    source.check("dataset_");
  } else if (!source.path.empty() || !source.id.empty() || source.size > 0) {
    throw Error(ErrorKind::config, {"", 0, "dataset_mix"},
                "stands instead of dataset_path, dataset_id and dataset_size (give one or the "
                "other)");
  }
  for (size_t i = 0; i < mix.size(); ++i) {
    mix[i].check("dataset_mix[" + std::to_string(i) + "].");
  }
}

TransitionDataset load_transition_dataset(const DatasetOptions& options, const std::string& env_id,
                                          double gamma) {
  options.check();
  const EnvSpec env = make_environment(env_id)->spec();
  TransitionDataset dataset;
  if (options.mix.empty()) {
    dataset = load_source(options.source, options, env);
  } else {
    std::vector<DatasetPart> parts;
    for (const auto& part : options.mix) {
      parts.push_back({load_source(part, options, env), part.weight});
    }
    dataset =
        mix_transition_datasets(parts, options.mix_size, static_cast<uint64_t>(options.mix_seed));
  }
  dataset = keep_best_episodes(dataset, options.top_fraction, gamma);  // by the raw rewards
  const auto transform = resolve_reward_transform(options.reward, &dataset);
  return transform.identity() ? dataset : transform_rewards(dataset, transform);
}

}  // namespace rl_training
