#include "rl_training/experiment/run_parts.h"

#include <algorithm>

#include "build_info.h"
#include "rl_training/experiment/run_shares.h"
#include "rl_training/models/kernels.h"
#include "rl_training/runtime/health.h"

namespace rl_training {
namespace {

bool is_evaluation_metric(const std::string& name) {
  std::vector<std::string> names;
  append_names<EvaluationMetrics>(names);
  append_names<ValidationMetrics>(names);
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

RunBeginning load_beginning(const TrainConfig& config, const RunContext& context,
                            const std::string& from) {
  RunBeginning beginning;
  auto& spaces = beginning.from_spaces;
  if (!from.empty()) {
    beginning.from = find_checkpoint(from, context.warn);
    spaces = spaces_of(*beginning.from, config_of(*beginning.from, ConfigUse::acting));
    spaces->id = config.env_id;
    spaces->max_episode_steps = config.env.max_episode_steps.value_or(0);
  }
  // A run without an environment that states no action bounds takes its spaces from the checkpoint
  // that provides its networks.
  const bool same_bounds = !config.has_environment() && config.dataset.action_low.empty() &&
                           config.dataset.action_high.empty();
  beginning.data = load_run_data(
      config, {.warn = context.warn, .spaces = spaces && same_bounds ? &*spaces : nullptr});
  return beginning;
}

RunParts::RunParts(const TrainConfig& config, RunData run_data, const RunContext& context,
                   const Checkpoint* from)
    : policy(config, run_data.env, context.processes),
      data(std::move(run_data)),
      processes_(context.processes) {
  dataset.fingerprint = data.fingerprint;
  if (const auto& rows = data.rows) {
    dataset = {rows->rows(),
               static_cast<int64_t>(rows->episodes().size()),
               data.mean_return,
               data.fingerprint,
               {}};
    if (!rows->obs_space().is_image()) {
      dataset.first_obs.assign(rows->obs(0), rows->obs(0) + rows->obs_dim());
    }
    if (config.dataset.normalize_observations) policy.normalizer() = ObsNormalizer::fit(*rows);
  }
  // The warm start must precede the samplers, because they copy the normaliser.
  if (from != nullptr) warm_start = start_from(*from, policy);
  phases =
      std::make_unique<RunPhases>(policy, data, context.session.files(), processes_, context.warn);
  if (config.eval_episodes > 0) {
    evaluator_ = std::make_unique<Evaluator>(
        config.env_id, config.eval_episodes, static_cast<uint64_t>(config.eval_seed),
        &policy.pool(), config.env, data.reference, processes_);
  }
  const auto request = share_of_batch(config, processes_);
  if (data.held_out != nullptr) {
    validator_ = std::make_unique<Validator>(
        data.held_out, Validator::Options{.gamma = request.gamma, .remembers = request.window > 0});
  }
  TrainerParts parts;
  parts.algorithm = &policy.algorithm();
  parts.phases = phases->phases();
  parts.batch = Batch(request, policy.env().observation, policy.env().action);
  parts.evaluator = evaluator_.get();
  parts.validator = validator_.get();
  parts.normalizer = &policy.normalizer();
  parts.processes = processes_;
  // Several environments step on the same threads as updates, and may benefit from more threads
  // than updates do. The number of threads is therefore tuned only if there is one environment.
  if (config.threads == 0 && config.num_envs == 1) parts.tuned_pool = &policy.pool();
  trainer = std::make_unique<Trainer>(std::move(parts), trainer_options());
  check_processes();
}

TrainerOptions RunParts::trainer_options() const {
  const auto& config = policy.config();
  TrainerOptions options;
  const auto specs = config.phases();
  int64_t epoch_rows = dataset.rows;
  if (config.collects_by_itself()) {
    const auto* phase = collecting_phase(specs);
    epoch_rows = phase->rolls_out() ? phase->rollout.steps : phase->collect.buffer_capacity;
  } else {
    check_dataset_size(config.budget, dataset.rows);
  }
  options.budget = plan_budget(config.budget, specs, epoch_rows, config.algorithm->request().rows);
  options.schedule = config.schedule;
  options.early_stopping = config.early_stopping;
  if (config.early_stopping.enabled && is_evaluation_metric(config.early_stopping.metric)) {
    options.best_metric = config.early_stopping.metric;
    options.best_mode = config.early_stopping.mode;
  }
  options.learning_rate = config.algorithm->learning_rate;
  options.dataset_size = dataset.rows;
  // Sets value_limit, which is derived from the largest reward in the data, only for runs without
  // collection. Collected rewards may be larger than the rewards in the data.
  if (data.rows && collecting_phase(specs) == nullptr) {
    options.value_limit =
        plausible_value(data.rows->largest_reward(), config.algorithm->request().gamma);
  }
  // With rollouts, the policy changes and losses become available only at the end of a rollout. The
  // intervals of evaluations and log rows are therefore rounded up to whole rollouts.
  const auto rounded = [&](int64_t interval) {
    const int64_t unit = specs.front().rolls_out() ? specs.front().rollout.steps : 1;
    return (interval + unit - 1) / unit * unit;
  };
  options.eval_interval = rounded(config.eval_interval);
  options.log_interval = rounded(config.log_interval);
  options.checkpoint_interval = config.checkpoint_interval;
  return options;
}

// Checks that all processes have the same program version, instruction set, config and data.
// Otherwise they would block each other or average unrelated values.
void RunParts::check_processes() const {
  if (processes_ == nullptr) return;
  const Json ours = {{"version", RL_TRAINING_VERSION},
                     {"instruction set", kernels().name},
                     {"config", config_hash(policy.config())},
                     {"dataset", dataset.fingerprint}};
  const auto texts = processes_->exchange(ours.dump());
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    const auto first = parse_untrusted_json(texts[0]), theirs = parse_untrusted_json(texts[rank]);
    for (const auto& [name, value] : first.items()) {
      if (theirs.value(name, Json()) == value) continue;
      throw Error(ErrorKind::config, {"process " + std::to_string(rank), 0, name},
                  "not that of process 0 (expected " + value.dump() + ", got " +
                      theirs.value(name, Json()).dump() + ")");
    }
  }
}

void RunParts::visit_state(StateVisitor& state) {
  policy.visit_state(state);
  phases->visit_state(state);
  state.part("trainer", *trainer);
}

void RunParts::load(const Checkpoint& whole, const VisitState& visit) {
  check_process_count(whole, process_count(processes_));
  std::optional<Checkpoint> share;
  if (processes_ != nullptr) share = share_of(whole, processes_->rank());
  const Checkpoint& checkpoint = share ? *share : whole;
  phases->load_rows(checkpoint);
  load_state(checkpoint.entries, checkpoint.path, visit);
  if (trainer->position() == checkpoint.step) return;
  throw Error(ErrorKind::checkpoint, {checkpoint.path, 0, "step"},
              "does not fit the counters of the state (expected " +
                  std::to_string(trainer->position()) + ", got " + std::to_string(checkpoint.step) +
                  ")");
}

}  // namespace rl_training
