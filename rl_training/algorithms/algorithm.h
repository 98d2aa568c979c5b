#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rl_training/algorithms/online_options.h"
#include "rl_training/data/batch.h"
#include "rl_training/models/compute.h"
#include "rl_training/util/options.h"
#include "rl_training/util/rng.h"
#include "rl_training/util/state.h"

namespace rl_training {

// Named scalars of one update, as tensors: reading them is left to the moment they are logged.
// An undefined tensor stands for "not known yet".
class Metrics {
 public:
  void set(const char* name, const torch::Tensor& value) {
    if (values_.empty()) values_.reserve(8);
    values_.emplace_back(name, value.requires_grad() ? without_graph(value) : value);
  }
  void append(const Metrics& other);
  const std::vector<std::pair<const char*, torch::Tensor>>& values() const { return values_; }
  // The value of that name; an undefined tensor when there is none.
  torch::Tensor get(std::string_view name) const;

 private:
  std::vector<std::pair<const char*, torch::Tensor>> values_;
};

// A loss to minimise and what to report of it.
struct Loss {
  torch::Tensor loss;
  Metrics metrics;
};

// Random numbers in memory that is used again from update to update. What `normal` or `uniform`
// returned holds until the next call: noise that a pending backward pass needs has its own buffer.
class NoiseBuffer {
 public:
  const torch::Tensor& normal(Rng& rng, torch::IntArrayRef shape);
  const torch::Tensor& uniform(Rng& rng, torch::IntArrayRef shape, double low, double high);

 private:
  torch::Tensor values_;
};

// Metrics of a part that is not updated every time (a delayed actor): between two such updates the
// last values are reported again, before the first one undefined tensors.
class DelayedMetrics {
 public:
  explicit DelayedMetrics(const std::vector<const char*>& names);
  void hold(const Metrics& metrics);
  void report(Metrics& metrics) const;
  void visit_state(StateVisitor& state);

 private:
  std::vector<std::pair<const char*, torch::Tensor>> values_;
};

// `greedy` is what evaluation and deployment use; `explore` is for collecting.
enum class ActMode { greedy, explore };

// The algo_kwargs that every algorithm shares; each adds its own in a derived struct.
struct AlgorithmOptions {
  virtual ~AlgorithmOptions() = default;

  int64_t batch_size = 256;
  std::vector<int64_t> hidden_sizes = {256, 256};
  double learning_rate = 3e-4;
  double gamma = 0.99;
  double tau = 0.005;

  virtual void visit_options(OptionVisitor& options);
  // For algorithms that always learn from an environment.
  virtual OnlineOptions* online() { return nullptr; }
  const OnlineOptions* online() const { return const_cast<AlgorithmOptions*>(this)->online(); }
  // Rules between keys, beyond the range of each: throws Error{config} naming the key.
  virtual void check() const {}
  // Whether rows without a next action must be left out of the data (`wants_next_actions` only).
  virtual bool needs_next_actions() const { return false; }

 protected:
  // Those above without `tau`, for an algorithm that has no target networks.
  void visit_supervised_options(OptionVisitor& options);
};

// What an algorithm is built from.
struct AlgorithmContext {
  int64_t obs_dim = 0, action_dim = 0;
  uint64_t seed = 0;  // each algorithm makes its named streams from it
  Compute compute;
};

class Algorithm {
 public:
  virtual ~Algorithm() = default;

  // One gradient update. `lr_scale` multiplies the learning rates that follow the schedule.
  virtual Metrics update(const Batch& batch, double lr_scale) = 0;
  // [rows, obs_dim] (normalised as in training) -> [rows, action_dim] in [-1, 1].
  virtual torch::Tensor act(const torch::Tensor& obs, ActMode mode) = 0;
  // Called once when learning goes on in the environment after learning from data alone, with the
  // number of updates that are planned there.
  virtual void start_online(int64_t /*planned_updates*/) {}
  virtual void visit_state(StateVisitor& state) = 0;
};

// One line of the table in registry.cpp.
struct AlgorithmInfo {
  std::string name;
  std::string title;
  std::string paper;  // arXiv id
  bool wants_next_actions = false;
  bool from_data = true;          // false: learns from the environment alone, without a dataset
  bool wants_mc_returns = false;  // Monte-Carlo returns under the algorithm's gamma
  bool one_buffer = false;  // as published it goes on online with data and new rows in one buffer
  std::vector<std::string> metrics;  // names that update() reports, in order
  std::unique_ptr<AlgorithmOptions> (*make_options)() = nullptr;
  std::unique_ptr<Algorithm> (*make)(const AlgorithmOptions&, const AlgorithmContext&) = nullptr;
};

// Fills the two makers of a table line for a class constructed from (Options, AlgorithmContext).
template <class Class, class Options>
AlgorithmInfo algorithm_info(AlgorithmInfo info) {
  info.make_options = []() -> std::unique_ptr<AlgorithmOptions> {
    return std::make_unique<Options>();
  };
  info.make = [](const AlgorithmOptions& options,
                 const AlgorithmContext& context) -> std::unique_ptr<Algorithm> {
    return std::make_unique<Class>(dynamic_cast<const Options&>(options), context);
  };
  return info;
}

}  // namespace rl_training
