#include "rl_training/experiment/dataset_source.h"

#include <functional>

#include "rl_training/data/npz.h"
#include "rl_training/envs/recipes.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/rollout.h"

namespace rl_training {
namespace {

constexpr int64_t kDefaultRandomRows = 20000;

// One line for each dataset_kind: which of the keys it takes, and how the data are had.
struct Kind {
  const char* name;
  bool takes_path, takes_id, takes_size;
  std::function<TransitionDataset(const DatasetOptions&, const std::string& env_id)> load;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {"random", false, false, true,
       [](const DatasetOptions& options, const std::string& env_id) {
         const int64_t rows = options.size > 0 ? options.size : kDefaultRandomRows;
         return random_dataset(env_id, rows, static_cast<uint64_t>(options.seed));
       }},
      {"recipe", false, true, true,
       [](const DatasetOptions& options, const std::string&) {
         return recipe_dataset(options.id, options.size, static_cast<uint64_t>(options.seed));
       }},
      {"npz", true, false, false,
       [](const DatasetOptions& options, const std::string& env_id) {
         return load_npz_dataset(options.path, &make_environment(env_id)->spec().action);
       }},
  };
  return table;
}

const Kind& find_kind(const std::string& name) {
  for (const auto& kind : kinds()) {
    if (name == kind.name) return kind;
  }
  throw Error(ErrorKind::config, {"", 0, "algo_kwargs.dataset_kind"}, "unknown kind " + name);
}

void check_fits(const TransitionDataset& dataset, const EnvSpec& env, const std::string& where) {
  const auto fail = [&](const char* key, int64_t expected, int64_t got) {
    throw Error(ErrorKind::data, {where, 0, key},
                "does not fit " + env.id + " (expected width " + std::to_string(expected) +
                    ", got " + std::to_string(got) + ")");
  };
  if (dataset.rows() == 0) throw Error(ErrorKind::data, {where, 0, ""}, "holds no transitions");
  if (dataset.obs_dim() != env.obs_dim) fail("observations", env.obs_dim, dataset.obs_dim());
  if (dataset.action_dim() != env.action.dims()) {
    fail("actions", env.action.dims(), dataset.action_dim());
  }
}

}  // namespace

void DatasetOptions::visit_options(OptionVisitor& options) {
  std::vector<std::string> names;
  for (const auto& entry : kinds()) names.emplace_back(entry.name);
  options.choice("dataset_kind", kind, names, "where the transitions come from");
  options.text("dataset_path", path, "file, for kinds that read one");
  options.text("dataset_id", id, "name of the recipe");
  options.integer("dataset_size", size, between(0, 1e9), "rows to make; 0 leaves it to the kind");
  options.integer("dataset_seed", seed, at_least(0), "seed of a dataset that is made");
  options.flag("normalize_observations", normalize_observations,
               "scale observations to zero mean and unit variance over the dataset");
}

void DatasetOptions::check() const {
  const auto& entry = find_kind(kind);
  const auto check_key = [&](bool takes, bool given, bool required, const char* key) {
    const ErrorPlace place = {"", 0, std::string("algo_kwargs.") + key};
    if (takes && required && !given) {
      throw Error(ErrorKind::config, place, "missing (dataset_kind: " + kind + " needs it)");
    }
    if (!takes && given) {
      throw Error(ErrorKind::config, place, "not used by dataset_kind: " + kind);
    }
  };
  check_key(entry.takes_path, !path.empty(), true, "dataset_path");
  check_key(entry.takes_id, !id.empty(), true, "dataset_id");
  check_key(entry.takes_size, size > 0, false, "dataset_size");
  if (entry.takes_id) find_recipe(id);
}

TransitionDataset load_transition_dataset(const DatasetOptions& options,
                                          const std::string& env_id) {
  options.check();
  auto dataset = find_kind(options.kind).load(options, env_id);
  const auto& where = options.path.empty() ? options.kind + " dataset" : options.path;
  check_fits(dataset, make_environment(env_id)->spec(), where);
  return dataset;
}

}  // namespace rl_training
