#include "rl_training/selection/fitted_q.h"

#include <algorithm>
#include <cmath>

namespace rl_training {
namespace {

constexpr double kStdFloor = 1e-5;
constexpr double kHeadScale = 0.173;
constexpr int64_t kValueRows = 4096;

MlpSpec spec_of(const TransitionDataset& data, int64_t candidates, const FittedQOptions& options) {
  const bool discrete = data.action_space().is_discrete();
  MlpSpec spec;
  spec.inputs = data.obs_dim() + (discrete ? 0 : data.action_dim());
  spec.outputs = discrete ? data.action_space().categories : 1;
  spec.hidden_sizes = options.hidden_sizes;
  spec.hidden_init.bias = LayerInit::Bias::constant;
  spec.output_init.weight = LayerInit::Weight::uniform;
  spec.output_init.weight_scale =
      kHeadScale / std::sqrt(static_cast<double>(options.hidden_sizes.back()));
  spec.output_init.bias = LayerInit::Bias::constant;
  spec.members = candidates * options.critics;
  return spec;
}

template <class Copy>
torch::Tensor float_rows(const TransitionDataset& data, int64_t width, const Copy& source) {
  auto tensor = torch::empty({data.rows(), width});
  float* out = tensor.data_ptr<float>();
  for (int64_t row = 0; row < data.rows(); ++row) {
    std::copy_n(source(row), width, out + row * width);
  }
  return tensor;
}

}  // namespace

torch::Tensor observations_of(const TransitionDataset& data) {
  return float_rows(data, data.obs_dim(), [&](int64_t row) { return data.obs(row); });
}

torch::Tensor next_observations_of(const TransitionDataset& data) {
  return float_rows(data, data.obs_dim(), [&](int64_t row) { return data.next_obs(row); });
}

torch::Tensor actions_of(const TransitionDataset& data) {
  if (!data.action_space().is_discrete()) {
    return float_rows(data, data.action_dim(), [&](int64_t row) { return data.action(row); });
  }
  auto tensor = torch::empty({data.rows()}, torch::kInt64);
  for (int64_t row = 0; row < data.rows(); ++row) {
    tensor.data_ptr<int64_t>()[row] = data.choice(row);
  }
  return tensor;
}

torch::Tensor fitted_q_target(const torch::Tensor& rewards, const torch::Tensor& discount,
                              const torch::Tensor& next_values, double low, double high) {
  const torch::NoGradGuard no_grad;
  return (rewards + discount * next_values.mean(0)).clamp(low, high);
}

torch::Tensor fitted_q_loss(const torch::Tensor& values, const torch::Tensor& targets) {
  return (values - targets).square().mean(1).sum();
}

FittedQ::FittedQ(const TransitionDataset& data, std::vector<torch::Tensor> next_actions,
                 const FittedQOptions& options, const Compute& compute)
    : options_(options),
      discrete_(data.action_space().is_discrete()),
      rng_(options.seed, "selection/batches"),
      next_actions_(std::move(next_actions)),
      behavior_(data, options.seed, compute),
      indices_(torch::empty({options.batch_size}, torch::kInt64)) {
  obs_ = observations_of(data);
  mean_ = obs_.to(torch::kFloat64).mean(0);
  std_ = (obs_.to(torch::kFloat64) - mean_).square().mean(0).sqrt().clamp_min(kStdFloor);
  mean_ = mean_.to(torch::kFloat32);
  std_ = std_.to(torch::kFloat32);
  obs_ = normalised(obs_);
  next_obs_ = normalised(next_observations_of(data));
  actions_ = actions_of(data);

  auto rewards = torch::empty({data.rows()}, torch::kFloat64);
  discount_ = torch::empty({data.rows()});
  bool terminates = false;
  for (int64_t row = 0; row < data.rows(); ++row) {
    rewards.data_ptr<double>()[row] = data.reward(row);
    terminates = terminates || data.terminated(row);
    discount_.data_ptr<float>()[row] =
        data.terminated(row) ? 0.0f : static_cast<float>(options.gamma);
  }
  // Shifting the reward changes every value alike only where no episode ends.
  reward_shift_ = terminates ? 0.0 : rewards.mean().item<double>();
  const double deviation = rewards.std(false).item<double>();
  reward_scale_ = deviation > 0 ? deviation : 1.0;
  rewards = (rewards - reward_shift_) / reward_scale_;
  rewards_ = rewards.to(torch::kFloat32);
  const double smallest = rewards.min().item<double>(), largest = rewards.max().item<double>();
  low_ = std::min(smallest, smallest / (1 - options.gamma));
  high_ = std::max(largest, largest / (1 - options.gamma));

  Rng init(options.seed, "selection/init");
  critics_ = std::make_unique<Mlp>(spec_of(data, candidates(), options), init, compute);
  use_same_start();
  targets_ = std::make_unique<Mlp>(*critics_);
  optimizer_ = std::make_unique<Adam>(
      *critics_,
      AdamOptions{.learning_rate = options.learning_rate, .weight_decay = options.weight_decay},
      compute);
}

void FittedQ::use_same_start() {
  const torch::NoGradGuard no_grad;
  auto all = critics_->parameters().detach().view({candidates(), -1});
  for (int64_t i = 1; i < candidates(); ++i) all[i].copy_(all[0]);
}

torch::Tensor FittedQ::normalised(const torch::Tensor& obs) const { return (obs - mean_) / std_; }

// Q = f / (1 - gamma): the network has the size of one reward.
torch::Tensor FittedQ::chosen(const torch::Tensor& outputs, const torch::Tensor& actions) const {
  const auto picked =
      discrete_ ? outputs.gather(-1, actions.view({1, -1, 1}).expand({outputs.size(0), -1, 1}))
                : outputs;
  return picked.squeeze(-1) / (1 - options_.gamma);
}

torch::Tensor FittedQ::target_values(int64_t candidate, const torch::Tensor& obs,
                                     const torch::Tensor& actions) const {
  std::vector<torch::Tensor> outputs;
  for (int64_t i = 0; i < options_.critics; ++i) {
    outputs.push_back(targets_->forward_member(candidate * options_.critics + i, obs,
                                               discrete_ ? torch::Tensor() : actions));
  }
  return chosen(torch::stack(outputs), actions);
}

void FittedQ::update() {
  rng_.fill_below({indices_.data_ptr<int64_t>(), static_cast<size_t>(indices_.numel())},
                  static_cast<uint64_t>(obs_.size(0)));
  const auto pick = [&](const torch::Tensor& column) { return column.index_select(0, indices_); };
  const auto next_obs = pick(next_obs_), rewards = pick(rewards_), discount = pick(discount_);
  std::vector<torch::Tensor> targets;
  for (int64_t k = 0; k < candidates(); ++k) {
    const auto next = target_values(k, next_obs, pick(next_actions_[k]));
    targets.push_back(fitted_q_target(rewards, discount, next, low_, high_)
                          .expand({options_.critics, indices_.numel()}));
  }
  const auto actions = pick(actions_);
  const auto obs = pick(obs_);
  const auto outputs = critics_->forward(obs, discrete_ ? torch::Tensor() : actions, Pass{});
  minimize(fitted_q_loss(chosen(outputs, actions), torch::cat(targets)), *optimizer_, 1.0);
  targets_->polyak_from(*critics_, options_.tau);
  behavior_.update(obs, actions);
  ++updates_;
}

torch::Tensor FittedQ::values(int64_t candidate, const torch::Tensor& obs,
                              const torch::Tensor& actions) const {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> parts;
  const auto obs_parts = obs.split(kValueRows), action_parts = actions.split(kValueRows);
  for (size_t i = 0; i < obs_parts.size(); ++i) {
    parts.push_back(target_values(candidate, normalised(obs_parts[i]), action_parts[i]));
  }
  return torch::cat(parts, 1) * reward_scale_ + reward_shift_ / (1 - options_.gamma);
}

double FittedQ::td_error(int64_t candidate, const TransitionDataset& data,
                         const torch::Tensor& next_actions) const {
  const auto now = values(candidate, observations_of(data), actions_of(data)).mean(0);
  const auto next = values(candidate, next_observations_of(data), next_actions).mean(0);
  double sum = 0;
  for (int64_t row = 0; row < data.rows(); ++row) {
    const double discount = data.terminated(row) ? 0.0 : options_.gamma;
    const double error =
        data.reward(row) + discount * next.data_ptr<float>()[row] - now.data_ptr<float>()[row];
    sum += error * error;
  }
  return sum / static_cast<double>(data.rows());
}

void FittedQ::visit_state(StateVisitor& state) {
  state.part("critics", *critics_);
  state.part("targets", *targets_);
  state.part("optimizer", *optimizer_);
  state.part("behavior", behavior_);
  state.part("rng", rng_);
  state.scalar("updates", updates_);
}

}  // namespace rl_training
