#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rl_training {

// Columns of a minibatch. A row spans n steps. n equals BatchRequest::n_step unless the episode
// ends earlier. `reward` is the discounted sum of the n rewards. `discount` is
// gamma^n * (1 - terminated), where `terminated` is the flag of the last step.
enum class BatchColumn {
  obs,
  action,
  reward,
  next_obs,
  terminated,
  discount,
  next_action,
  next_action_valid,  // 1 if the next action is known, otherwise 0
  return_to_go,       // discounted sum of rewards to the end of the episode (ReturnRule)
  timestep,           // steps since the start of the episode
  mask,               // 1 for steps of the episode, 0 for padding after its end
  // Columns of on-policy rollouts, computed with the policy that collected the rollouts.
  log_prob,   // log-probability of the action
  value,      // V(obs)
  advantage,  // generalised advantage estimate (GAE)
};
inline constexpr std::size_t kBatchColumns = 14;
inline constexpr std::array<const char*, kBatchColumns> kBatchColumnNames = {
    "obs",          "action",   "reward",      "next_obs",
    "terminated",   "discount", "next_action", "next_action_valid",
    "return_to_go", "timestep", "mask",        "log_prob",
    "value",        "advantage"};

constexpr const char* column_name(BatchColumn column) {
  return kBatchColumnNames[static_cast<size_t>(column)];
}

// How returns-to-go are computed.
struct ReturnRule {
  double gamma = 1.0;
  // If every reward of an episode equals this value, the episode is treated as if the reward
  // repeated forever: the return of each row is failure_reward / (1 - gamma). An empty value
  // disables this rule.
  std::optional<double> failure_reward = {};

  bool is_failure(float reward) const {
    return failure_reward && reward == static_cast<float>(*failure_reward);
  }
  // Calls `write(k, value)` with the return of each step k of an episode. `reward(k)` must return
  // the reward of step k. `failed` must be true if all these rewards equal failure_reward. The
  // returns do not bootstrap after the last step.
  template <class Reward, class Write>
  void sum_up(int64_t steps, bool failed, const Reward& reward, const Write& write) const {
    double sum = failed ? *failure_reward / (1.0 - gamma) : 0.0;
    for (int64_t k = steps - 1; k >= 0; --k) {
      if (!failed) sum = reward(k) + gamma * sum;
      write(k, static_cast<float>(sum));
    }
  }
};

// If `used` is true, rows are drawn with probabilities proportional to their priorities. After each
// update, the algorithm sets the priorities of the rows in the batch. The priority of new rows is
// recomputed after every `reset_interval` updates (row_priorities.h).
struct PriorityRule {
  bool used = false;
  int64_t reset_interval = 1;
};

// Describes the batches that an algorithm needs. The constructor of a sampler throws if the sampler
// cannot fill all requested columns.
struct BatchRequest {
  int64_t rows = 0;
  std::vector<BatchColumn> columns = {BatchColumn::obs, BatchColumn::action, BatchColumn::reward,
                                      BatchColumn::next_obs, BatchColumn::discount};
  double gamma = 0.99;
  int64_t n_step = 1;       // steps that a transition spans, fewer at the end of an episode
  ReturnRule returns = {};  // how return_to_go is computed
  PriorityRule priorities = {};
  int64_t window = 0;        // if above 0, each row is an episode segment of this many steps
  int64_t max_steps = 0;     // if above 0, limit on steps per episode (key max_episode_length)
  bool raw_rewards = false;  // if true, the config must not transform rewards

  bool has(BatchColumn column) const {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  }
};

// Row-major memory that a sampler fills. The pointer of a column that was not requested is null.
// Observations and actions have the dtype of their space. With windows, each row contains `steps`
// entries of every column.
struct BatchView {
  int64_t rows = 0, steps = 1;
  int64_t obs_bytes = 0, action_bytes = 0;  // size of one entry
  unsigned char *obs = nullptr, *next_obs = nullptr, *action = nullptr, *next_action = nullptr;
  float *reward = nullptr, *terminated = nullptr, *discount = nullptr, *next_action_valid = nullptr,
        *return_to_go = nullptr, *mask = nullptr, *log_prob = nullptr, *value = nullptr,
        *advantage = nullptr;
  int64_t* timestep = nullptr;

  // The `count` rows that start at `first_row`.
  BatchView part(int64_t first_row, int64_t count) const;
};

// Result of span_steps(): a transition over up to `n_step` consecutive steps.
struct StepSpan {
  int64_t last_row = 0;
  float reward = 0;    // discounted sum over the steps
  float discount = 0;  // factor for the value of the state after the last step
};

// Combines up to request.n_step steps of an episode, from `row` on. `Rows` must provide
// reward(row), terminated(row) and following(row). following(row) returns the row of the next step
// of the same episode, or -1 at the end of the episode.
template <class Rows>
StepSpan span_steps(const Rows& rows, int64_t row, const BatchRequest& request) {
  double sum = rows.reward(row), power = request.gamma;
  for (int64_t k = 1; k < request.n_step; ++k) {
    const int64_t next = rows.following(row);
    if (next < 0) break;
    row = next;
    sum += power * rows.reward(row);
    power *= request.gamma;
  }
  const bool ends = rows.terminated(row);
  return {row, static_cast<float>(sum), ends ? 0.0f : static_cast<float>(power)};
}

}  // namespace rl_training
