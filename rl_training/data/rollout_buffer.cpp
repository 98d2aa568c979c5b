#include "rl_training/data/rollout_buffer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "rl_training/util/copy_entry.h"
#include "rl_training/util/error.h"

namespace rl_training {

// A_t = delta_t + gamma lambda (1 - end_t) A_{t+1}
// delta_t = r_t + gamma (1 - end_t) V_{t+1} - V_t
void generalized_advantages(const GaeInput& input, std::span<float> advantages) {
  const size_t envs = input.last_values.size();
  const size_t steps = input.rewards.size() / envs;
  for (size_t env = 0; env < envs; ++env) {
    double next_value = input.last_values[env], next_advantage = 0;
    for (size_t t = steps; t-- > 0;) {
      const size_t at = t * envs + env;
      const double goes_on = input.ended[at] != 0 ? 0.0 : input.gamma;
      const double delta = input.rewards[at] + goes_on * next_value - input.values[at];
      next_advantage = delta + goes_on * input.lambda * next_advantage;
      next_value = input.values[at];
      advantages[at] = static_cast<float>(next_advantage);
    }
  }
}

RolloutBuffer::RolloutBuffer(const Space& obs, const Space& action, int64_t steps, int64_t envs)
    : steps_(steps), envs_(envs), obs_space_(obs), action_space_(action) {
  const auto rows = static_cast<size_t>(capacity());
  obs_.resize(rows * static_cast<size_t>(obs.bytes()));
  actions_.resize(rows * static_cast<size_t>(action.bytes()));
  for (auto* column : {&log_probs_, &values_, &rewards_, &advantages_}) column->resize(rows);
  ended_.resize(rows);
}

void RolloutBuffer::add(const Step& step) {
  if (full()) throw Error(ErrorKind::internal, "the rollout is full");
  const int64_t row = rows();
  const auto put = [&](auto& column, const void* from, int64_t bytes) {
    auto* to = reinterpret_cast<unsigned char*>(column.data());
    std::memcpy(to + row * bytes, from, static_cast<size_t>(envs_ * bytes));
  };
  put(obs_, step.obs, obs_space_.bytes());
  put(actions_, step.actions, action_space_.bytes());
  put(log_probs_, step.log_probs, sizeof(float));
  put(values_, step.values, sizeof(float));
  put(rewards_, step.rewards, sizeof(float));
  put(ended_, step.ended, 1);
  ++filled_;
}

void RolloutBuffer::finish(std::span<const float> last_values, double gamma, double lambda) {
  if (!full()) throw Error(ErrorKind::internal, "the rollout is not full");
  generalized_advantages({rewards_, values_, ended_, last_values, gamma, lambda}, advantages_);
}

void RolloutBuffer::gather(int64_t row, const BatchView& batch, int64_t i) const {
  const auto entry = [&](const std::vector<unsigned char>& column, int64_t bytes,
                         unsigned char* to) {
    if (to != nullptr) copy_entry(column.data() + row * bytes, bytes, to + i * bytes);
  };
  const auto value = [&](const std::vector<float>& column, float* to) {
    if (to != nullptr) to[i] = column[static_cast<size_t>(row)];
  };
  entry(obs_, batch.obs_bytes, batch.obs);
  entry(actions_, batch.action_bytes, batch.action);
  value(log_probs_, batch.log_prob);
  value(values_, batch.value);
  value(advantages_, batch.advantage);
}

void RolloutBuffer::visit_state(StateVisitor& state) {
  state.scalar("filled", filled_);
  if (filled_ > steps_) {
    throw Error(ErrorKind::checkpoint, {"", 0, "filled"},
                "more steps than fit into a rollout (expected at most " + std::to_string(steps_) +
                    ", got " + std::to_string(filled_) + ")");
  }
  const std::array<int64_t, 1> shape = {rows()};
  const std::array<int64_t, 2> obs_shape = {rows(), obs_space_.size()};
  const std::array<int64_t, 2> action_shape = {rows(), action_space_.size()};
  state.array("obs", obs_space_.dtype, obs_shape, obs_.data());
  state.array("actions", action_space_.dtype, action_shape, actions_.data());
  state.array("log_probs", DType::f32, shape, log_probs_.data());
  state.array("values", DType::f32, shape, values_.data());
  state.array("rewards", DType::f32, shape, rewards_.data());
  state.array("ended", DType::u8, shape, ended_.data());
}

void check_rollout_columns(const BatchRequest& request) {
  using enum BatchColumn;
  check_columns(request, {obs, action, log_prob, value, advantage}, "a rollout");
}

RolloutSampler::RolloutSampler(const RolloutBuffer& buffer, const BatchRequest& request, Rng rng)
    : buffer_(buffer), rng_(rng), order_(static_cast<size_t>(buffer.capacity())) {
  check_rollout_columns(request);
}

// Fisher-Yates shuffle of 0, 1, 2, ..., so that the order depends only on the random stream.
void RolloutSampler::shuffle() {
  std::iota(order_.begin(), order_.end(), 0);
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[rng_.below(i)]);
  next_ = 0;
}

void RolloutSampler::sample(const BatchView& batch) {
  if (next_ + static_cast<size_t>(batch.rows) > order_.size()) {
    throw Error(ErrorKind::internal, "no rows are left in this pass over the rollout");
  }
  for (int64_t i = 0; i < batch.rows; ++i) buffer_.gather(order_[next_++], batch, i);
}

}  // namespace rl_training
