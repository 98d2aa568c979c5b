#pragma once
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "rl_training/util/state.h"

namespace rl_training {

// The returns of the episodes that were played during collection.
class EpisodeLog {
 public:
  explicit EpisodeLog(int64_t envs) : returns_(static_cast<size_t>(envs)) {}

  // Adds a reward to the current episode of an environment. Returns the episode's return if the
  // episode has ended.
  std::optional<double> add(int64_t env, double raw_reward, bool ended) {
    auto& sum = returns_[static_cast<size_t>(env)];
    sum += raw_reward;
    if (!ended) return {};
    ended_.return_sum += sum;
    ++ended_.episodes;
    ++episodes_;
    return std::exchange(sum, 0.0);
  }

  int64_t count() const { return episodes_; }
  // Discards the unfinished episode of an environment.
  void restart(int64_t env) { returns_[static_cast<size_t>(env)] = 0; }
  struct Ended {
    double return_sum = 0;
    int64_t episodes = 0;
  };
  // The episodes that ended since the last call.
  Ended take_ended() { return std::exchange(ended_, {}); }

  void visit_state(StateVisitor& state) {
    const std::array<int64_t, 1> shape = {static_cast<int64_t>(returns_.size())};
    state.array("returns", DType::f64, shape, returns_.data());
    state.scalar("ended_return_sum", ended_.return_sum);
    state.scalar("ended", ended_.episodes);
    state.scalar("episodes", episodes_);
  }

 private:
  std::vector<double> returns_;  // of unfinished episodes
  Ended ended_;
  int64_t episodes_ = 0;
};

}  // namespace rl_training
