#include "rl_training/experiment/dataset_source.h"

#include <sstream>
#include <utility>

#include "rl_training/data/best_episodes.h"
#include "rl_training/data/dataset_cache.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/data/minari.h"
#include "rl_training/data/mixing.h"
#include "rl_training/envs/recipes.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"
#include "rl_training/envs/version_check.h"
#include "rl_training/experiment/action_space_finder.h"

namespace rl_training {
namespace {

constexpr int64_t kDefaultRandomRows = 20000;

// The keys that a `dataset_kind` uses. A kind that keys_of does not name is a file format.
struct Keys {
  bool path = false, id = false, size = false, seed = false, keys = false;
};

Keys keys_of(const std::string& kind) {
  if (kind == "random") return {.size = true, .seed = true};
  if (kind == "recipe") return {.id = true, .size = true, .seed = true};
  if (kind == kMemoryKind) return {};
  if (kind == "minari") return {.path = true, .id = true};
  return {.path = true, .keys = true};
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names = {"random", "recipe", "auto"};
  for (const auto& name : dataset_file_kinds()) names.push_back(name);
  names.emplace_back(kMemoryKind);
  return names;
}

std::string fitted(const EnvSpec& env) { return env.id == kNoEnvironment ? "the policy" : env.id; }

void check_fits(const TransitionDataset& dataset, const EnvSpec& env, const std::string& where) {
  const auto check = [&](const char* key, int64_t expected, int64_t got) {
    if (expected == got) return;
    throw Error(ErrorKind::data, {where, 0, key},
                "does not fit " + fitted(env) + " (expected width " + std::to_string(expected) +
                    ", got " + std::to_string(got) + ")");
  };
  if (dataset.rows() == 0) throw Error(ErrorKind::data, {where, 0, ""}, "holds no transitions");
  check("observations", env.observation.size(), dataset.obs_dim());
  check("actions", env.action.size(), dataset.action_dim());
  if (dataset.action_space().categories != env.action.categories) {
    throw Error(ErrorKind::data, {where, 0, "actions"},
                "does not fit " + fitted(env) + " (expected " + env.action.text() + ", got " +
                    dataset.action_space().text() + ")");
  }
}

DatasetReadOptions read_options(const DatasetOptions& options, const EnvSpec& env) {
  DatasetReadOptions read;
  if (env.action.is_discrete() && options.actions != "environment") {
    throw Error(
        ErrorKind::config, {"", 0, "dataset_actions"},
        "discrete actions have no units (expected environment, got " + options.actions + ")");
  }
  if (options.actions == "environment") read.bounds = &env.action;
  if (options.timeout_policy == "drop") read.timeout_policy = TimeoutPolicy::drop;
  if (options.timeout_policy == "keep") read.timeout_policy = TimeoutPolicy::keep;
  read.episode_length = env.max_episode_steps;
  read.allow_nonfinite = options.allow_nonfinite;
  read.keys = options.has_keys ? options.keys.text() : options.csv_columns;
  return read;
}

// Splits a comma-separated list and removes blanks around its entries.
std::vector<std::string> ids_of(const std::string& list) {
  std::vector<std::string> ids;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const auto first = word.find_first_not_of(' '), last = word.find_last_not_of(' ');
    if (first != std::string::npos) ids.push_back(word.substr(first, last - first + 1));
  }
  return ids;
}

class Loader {
 public:
  Loader(const DatasetOptions& options, const EnvSpec& env, const DatasetContext& context)
      : options_(options),
        env_(env),
        env_options_(context.env),
        cache_(cache_options(options, context.warn)) {}

  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::optional<ReferenceScores>& reference() const { return reference_; }

  TransitionDataset load(const DatasetSource& source) {
    if (source.kind == kMemoryKind) {
      auto read = read_options(options_, env_);
      read.find_warnings = true;
      auto found = arrays_of(source).transitions(read);
      for (const auto& warning : found.summary.warnings) {
        warnings_.push_back("arrays: " + warning.text());
      }
      return checked(std::move(found.dataset), MemoryArrays::kFile);
    }
    return load_with(source, [this](const std::string& kind, const std::string& path) {
      std::vector<DatasetWarning> found;
      auto dataset = checked(cache_.load(kind, path, read_options(options_, env_), &found), path);
      for (const auto& warning : found) warnings_.push_back(path + ": " + warning.text());
      const auto name = kind == "auto" ? detect_dataset_kind(path) : kind;
      if (name == "minari") look_at_task(path);
      if (name == "d4rl") look_at_version(dataset, path);
      return dataset;
    });
  }

  // Loads the source with unchanged and unchecked actions, as they are in the files. If `choices`
  // is true, the actions are indices of discrete actions.
  TransitionDataset load_raw(const DatasetSource& source, bool choices) {
    static const Space any_choice = Space::discrete(ActionSpaceFinder::kMostChoices);
    if (source.kind == kMemoryKind) {
      auto read = read_options(options_, env_);
      read.bounds = choices ? &any_choice : nullptr;
      return arrays_of(source).transitions(read).dataset;
    }
    return load_with(source, [&](const std::string& kind, const std::string& path) {
      auto read = read_options(options_, env_);
      // Minari files state the number of discrete actions, so no bound has to be assumed.
      const auto name = kind == "auto" ? detect_dataset_kind(path) : kind;
      read.bounds = choices && name != "minari" ? &any_choice : nullptr;
      return cache_.load(kind, path, read);
    });
  }

 private:
  static const MemoryArrays& arrays_of(const DatasetSource& source) {
    if (source.arrays) return *source.arrays;
    throw Error(ErrorKind::config, {"", 0, "dataset_kind"},
                "the data are arrays in memory, which the host program passes when it starts or "
                "resumes a run (expected a file here, as written by Dataset.save)");
  }

  void look_at_task(const std::string& path) {
    const auto task = read_minari_task(minari_data_file(path));
    if (!task.env_id.empty() && env_.id != kNoEnvironment && task.env_id != env_.id) {
      warnings_.push_back(path + ": env_spec: recorded in " + task.env_id +
                          ", and the config's env_id is " + env_.id);
    }
    if (task.ref_min_score && !reference_) {
      reference_ = ReferenceScores{*task.ref_min_score, *task.ref_max_score};
    }
  }

  void look_at_version(const TransitionDataset& data, const std::string& path) {
    if (env_.id == kNoEnvironment) return;
    const auto warning = other_version_warning(env_.id, env_options_, data);
    if (!warning.empty()) {
      warnings_.push_back(path + ": env_version: " + warning);
    }
  }

  template <class LoadFile>
  TransitionDataset load_with(const DatasetSource& source, const LoadFile& load_file) {
    const auto seed = static_cast<uint64_t>(source.seed);
    if (source.kind == "random") {
      const int64_t rows = source.size > 0 ? source.size : kDefaultRandomRows;
      return random_dataset(env_.id, rows, seed, env_options_);
    }
    if (source.kind == "recipe") {
      const Json what = {
          {"kind", source.kind}, {"id", source.id}, {"size", source.size}, {"seed", source.seed}};
      return checked(
          cache_.made(what, [&] { return recipe_dataset(source.id, source.size, seed); }),
          source.id);
    }
    if (!source.path.empty()) return load_file(source.kind, source.path);
    const auto ids = ids_of(source.id);
    if (ids.size() == 1) return load_file(source.kind, ids[0]);
    // The weight of each part is its number of rows, so the mixture contains every row once.
    std::vector<DatasetPart> parts;
    for (const auto& id : ids) {
      auto dataset = load_file(source.kind, id);
      const auto rows = static_cast<double>(dataset.rows());
      parts.push_back({std::move(dataset), rows});
    }
    return mix_transition_datasets(parts, 0, static_cast<uint64_t>(options_.mix_seed));
  }

  static DatasetCacheOptions cache_options(const DatasetOptions& options,
                                           const std::function<void(const std::string&)>& warn) {
    DatasetCacheOptions cache;
    if (options.cache != "off") cache.directory = DatasetCache::default_directory();
    cache.warn = warn;
    return cache;
  }
  TransitionDataset checked(TransitionDataset dataset, const std::string& where) const {
    check_fits(dataset, env_, where);
    return dataset;
  }

  const DatasetOptions& options_;
  const EnvSpec& env_;
  const EnvOptions& env_options_;
  DatasetCache cache_;
  std::vector<std::string> warnings_;
  std::optional<ReferenceScores> reference_;
};

std::vector<DatasetSource> sources_of(const DatasetOptions& options) {
  return options.mix.empty() ? std::vector{options.source} : options.mix;
}

// Determines the spaces from the raw files. The caller then reads the files again with these
// spaces.
EnvSpec spec_of_data(const DatasetOptions& options, const DatasetContext& context) {
  if (context.spaces != nullptr) return *context.spaces;
  EnvSpec env;
  env.id = kNoEnvironment;
  env.max_episode_steps = context.env.max_episode_steps.value_or(0);
  Loader loader(options, env, context);
  ActionSpaceFinder finder;
  bool first = true;
  for (const auto& source : sources_of(options)) {
    const auto dataset = loader.load_raw(source, context.discrete_actions);
    if (std::exchange(first, false)) env.observation = dataset.obs_space();
    finder.look_at(dataset);
  }
  env.action = finder.space(options, context.warn);
  return env;
}

}  // namespace

void DatasetSource::visit_options(OptionVisitor& options, const std::string& prefix, bool in_mix) {
  const auto key = [&](const char* name) { return prefix + name; };
  options.choice(key("kind").c_str(), kind, kind_names(), "where the transitions come from");
  options.text(key("path").c_str(), path, "file or directory, for kinds that read one");
  options.text(key("id").c_str(), id,
               "name of a recipe, or comma-separated ids of Minari datasets");
  options.integer(key("size").c_str(), size, between(0, 1e9),
                  "rows to generate; 0: the default of the kind");
  options.integer(key("seed").c_str(), seed, at_least(0), "seed of a generated dataset");
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
  if (kind == "minari" && path.empty() && ids_of(id).empty()) {
    throw Error(ErrorKind::config, {"", 0, prefix + "id"}, "names no dataset");
  }
}

void DatasetOptions::visit_options(OptionVisitor& options) {
  source.visit_options(options, "dataset_", false);
  options.groups(
      "dataset_mix", "several datasets by weight instead of one: [{kind, weight, ...}, ...]",
      mix.size(), [this](size_t count) { mix.assign(count, {}); },
      [this](size_t i, OptionVisitor& inner) { mix[i].visit_options(inner, "", true); });
  options.integer("dataset_mix_size", mix_size, between(0, 1e9),
                  "rows of the mixture; 0: the sum of its parts");
  options.integer("dataset_mix_seed", mix_seed, at_least(0), "seed of the mixture");
  options.number("dataset_top_fraction", top_fraction, above_up_to(0, 1),
                 "share of the episodes to keep, the best by discounted return");
  options.flag("normalize_observations", normalize_observations,
               "scale observations to zero mean and unit variance over the dataset");
  options.choice("dataset_actions", actions, {"environment", "unit"},
                 "units of the actions in a file: the environment's, or already [-1, 1]");
  options.numbers(
      "action_low", action_low, any_number(),
      "lowest action without an environment, one number or one per column; none: from the data");
  options.numbers(
      "action_high", action_high, any_number(),
      "highest action without an environment, one number or one per column; none: from the data");
  options.choice("timeout_policy", timeout_policy, {"auto", "drop", "keep"},
                 "what happens to steps that end by time-out; auto drops them for d4rl files only");
  options.group(
      "dataset_keys", "names of arrays or columns in the file, or a known layout of arrays",
      [this](OptionVisitor& inner) { keys.visit_options(inner); }, &has_keys, "layout");
  options.text("csv_columns", csv_columns, "names of columns in a csv file, in one line");
  options.flag("allow_nonfinite", allow_nonfinite, "accept NaN and infinity in a file");
  options.choice("dataset_cache", cache, {"auto", "off"},
                 "cache large files, so that the next start is fast");
  visit_reward_preset(options, "reward_preset", reward.preset);
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
                "excludes dataset_path, dataset_id and dataset_size (give one or the "
                "other)");
  }
  if (has_keys && mix.empty() && !keys_of(source.kind).keys) {
    throw Error(ErrorKind::config, {"", 0, "dataset_keys"},
                "not used by dataset_kind: " + source.kind);
  }
  if (has_keys && !csv_columns.empty()) {
    throw Error(ErrorKind::config, {"", 0, "csv_columns"},
                "excludes dataset_keys (give one or the other)");
  }
  for (size_t i = 0; i < mix.size(); ++i) {
    mix[i].check("dataset_mix[" + std::to_string(i) + "].");
  }
}

LoadedDataset load_dataset(const DatasetOptions& options, const std::string& env_id,
                           const DatasetContext& context) {
  options.check();
  LoadedDataset loaded;
  loaded.env = env_id == kNoEnvironment ? spec_of_data(options, context)
                                        : make_environment(env_id, context.env)->spec();
  Loader loader(options, loaded.env, context);
  auto& rows = loaded.rows;
  if (options.mix.empty()) {
    rows = loader.load(options.source);
  } else {
    std::vector<DatasetPart> parts;
    for (const auto& part : options.mix) parts.push_back({loader.load(part), part.weight});
    rows =
        mix_transition_datasets(parts, options.mix_size, static_cast<uint64_t>(options.mix_seed));
  }
  loaded.warnings = loader.warnings();
  loaded.reference = loader.reference();
  // Episodes are ranked by raw rewards, so the best ones are selected before the transform.
  rows = keep_best_episodes(rows, options.top_fraction, context.gamma);
  loaded.mean_return = rows.mean_return();
  loaded.reward = resolve_reward_transform(options.reward, &rows);
  if (!loaded.reward.identity()) rows = transform_rewards(rows, loaded.reward);
  return loaded;
}

TransitionDataset load_transition_dataset(const DatasetOptions& options, const std::string& env_id,
                                          const DatasetContext& context) {
  return load_dataset(options, env_id, context).rows;
}

}  // namespace rl_training
