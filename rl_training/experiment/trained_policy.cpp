#include "rl_training/experiment/trained_policy.h"

#include <cmath>

#include "build_info.h"
#include "rl_training/envs/registry.h"
#include "rl_training/experiment/state_archive.h"
#include "rl_training/models/kernels.h"
#include "rl_training/util/file_system.h"

namespace rl_training {

namespace {

EnvSpec spec_of_environment(const TrainConfig& config) {
  if (config.has_environment()) return make_environment(config.env_id, config.env)->spec();
  throw Error(ErrorKind::config, {"", 0, "env_id"},
              "none: the spaces of the policy come from the data (expected training first)");
}

// Rejects a space with more elements than the checkpoint's tensors have bytes, before memory is
// allocated for the space. Such a space is invalid, because every network has at least one weight
// per input.
void check_size(const Checkpoint& checkpoint, const char* key, const Space& space) {
  uint64_t bytes = 0;
  for (const auto& entry : checkpoint.entries) bytes += entry.bytes.size();
  const auto elements = static_cast<uint64_t>(std::max(space.size(), space.categories));
  if (elements > 0 && elements <= bytes) return;
  throw Error(ErrorKind::checkpoint, {checkpoint.path, 0, std::string("spaces.") + key},
              "does not fit the tensors of the checkpoint");
}

void check_bounds(const Checkpoint& checkpoint, const Space& action) {
  if (action.is_discrete()) return;
  bool bounded = static_cast<int64_t>(action.low.size()) == action.size();
  for (size_t k = 0; bounded && k < action.low.size(); ++k) {
    bounded = std::isfinite(action.low[k]) && std::isfinite(action.high[k]) &&
              action.low[k] <= action.high[k];
  }
  if (bounded) return;
  throw Error(ErrorKind::checkpoint, {checkpoint.path, 0, "spaces.action"},
              "has no bounds to scale actions to");
}

// Returns normalised observations [rows, obs_dim].
torch::Tensor as_vectors(const std::vector<std::vector<double>>& obs,
                         const ObsNormalizer& normalizer) {
  const auto columns = static_cast<int64_t>(obs.empty() ? 0 : obs.front().size());
  auto input = torch::empty({static_cast<int64_t>(obs.size()), columns});
  float* row = input.data_ptr<float>();
  for (const auto& values : obs) {
    for (size_t j = 0; j < values.size(); ++j) row[j] = static_cast<float>(values[j]);
    if (!normalizer.identity()) normalizer.apply(row, row);
    row += columns;
  }
  return input;
}

// Returns uint8 images [rows, channels, height, width].
torch::Tensor as_images(const std::vector<std::vector<double>>& obs, const Space& space) {
  std::vector<int64_t> shape = {static_cast<int64_t>(obs.size())};
  shape.insert(shape.end(), space.shape.begin(), space.shape.end());
  auto input = torch::empty(shape, torch::kByte);
  auto* pixel = input.data_ptr<uint8_t>();
  for (const auto& values : obs) {
    for (const double value : values) {
      if (!(value >= 0 && value <= 255) || value != std::floor(value)) {
        throw Error(ErrorKind::data, {"", 0, "obs"},
                    "not a pixel of " + space.text() + " (expected a whole number from 0 to 255, " +
                        "got " + std::to_string(value) + ")");
      }
      *pixel++ = static_cast<uint8_t>(value);
    }
  }
  return input;
}

}  // namespace

TrainedPolicy::TrainedPolicy(const TrainConfig& config)
    : TrainedPolicy(config, spec_of_environment(config)) {}

TrainedPolicy::TrainedPolicy(TrainConfig config, EnvSpec env, ProcessGroup* processes)
    : config_(std::move(config)),
      env_(std::move(env)),
      pool_(std::make_unique<ThreadPool>(config_.threads > 0 ? static_cast<int>(config_.threads)
                                                             : available_cores())),
      normalizer_(env_.observation) {
  const SingleThreadedTensors serial;
  AlgorithmContext context;
  context.obs = env_.observation;
  context.action = env_.action;
  context.seed = static_cast<uint64_t>(config_.seed);
  context.compute = {.pool = pool_.get(), .processes = processes};
  algorithm_ = make_algorithm(config_.algo, *config_.algorithm, context);
}

TrainedPolicy::TrainedPolicy(const Checkpoint& checkpoint)
    : TrainedPolicy(checkpoint, config_of(checkpoint, ConfigUse::acting)) {}

TrainedPolicy::TrainedPolicy(const Checkpoint& checkpoint, const TrainConfig& config)
    : TrainedPolicy(config, spaces_of(checkpoint, config)) {
  checkpoint_ = checkpoint.path;
  load_state(
      checkpoint.entries, checkpoint.path, [this](StateVisitor& state) { visit_state(state); },
      /*allow_unvisited=*/true);
}

std::unique_ptr<Environment> TrainedPolicy::make_own_environment(const std::string& purpose) const {
  if (!config_.has_environment()) {
    throw Error(ErrorKind::config, {checkpoint_, 0, "env_id"},
                purpose +
                    " needs an environment, and this run was trained without one (expected a "
                    "run whose config has env_id)");
  }
  return make_fitting_environment(config_.env_id, config_.env);
}

std::unique_ptr<Environment> TrainedPolicy::make_fitting_environment(
    const std::string& id, const EnvOptions& options) const {
  auto environment = make_environment(id, options);
  const auto& spec = environment->spec();
  if (spec.observation.shape == env_.observation.shape && spec.action.shape == env_.action.shape &&
      spec.action.categories == env_.action.categories) {
    return environment;
  }
  throw Error(ErrorKind::checkpoint, {checkpoint_, 0, "spaces"},
              "the policy was trained for another " + id + " (expected " + env_.observation.text() +
                  " and " + env_.action.text() + ", got " + spec.observation.text() + " and " +
                  spec.action.text() + ")");
}

EvaluationResult TrainedPolicy::evaluate(int64_t episodes, uint64_t seed,
                                         const EvaluationPlace& place) {
  const bool own_id = place.env_id.empty() || place.env_id == config_.env_id;
  const bool own = own_id && !place.options;
  const auto& id = own_id ? config_.env_id : place.env_id;
  const auto options = own ? config_.env : place.options.value_or(EnvOptions());
  own ? make_own_environment("an evaluation") : make_fitting_environment(id, options);
  const SingleThreadedTensors serial;
  return Evaluator(id, episodes, seed, pool_.get(), options)
      .run(*algorithm_, normalizer_, place.requests);
}

std::vector<std::vector<double>> TrainedPolicy::predict(
    const std::vector<std::vector<double>>& obs) {
  const auto state = algorithm_->make_policy_state(static_cast<int64_t>(obs.size()));
  return predict(obs, *state);
}

std::vector<std::vector<double>> TrainedPolicy::predict(const std::vector<std::vector<double>>& obs,
                                                        PolicyState& state) {
  for (size_t i = 0; i < obs.size(); ++i) {
    if (static_cast<int64_t>(obs[i].size()) != env_.observation.size()) {
      throw Error(ErrorKind::data, {"", 0, "obs"},
                  "observation " + std::to_string(i) + " does not fit the policy (expected " +
                      std::to_string(env_.observation.size()) + " numbers, got " +
                      std::to_string(obs[i].size()) + ")");
    }
  }
  const auto input =
      env_.observation.is_image() ? as_images(obs, env_.observation) : as_vectors(obs, normalizer_);
  const SingleThreadedTensors serial;
  const auto chosen = algorithm_->act(input, state, ActMode::greedy).contiguous();
  std::vector<std::vector<double>> actions(obs.size());
  for (size_t i = 0; i < actions.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    if (env_.action.is_discrete()) {
      actions[i] = {static_cast<double>(chosen.data_ptr<int64_t>()[row])};
      continue;
    }
    const int64_t dims = env_.action.size();
    const float* unit = chosen.data_ptr<float>() + row * dims;
    for (int64_t j = 0; j < dims; ++j) actions[i].push_back(env_.action.from_unit(j, unit[j]));
  }
  return actions;
}

void TrainedPolicy::save(const std::string& directory) {
  const auto entries = save_state([this](StateVisitor& state) { visit_state(state); });
  save_checkpoint(posix_file_system(), directory, 0, entries,
                  checkpoint_facts(config_, env_, pool_->capacity(), ""));
}

void TrainedPolicy::visit_state(StateVisitor& state) {
  state.part("algorithm", *algorithm_);
  state.part("normalizer", normalizer_);
}

Json checkpoint_facts(const TrainConfig& config, const EnvSpec& env, int threads,
                      const std::string& fingerprint) {
  return {
      {"config", write_train_config(config)},
      {"config_hash", config_hash(config)},
      {"spaces",
       {{"observation", space_to_json(env.observation)}, {"action", space_to_json(env.action)}}},
      {"dataset_fingerprint", fingerprint},
      {"version", RL_TRAINING_VERSION},
      {"threads", threads},
      {"instruction_set", kernels().name}};
}

TrainConfig config_of(const Checkpoint& checkpoint, ConfigUse use) {
  if (!checkpoint.manifest.contains("config")) {
    throw Error(ErrorKind::checkpoint, {checkpoint.path, 0, "config"},
                "the manifest holds no config");
  }
  return read_train_config(
      ConfigNode::from_json(checkpoint.manifest["config"], checkpoint.path + "/manifest.json"),
      use);
}

EnvSpec spaces_of(const Checkpoint& checkpoint, const TrainConfig& config) {
  const auto found = checkpoint.manifest.find("spaces");
  if (found == checkpoint.manifest.end() || !found->is_object()) {
    throw Error(ErrorKind::checkpoint, {checkpoint.path, 0, "spaces"},
                "the manifest has no observation and action spaces");
  }
  EnvSpec env;
  env.id = config.env_id;
  try {
    env.observation = space_from_json(found->value("observation", Json()), "spaces.observation");
    env.action = space_from_json(found->value("action", Json()), "spaces.action");
  } catch (const Error& error) {
    throw Error(error.kind(), {checkpoint.path, 0, error.place().key}, error.message());
  }
  check_size(checkpoint, "observation", env.observation);
  check_size(checkpoint, "action", env.action);
  check_bounds(checkpoint, env.action);
  if (!fits(find_algorithm(config.algo), env.observation, env.action)) {
    throw Error(ErrorKind::checkpoint, {checkpoint.path, 0, "spaces"},
                "not what " + config.algo + " learns to act on");
  }
  env.max_episode_steps = config.env.max_episode_steps.value_or(0);
  return env;
}

TrainedPolicy load_policy(const std::string& run_or_checkpoint, const PolicyLoading& loading) {
  auto checkpoint = find_checkpoint(run_or_checkpoint, loading.warn);
  auto& manifest = checkpoint.manifest;
  if (loading.threads) manifest["/config/threads"_json_pointer] = *loading.threads;
  if (loading.target_return) {
    manifest["/config/algo_kwargs/target_return"_json_pointer] = *loading.target_return;
  }
  return TrainedPolicy(checkpoint);
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Checkpoint find_checkpoint(const std::string& given,
                           const std::function<void(const std::string&)>& warn) {
  auto& files = posix_file_system();
  const auto run_or_checkpoint = without_slash(given);
  if (!files.exists(run_or_checkpoint)) {
    throw Error(ErrorKind::io, {run_or_checkpoint, 0, ""}, "no such run or checkpoint directory");
  }
  if (files.exists(run_or_checkpoint + "/checkpoints")) {
    const CheckpointStore store(files, run_or_checkpoint + "/checkpoints");
    if (auto checkpoint = store.load_newest(warn, CheckpointUse::acting)) {
      return std::move(*checkpoint);
    }
    throw Error(ErrorKind::checkpoint, {run_or_checkpoint, 0, ""},
                "this run has no checkpoint yet");
  }
  return load_checkpoint(files, run_or_checkpoint, CheckpointUse::acting);
}

}  // namespace rl_training
