#include "rl_training/selection/behavior.h"

namespace rl_training {
namespace {

// Actions are clamped to +-this bound, because tanh reaches -1 and 1 only at infinity, where a
// squashed normal distribution has no density.
constexpr double kLargestAction = 1 - 1e-4;

}  // namespace

BehaviorModel::BehaviorModel(const TransitionDataset& data, uint64_t seed, const Compute& compute) {
  Rng rng(seed, "selection/behavior");
  if (data.action_space().is_discrete()) {
    MlpSpec spec;
    spec.inputs = data.obs_dim();
    spec.outputs = data.action_space().categories;
    logits_ = std::make_unique<Mlp>(spec, rng, compute);
    optimizer_ = std::make_unique<Adam>(*logits_, AdamOptions{}, compute);
    return;
  }
  GaussianActor::Options options;
  options.log_std_min = -5;
  actor_ =
      std::make_unique<GaussianActor>(data.obs_dim(), data.action_dim(), options, rng, compute);
  optimizer_ = std::make_unique<Adam>(actor_->parameters(), AdamOptions{}, compute);
}

torch::Tensor BehaviorModel::log_prob(const torch::Tensor& obs,
                                      const torch::Tensor& actions) const {
  if (logits_) {
    const auto all = torch::log_softmax(logits_->forward(obs)[0], 1);
    return all.gather(1, actions.unsqueeze(1)).squeeze(1);
  }
  return gaussian_log_prob(actor_->head(obs), actions.clamp(-kLargestAction, kLargestAction));
}

// L = -mean log b(a | s)
void BehaviorModel::update(const torch::Tensor& obs, const torch::Tensor& actions) {
  minimize(-log_prob(obs, actions).mean(), *optimizer_, 1.0);
}

torch::Tensor BehaviorModel::log_density(const torch::Tensor& obs,
                                         const torch::Tensor& actions) const {
  const torch::NoGradGuard no_grad;
  return log_prob(obs, actions);
}

void BehaviorModel::visit_state(StateVisitor& state) {
  if (logits_) state.part("logits", *logits_);
  if (actor_) state.part("actor", *actor_);
  state.part("optimizer", *optimizer_);
}

}  // namespace rl_training
