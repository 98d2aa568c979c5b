#include "rl_training/runtime/collector.h"

#include <utility>

#include "rl_training/runtime/acting.h"

namespace rl_training {

Collector::Collector(VectorEnv envs, ReplayBuffer& buffer, Algorithm& algorithm,
                     const ObsNormalizer& normalizer, const Options& options, Rng rng)
    : envs_(std::move(envs)),
      buffer_(buffer),
      algorithm_(algorithm),
      normalizer_(normalizer),
      options_(options),
      rng_(rng),
      policy_state_(algorithm.make_policy_state(envs_.count())),
      obs_(obs_buffer(envs_)),
      acted_on_(static_cast<size_t>(envs_.count() * envs_.spec().observation.bytes())),
      episodes_(envs_.count()) {
  const Space& action = envs_.spec().action;
  random_actions_ = action.is_discrete() ? torch::empty({envs_.count()}, torch::kLong)
                                         : torch::empty({envs_.count(), action.size()});
}

const torch::Tensor& Collector::draw_random_actions() {
  const auto count = static_cast<size_t>(random_actions_.numel());
  if (envs_.spec().action.is_discrete()) {
    rng_.fill_below({random_actions_.data_ptr<int64_t>(), count},
                    static_cast<uint64_t>(envs_.spec().action.categories));
  } else {
    rng_.fill_uniform({random_actions_.data_ptr<float>(), count}, -1, 1);
  }
  return random_actions_;
}

torch::Tensor Collector::choose_actions() {
  if (steps_ < options_.learning_starts) return draw_random_actions();
  normalized_obs(envs_, normalizer_, obs_);
  return algorithm_.act(obs_, *policy_state_, ActMode::explore).contiguous();
}

void Collector::step() {
  if (!started_) {
    envs_.reset();
    for (int64_t i = 0; i < envs_.count(); ++i) policy_state_->begin_episode(i);
  }
  started_ = true;
  const auto actions = choose_actions();
  const auto* action = static_cast<const unsigned char*>(actions.data_ptr());
  const int64_t obs_bytes = buffer_.obs_space().bytes();
  const int64_t action_bytes = buffer_.action_space().bytes();
  std::copy_n(envs_.obs_of(0), acted_on_.size(), acted_on_.data());
  step_with(envs_, actions);
  for (int64_t i = 0; i < envs_.count(); ++i) {
    if (envs_.restarted()[i] != 0) {
      buffer_.add_gap(envs_.obs_of(i), action + i * action_bytes);
      policy_state_->begin_episode(i);
      episodes_.restart(i);
      continue;
    }
    const bool terminated = envs_.terminated()[i] != 0, truncated = envs_.truncated()[i] != 0;
    const double reward = envs_.rewards()[i];
    buffer_.add(acted_on_.data() + i * obs_bytes, action + i * action_bytes,
                static_cast<float>(options_.reward.apply(reward)), envs_.final_obs_of(i),
                terminated, truncated);
    policy_state_->observe_reward(i, reward);
    const auto ended = episodes_.add(i, reward, terminated || truncated);
    if (ended && steps_ >= options_.learning_starts) algorithm_.episode_collected(*ended);
    if (terminated || truncated) policy_state_->begin_episode(i);
  }
  steps_ += envs_.count() * options_.processes;
}

void Collector::visit_state(StateVisitor& state) {
  state.scalar("started", started_);
  if (started_) state.part("envs", envs_);
  state.part("rng", rng_);
  state.part("policy", *policy_state_);
  episodes_.visit_state(state);
  state.scalar("steps", steps_);
}

}  // namespace rl_training
