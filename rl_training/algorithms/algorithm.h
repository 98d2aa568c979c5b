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

// Random values in memory that is reused from update to update. What `normal` or `uniform`
// returned is valid until the next call: noise that a pending backward pass needs has its own
// buffer.
class NoiseBuffer {
 public:
  const torch::Tensor& normal(Rng& rng, torch::IntArrayRef shape);
  const torch::Tensor& uniform(Rng& rng, torch::IntArrayRef shape, double low, double high);

 private:
  torch::Tensor values_;
};

// `greedy` is what evaluation and deployment use; `explore` is for collecting.
enum class ActMode { greedy, explore };

// What a policy remembers of the episodes that it acts in, one row for each environment. Most
// policies see the present observation only and remember nothing.
class PolicyState {
 public:
  virtual ~PolicyState() = default;
  virtual void begin_episode(int64_t /*row*/) {}
  // The raw reward that the row's last action earned.
  virtual void observe_reward(int64_t /*row*/, double /*reward*/) {}
  // The action that was taken in place of the one chosen, [action_dim] in [-1, 1].
  virtual void observe_action(int64_t /*row*/, const torch::Tensor& /*action*/) {}
  virtual void visit_state(StateVisitor& /*state*/) {}
};

// The algo_kwargs that every algorithm shares; each adds its own in a derived struct.
struct AlgorithmOptions {
  virtual ~AlgorithmOptions() = default;

  int64_t batch_size = 256;
  std::vector<int64_t> hidden_sizes = {256, 256};
  double learning_rate = 3e-4;
  double gamma = 0.99;
  double tau = 0.005;
  int64_t n_step = 1;

  virtual void visit_options(OptionVisitor& options);
  // The phases of a run of `total_timesteps`: by default updates on the dataset. Algorithms that
  // learn from an environment say so here.
  virtual std::vector<PhaseSpec> phases(int64_t total_timesteps) const;
  // How they collect; null for those that learn from data alone.
  virtual CollectOptions* collect() { return nullptr; }
  // What a batch must hold.
  virtual BatchRequest request() const;
  // How actor and critics are optimised.
  virtual AdamOptions actor_adam() const { return {.learning_rate = learning_rate}; }
  virtual AdamOptions critic_adam() const { return {.learning_rate = learning_rate}; }
  // Rules between keys, beyond the range of each: throws Error{config} naming the key.
  virtual void check() const {}
  // Whether rows without a next action must be left out of the data.
  virtual bool needs_next_actions() const { return false; }

 protected:
  // Those above without `tau` and `n_step`, for an algorithm that has no target networks.
  void visit_supervised_options(OptionVisitor& options);
};

// What an algorithm is built from.
struct AlgorithmContext {
  Space obs, action;
  uint64_t seed = 0;  // each algorithm makes its named streams from it: initial parameters, ...
  Compute compute;

  // ... and this is for noise, which differs between the processes that train one run.
  uint64_t own_seed() const { return seed_of_process(seed, process_rank(compute.processes)); }

  int64_t obs_dim() const { return obs.size(); }
  int64_t action_dim() const { return action.size(); }
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;

  // One gradient update. `lr_scale` multiplies the learning rates that follow the schedule.
  virtual Metrics update(const Batch& batch, double lr_scale) = 0;
  // Of the rows of the latest batch, [rows], for one that requests priorities; else undefined.
  virtual torch::Tensor priorities() const { return {}; }
  // An episode that was collected has ended, with this raw return.
  virtual void episode_collected(double /*episode_return*/) {}
  // After each step of a phase that collects: how many updates are made, `due` having come due with
  // it. One that puts updates off remembers how many.
  virtual int64_t updates_now(int64_t due) { return due; }
  // Observations [rows, ...] (normalised as in training) -> actions [rows, action_dim] in [-1, 1],
  // or choices [rows] (int64). `state` was made by this algorithm for as many rows.
  virtual torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) = 0;
  // The greedy policy from a normalised observation to its action in [-1, 1] or its choice, for
  // export. Error{config} with the reason if it is no such function.
  virtual PolicyGraph::Value describe_policy(PolicyGraph& graph, PolicyGraph::Value obs) const;
  // Log density [rows] of given actions, or log probability of choices, under the policy that
  // ActMode::explore draws from; undefined if that has no density.
  virtual torch::Tensor log_density(const torch::Tensor& /*obs*/,
                                    const torch::Tensor& /*actions*/) const {
    return {};
  }
  virtual std::unique_ptr<PolicyState> make_policy_state(int64_t /*rows*/) const {
    return std::make_unique<PolicyState>();
  }
  // Its estimate Q(s, a) of an action's value: [rows], without gradient, for observations and
  // actions as `act` takes and gives them. Undefined for an algorithm that learns no such values.
  virtual torch::Tensor values(const torch::Tensor& /*obs*/,
                               const torch::Tensor& /*actions*/) const {
    return {};
  }
  // Called when a phase other than the first begins, with the updates that are planned in it.
  virtual void begin_phase(const PhaseSpec& /*phase*/, int64_t /*planned_updates*/) {}
  virtual void visit_state(StateVisitor& state) = 0;
};

// The first action of an episode at each observation.
torch::Tensor act_once(Algorithm& algorithm, const torch::Tensor& obs,
                       ActMode mode = ActMode::greedy);

using AlgorithmMaker = std::unique_ptr<Algorithm> (*)(const AlgorithmOptions&,
                                                      const AlgorithmContext&);

// What an algorithm can learn to do.
enum class ActionKind { vectors, choices, either };

// One line of the table in registry.cpp, or of a program's own call of `register_algorithm`.
struct AlgorithmInfo {
  std::string name;
  std::string title;
  std::string paper;  // arXiv id
  // What it learns to do and from what.
  ActionKind actions = ActionKind::vectors;
  bool image_observations = false;  // images in place of vectors
  // Share of the dataset in each batch of an `online` phase; none: data and new rows in one buffer.
  std::optional<double> online_data_share = 0.5;
  std::vector<std::string> metrics;  // names that update() reports, in order
  bool has_values = false;           // `Algorithm::values` is implemented; detected automatically
  std::function<std::unique_ptr<AlgorithmOptions>()> make_options = {};
};

// With the class behind it as a type alone: a program that lists algorithms and reads options links
// nothing of the class, and so does without LibTorch.
template <class Class, class Options>
struct AlgorithmInfoOf : AlgorithmInfo {};

// Completes the line of a class constructed from (Options, AlgorithmContext).
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
