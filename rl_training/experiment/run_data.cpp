#include "rl_training/experiment/run_data.h"

#include "rl_training/envs/registry.h"
#include "rl_training/util/error.h"

namespace rl_training {
namespace {

using Warn = std::function<void(const std::string&)>;

// Drops rows whose next action is unknown, except rows that terminate, which need no next action.
// Throws if rows were dropped and no remaining row has a known next action, because the critic's
// penalty (key critic_bc_weight) could then not be computed for any row.
TransitionDataset with_known_next_actions(const TransitionDataset& data, const Warn& warn) {
  auto known = data.where_next_action_is_known();
  const auto dropped = data.rows() - known.rows();
  if (dropped == 0) return known;
  bool any = false;
  for (int64_t row = 0; row < known.rows() && !any; ++row) any = known.next_action_valid(row);
  if (!any) {
    throw Error(ErrorKind::data, {"", 0, "next_action_fallback"},
                "no row of the dataset has a next action (expected next_actions in the data or "
                "rows in order, critic_bc_weight: 0, or next_action_fallback: zero_penalty | "
                "current_action)");
  }
  warn("warning: " + std::to_string(dropped) + " of " + std::to_string(data.rows()) +
       " rows have no next action and are left out (next_action_fallback: none)");
  return known;
}

// Throws if an episode has more than `most` steps. A policy with a maximum episode length can
// neither learn from longer episodes nor act in them.
void check_lengths(const TransitionDataset& data, int64_t most) {
  for (const auto& episode : data.episodes()) {
    if (episode.rows <= most) continue;
    throw Error(ErrorKind::config, {"", 0, "algo_kwargs.max_episode_length"},
                "less than the longest episode of the dataset (expected at least " +
                    std::to_string(episode.rows) + ", got " + std::to_string(most) + ")");
  }
}

}  // namespace

RunData load_run_data(const TrainConfig& config, const RunDataOptions& options) {
  RunData data;
  if (!config.has_dataset()) {
    data.env = make_environment(config.env_id, config.env)->spec();
    return data;
  }
  const auto request = config.algorithm->request();
  auto loaded =
      load_dataset(config.dataset, config.env_id,
                   {.env = config.env,
                    .warn = options.warn,
                    .gamma = config.algorithm->gamma,
                    .discrete_actions = find_algorithm(config.algo).actions == ActionKind::choices,
                    .spaces = options.spaces});
  data.env = std::move(loaded.env);
  data.mean_return = loaded.mean_return;
  data.reward = loaded.reward;
  data.warnings = std::move(loaded.warnings);
  data.reference = loaded.reference;
  check_spaces(config, data.env);
  auto rows = std::move(loaded.rows);
  if (request.max_steps > 0) check_lengths(rows, request.max_steps);
  data.fingerprint = rows.fingerprint();
  if (config.validation.used) {
    const auto split =
        split_episodes(static_cast<int64_t>(rows.episodes().size()), config.validation);
    data.held_out = std::make_shared<const TransitionDataset>(rows.with_episodes(split.held_out));
    data.held_out_episodes = split.held_out;
    rows = rows.with_episodes(split.training);
  }
  if (request.has(BatchColumn::next_action)) rows = rows.with_next_actions();
  if (config.algorithm->needs_next_actions()) rows = with_known_next_actions(rows, options.warn);
  if (request.has(BatchColumn::return_to_go)) {
    rows = rows.with_returns_to_go(request.returns);
  }
  if (!config.validation.used) data.fingerprint = rows.fingerprint();
  data.rows = std::make_shared<const TransitionDataset>(std::move(rows));
  return data;
}

RewardTransform collected_reward(const TrainConfig& config, const RunData& data, const Warn& warn) {
  const auto& preset = config.env.reward.preset;
  for (const auto& known : reward_presets()) {
    if (!known.needs_dataset || preset != known.name || data.reward.identity()) continue;
    throw Error(
        ErrorKind::config, {"", 0, "env_kwargs.wrappers.reward.preset"},
        preset +
            " uses the dataset's raw rewards, which reward keys of algo_kwargs have changed "
            "(expected one or the other; those of algo_kwargs also apply to collected rewards)");
  }
  const auto own = config.env.reward_transform(data.rows.get());
  if (own.identity() || own == data.reward) return data.reward;
  if (data.rows != nullptr) {
    warn(
        "warning: env_kwargs.wrappers.reward changes only collected rewards, so they no longer "
        "match those of the dataset (reward keys of algo_kwargs apply to both)");
  }
  return own;
}

}  // namespace rl_training
