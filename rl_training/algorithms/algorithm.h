#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rl_training/algorithms/metrics.h"
#include "rl_training/algorithms/phases.h"
#include "rl_training/data/batch.h"
#include "rl_training/models/adam.h"
#include "rl_training/models/policy_graph.h"
#include "rl_training/util/options.h"
#include "rl_training/util/rng.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Random values in a buffer that is reused by every update. The result of `normal` or `uniform` is
// valid until the next call, so noise that a pending backward pass needs must have its own buffer.
class NoiseBuffer {
 public:
  const torch::Tensor& normal(Rng& rng, torch::IntArrayRef shape);
  const torch::Tensor& uniform(Rng& rng, torch::IntArrayRef shape, double low, double high);

 private:
  torch::Tensor values_;
};

// Evaluation and deployment use `greedy`; collection uses `explore`.
enum class ActMode { greedy, explore };

// Memory of a policy during the current episodes, one row per environment. Most policies depend
// only on the current observation and have no memory.
class PolicyState {
 public:
  virtual ~PolicyState() = default;
  virtual void begin_episode(int64_t /*row*/) {}
  // Records the raw reward of the row's last action.
  virtual void observe_reward(int64_t /*row*/, double /*reward*/) {}
  // Records that `action`, [action_dim] in [-1, 1], was executed in place of the policy's action.
  virtual void observe_action(int64_t /*row*/, const torch::Tensor& /*action*/) {}
  virtual void visit_state(StateVisitor& /*state*/) {}
};

// The algo_kwargs that all algorithms share. Each algorithm adds its own keys in a derived struct.
struct AlgorithmOptions {
  virtual ~AlgorithmOptions() = default;

  int64_t batch_size = 256;
  std::vector<int64_t> hidden_sizes = {256, 256};
  double learning_rate = 3e-4;
  double gamma = 0.99;
  double tau = 0.005;
  int64_t n_step = 1;

  virtual void visit_options(OptionVisitor& options);
  // The phases of a run of length `total_timesteps`. The default is one phase of updates on the
  // dataset. Algorithms that learn from an environment override this function.
  virtual std::vector<PhaseSpec> phases(int64_t total_timesteps) const;
  // Collection options, or null for algorithms that learn from data alone.
  virtual CollectOptions* collect() { return nullptr; }
  // What a batch must contain: its number of rows, its columns, and the settings of n-step rewards
  // (discount and number of steps).
  virtual BatchRequest request() const;
  // Algorithms with separate learning rates for actor and critics override these functions.
  virtual AdamOptions actor_adam() const { return {.learning_rate = learning_rate}; }
  virtual AdamOptions critic_adam() const { return {.learning_rate = learning_rate}; }
  // Checks rules that involve several keys. Throws Error{config} that names the invalid key.
  virtual void check() const {}
  // Whether rows without a next action must be dropped from the dataset.
  virtual bool needs_next_actions() const { return false; }

 protected:
  // Visits the shared options except `tau` and `n_step`. For algorithms without target networks,
  // without n-step rewards, or without both.
  void visit_supervised_options(OptionVisitor& options);
};

// Arguments for constructing an algorithm.
struct AlgorithmContext {
  Space obs, action;
  uint64_t seed = 0;  // seeds all random streams of the algorithm
  Compute compute;

  // Seed of the noise streams, derived from `seed`. It differs between the processes that train one
  // run.
  uint64_t own_seed() const { return seed_of_process(seed, process_rank(compute.processes)); }

  int64_t obs_dim() const { return obs.size(); }
  int64_t action_dim() const { return action.size(); }
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;

  // One gradient update. `lr_scale` multiplies the learning rates that follow the schedule.
  virtual Metrics update(const Batch& batch, double lr_scale) = 0;
  // New priorities of the rows of the latest batch, [rows], if the algorithm requests priorities;
  // otherwise an undefined tensor.
  virtual torch::Tensor priorities() const { return {}; }
  // Called with the raw return of each episode that is collected into a replay buffer, unless the
  // episode ends within the first `learning_starts` steps.
  virtual void episode_collected(double /*episode_return*/) {}
  // Called after each step of a phase that collects into a replay buffer. `due` is the number of
  // updates that became due with this step. Returns the number of updates to run now. An algorithm
  // that postpones updates must count them itself.
  virtual int64_t updates_now(int64_t due) { return due; }
  // Observations [rows, ...] (normalised as in training) -> actions [rows, action_dim] in [-1, 1],
  // or discrete actions [rows] (int64). `state` was created by this algorithm for the same number
  // of rows.
  virtual torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) = 0;
  // Describes the greedy policy for export as a function from a normalised observation to an action
  // in [-1, 1] or a discrete action. Throws Error{config} with the reason if the policy cannot be
  // described in this way.
  virtual PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const;
  // Log density [rows] of the given actions (log probability, if they are discrete) under the
  // policy that ActMode::explore samples from. The result is an undefined tensor if that policy has
  // no density.
  virtual torch::Tensor log_density(const torch::Tensor& /*obs*/,
                                    const torch::Tensor& /*actions*/) const {
    return {};
  }
  virtual std::unique_ptr<PolicyState> make_policy_state(int64_t /*rows*/) const {
    return std::make_unique<PolicyState>();
  }
  // Estimates Q(s, a): [rows], without gradient. Observations and actions have the same form as in
  // `act`. The result is an undefined tensor for algorithms that do not learn Q(s, a).
  virtual torch::Tensor values(const torch::Tensor& /*obs*/,
                               const torch::Tensor& /*actions*/) const {
    return {};
  }
  // Called at the beginning of every phase except the first. `planned_updates` is the number of
  // updates that the run's budget still allows.
  virtual void begin_phase(const PhaseSpec& /*phase*/, int64_t /*planned_updates*/) {}
  virtual void visit_state(StateVisitor& state) = 0;
};

// Acts on each observation as if it were the first of an episode.
torch::Tensor act_once(Algorithm& algorithm, const torch::Tensor& obs,
                       ActMode mode = ActMode::greedy);

using AlgorithmMaker = std::unique_ptr<Algorithm> (*)(const AlgorithmOptions&,
                                                      const AlgorithmContext&);

// Actions that an algorithm supports: continuous (`vectors`), discrete (`choices`), or both
// (`either`).
enum class ActionKind { vectors, choices, either };

// Describes an algorithm: one row of the table in registry.cpp, or the argument of
// `register_algorithm`.
struct AlgorithmInfo {
  std::string name;
  std::string title;
  std::string paper;  // arXiv id
  // Supported actions and observations.
  ActionKind actions = ActionKind::vectors;
  bool image_observations = false;  // images instead of vectors
  // Fraction of dataset rows in each batch of an `online` phase. Without a value, all rows of the
  // dataset and the replay buffer are equally likely.
  std::optional<double> online_data_share = 0.5;
  std::vector<std::string> metrics;  // names that update() reports, in order
  bool has_values = false;           // whether the class overrides `values`; set by algorithm_info
  std::function<std::unique_ptr<AlgorithmOptions>()> make_options = {};
};

// Names the class of the algorithm only as a template argument. A program that only lists
// algorithms and reads options therefore does not link the class, and needs no LibTorch.
template <class Class, class Options>
struct AlgorithmInfoOf : AlgorithmInfo {};

// Completes the description of an algorithm whose class is constructed from (Options,
// AlgorithmContext).
template <class Class, class Options>
AlgorithmInfoOf<Class, Options> algorithm_info(AlgorithmInfo info) {
  info.make_options = []() -> std::unique_ptr<AlgorithmOptions> {
    return std::make_unique<Options>();
  };
  info.has_values = !std::is_same_v<decltype(&Class::values), decltype(&Algorithm::values)>;
  return {std::move(info)};
}

template <class Class, class Options>
std::unique_ptr<Algorithm> make_from_options(const AlgorithmOptions& options,
                                             const AlgorithmContext& context) {
  return std::make_unique<Class>(dynamic_cast<const Options&>(options), context);
}

}  // namespace rl_training
