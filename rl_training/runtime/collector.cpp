#include "rl_training/runtime/collector.h"

namespace rl_training {

Collector::Collector(VectorEnv envs, ReplayBuffer& buffer, Algorithm& algorithm,
                     const ObsNormalizer& normalizer, const Options& options, Rng rng)
    : envs_(std::move(envs)),
      buffer_(buffer),
      algorithm_(algorithm),
      normalizer_(normalizer),
      options_(options),
      rng_(rng),
      obs_(torch::empty({envs_.count(), envs_.spec().obs_dim})),
      random_actions_(torch::empty({envs_.count(), envs_.spec().action.dims()})),
      returns_(static_cast<size_t>(envs_.count())) {}

torch::Tensor Collector::choose_actions() {
  if (steps_ < options_.learning_starts) {
    rng_.fill_uniform(
        {random_actions_.data_ptr<float>(), static_cast<size_t>(random_actions_.numel())}, -1, 1);
    return random_actions_;
  }
  const int64_t obs_dim = buffer_.obs_dim();
  for (int64_t i = 0; i < envs_.count(); ++i) {
    normalizer_.apply(envs_.obs().data() + i * obs_dim, obs_.data_ptr<float>() + i * obs_dim);
  }
  return algorithm_.act(obs_, ActMode::explore).contiguous();
}

void Collector::step() {
  if (!started_) envs_.reset();
  started_ = true;
  const auto actions = choose_actions();
  const float* action = actions.data_ptr<float>();
  acted_on_.assign(envs_.obs().begin(), envs_.obs().end());
  envs_.step({action, static_cast<size_t>(actions.numel())});
  for (int64_t i = 0; i < envs_.count(); ++i) {
    const bool terminated = envs_.terminated()[i] != 0, truncated = envs_.truncated()[i] != 0;
    const double reward = envs_.rewards()[i];
    buffer_.add(acted_on_.data() + i * buffer_.obs_dim(), action + i * buffer_.action_dim(),
                static_cast<float>(options_.reward.apply(reward)),
                envs_.final_obs().data() + i * buffer_.obs_dim(), terminated, truncated);
    returns_[i] += reward;
    if (!terminated && !truncated) continue;
    ended_return_sum_ += returns_[i];
    returns_[i] = 0;
    ++ended_;
    ++episodes_;
  }
  steps_ += envs_.count();
}

std::optional<double> Collector::take_mean_return() {
  if (ended_ == 0) return std::nullopt;
  const double mean = ended_return_sum_ / static_cast<double>(ended_);
  ended_return_sum_ = 0;
  ended_ = 0;
  return mean;
}

void Collector::visit_state(StateVisitor& state) {
  const std::array<int64_t, 1> shape = {envs_.count()};
  state.scalar("started", started_);
  if (started_) state.part("envs", envs_);
  state.part("rng", rng_);
  state.array("returns", DType::f64, shape, returns_.data());
  state.scalar("ended_return_sum", ended_return_sum_);
  state.scalar("ended", ended_);
  state.scalar("episodes", episodes_);
  state.scalar("steps", steps_);
}

}  // namespace rl_training
