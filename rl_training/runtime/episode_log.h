#pragma once
#include <array>
#include <optional>
#include <vector>

#include "rl_training/util/state.h"

namespace rl_training {

// Returns of the episodes that environments play while they collect.
class EpisodeLog {
 public:
  explicit EpisodeLog(int64_t envs) : returns_(static_cast<size_t>(envs)) {}

  void add(int64_t env, double raw_reward, bool ended) {
    auto& sum = returns_[static_cast<size_t>(env)];
    sum += raw_reward;
    if (!ended) return;
    ended_return_sum_ += sum;
    sum = 0;
    ++ended_;
    ++episodes_;
  }

  int64_t count() const { return episodes_; }
  // Of the episodes that ended since the last call; nothing when none did.
  std::optional<double> take_mean_return() {
    if (ended_ == 0) return std::nullopt;
    const double mean = ended_return_sum_ / static_cast<double>(ended_);
    ended_return_sum_ = 0;
    ended_ = 0;
    return mean;
  }

  void visit_state(StateVisitor& state) {
    const std::array<int64_t, 1> shape = {static_cast<int64_t>(returns_.size())};
    state.array("returns", DType::f64, shape, returns_.data());
    state.scalar("ended_return_sum", ended_return_sum_);
    state.scalar("ended", ended_);
    state.scalar("episodes", episodes_);
  }

 private:
  std::vector<double> returns_;  // of the episodes that have not ended
  double ended_return_sum_ = 0;
  int64_t ended_ = 0, episodes_ = 0;
};

}  // namespace rl_training
