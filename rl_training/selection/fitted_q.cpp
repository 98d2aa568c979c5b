#include "rl_training/selection/fitted_q.h"

#include <algorithm>
#include <cmath>

namespace rl_training {
namespace {

constexpr double kStdFloor = 1e-5;
constexpr double kHeadScale = 0.173;
constexpr int64_t kValueRows = 4096;

MlpSpec spec_of(const TransitionDataset& data, int64_t policies, const FittedQOptions& options) {
  const bool discrete = data.action_space().is_discrete();
  MlpSpec spec;
  spec.inputs = data.obs_dim() + (discrete ? 0 : data.action_dim());
  spec.outputs = discrete ? data.action_space().categories : 1;
  spec.hidden_sizes = options.hidden_sizes;
  // LayerNorm bounds the values of actions far from the data (arXiv:2302.02948, section 4.2).
  spec.layer_norm = LayerNorm::before_activation;
  spec.hidden_init.bias = LayerInit::Bias::constant;
  spec.output_init.weight = LayerInit::Weight::uniform;
  spec.output_init.weight_scale =
      kHeadScale / std::sqrt(static_cast<double>(options.hidden_sizes.back()));
  spec.output_init.bias = LayerInit::Bias::constant;
  spec.members = policies * options.critics;
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

torch::Tensor next_actions_of(const TransitionDataset& data) {
  std::vector<int64_t> source(static_cast<size_t>(data.rows()));
  for (const Episode& episode : data.episodes()) {
    const int64_t last = episode.first_row + episode.rows - 1;
    for (int64_t row = episode.first_row; row <= last; ++row) {
      source[static_cast<size_t>(row)] = std::min(row + 1, last);
    }
  }
  return actions_of(data).index_select(0, torch::tensor(source, torch::kInt64));
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
  read_rewards(data);
  own_ = make_critics(data, {next_actions_of(data)}, compute);
  candidates_ = make_critics(data, std::move(next_actions), compute);
}

void FittedQ::read_rewards(const TransitionDataset& data) {
  auto rewards = torch::empty({data.rows()}, torch::kFloat64);
  discount_ = torch::empty({data.rows()});
  bool terminates = false;
  for (int64_t row = 0; row < data.rows(); ++row) {
    rewards.data_ptr<double>()[row] = data.reward(row);
    terminates = terminates || data.terminated(row);
    discount_.data_ptr<float>()[row] =
        data.terminated(row) ? 0.0f : static_cast<float>(options_.gamma);
  }
  // Rewards are shifted only if no episode terminates. Otherwise the shift would not change all
  // values equally.
  reward_shift_ = terminates ? 0.0 : rewards.mean().item<double>();
  const double deviation = rewards.std(false).item<double>();
  reward_scale_ = deviation > 0 ? deviation : 1.0;
  rewards = (rewards - reward_shift_) / reward_scale_;
  rewards_ = rewards.to(torch::kFloat32);
  const double smallest = rewards.min().item<double>(), largest = rewards.max().item<double>();
  low_ = std::min(smallest, smallest / (1 - options_.gamma));
  high_ = std::max(largest, largest / (1 - options_.gamma));
}

FittedQ::Critics FittedQ::make_critics(const TransitionDataset& data,
                                       std::vector<torch::Tensor> next_actions,
                                       const Compute& compute) const {
  Rng init(options_.seed, "selection/init");
  Critics critics;
  const auto policies = static_cast<int64_t>(next_actions.size());
  critics.online = std::make_unique<Mlp>(spec_of(data, policies, options_), init, compute);
  critics.target = std::make_unique<Mlp>(*critics.online);
  critics.optimizer = std::make_unique<Adam>(
      *critics.online,
      AdamOptions{.learning_rate = options_.learning_rate, .weight_decay = options_.weight_decay},
      compute);
  critics.next_actions = std::move(next_actions);
  return critics;
}

// Every candidate starts with the values of the behaviour policy.
void FittedQ::start_candidates() {
  const torch::NoGradGuard no_grad;
  const auto copy = [&](const Mlp& from, const Mlp& to) {
    to.parameters()
        .detach()
        .view({candidates(), -1})
        .copy_(from.parameters().detach().view({1, -1}));
  };
  copy(*own_.online, *candidates_.online);
  copy(*own_.target, *candidates_.target);
}

torch::Tensor FittedQ::normalised(const torch::Tensor& obs) const { return (obs - mean_) / std_; }

// Q = f / (1 - gamma) with the network's output f, so f has the scale of a single reward.
torch::Tensor FittedQ::chosen(const torch::Tensor& outputs, const torch::Tensor& actions) const {
  const auto picked =
      discrete_ ? outputs.gather(-1, actions.view({1, -1, 1}).expand({outputs.size(0), -1, 1}))
                : outputs;
  return picked.squeeze(-1) / (1 - options_.gamma);
}

torch::Tensor FittedQ::target_values(const Critics& critics, int64_t policy,
                                     const torch::Tensor& obs, const torch::Tensor& actions) const {
  std::vector<torch::Tensor> outputs;
  for (int64_t i = 0; i < options_.critics; ++i) {
    outputs.push_back(critics.target->forward_member(policy * options_.critics + i, obs,
                                                     discrete_ ? torch::Tensor() : actions));
  }
  return chosen(torch::stack(outputs), actions);
}

void FittedQ::update() {
  rng_.fill_below({indices_.data_ptr<int64_t>(), static_cast<size_t>(indices_.numel())},
                  static_cast<uint64_t>(obs_.size(0)));
  const auto pick = [&](const torch::Tensor& column) { return column.index_select(0, indices_); };
  const Batch batch{pick(obs_), pick(next_obs_), pick(actions_), pick(rewards_), pick(discount_)};
  if (updates_ == options_.updates) start_candidates();
  fit(own_, batch);
  if (updates_ >= options_.updates) fit(candidates_, batch);
  behavior_.update(batch.obs, batch.actions);
  ++updates_;
}

void FittedQ::fit(Critics& critics, const Batch& batch) {
  std::vector<torch::Tensor> targets;
  for (size_t k = 0; k < critics.next_actions.size(); ++k) {
    const auto next = target_values(critics, static_cast<int64_t>(k), batch.next_obs,
                                    critics.next_actions[k].index_select(0, indices_));
    targets.push_back(fitted_q_target(batch.rewards, batch.discount, next, low_, high_)
                          .expand({options_.critics, indices_.numel()}));
  }
  const auto outputs =
      critics.online->forward(batch.obs, discrete_ ? torch::Tensor() : batch.actions, Pass{});
  minimize(fitted_q_loss(chosen(outputs, batch.actions), torch::cat(targets)), *critics.optimizer,
           1.0);
  critics.target->polyak_from(*critics.online, options_.tau);
}

double FittedQ::share_done() const {
  const int64_t second = std::max<int64_t>(0, updates_ - options_.updates);
  return static_cast<double>(updates_ + second * candidates()) /
         static_cast<double>(updates_total() + options_.updates * candidates());
}

torch::Tensor FittedQ::values(const Critics& critics, int64_t policy, const torch::Tensor& obs,
                              const torch::Tensor& actions) const {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> parts;
  const auto obs_parts = obs.split(kValueRows), action_parts = actions.split(kValueRows);
  for (size_t i = 0; i < obs_parts.size(); ++i) {
    parts.push_back(target_values(critics, policy, normalised(obs_parts[i]), action_parts[i]));
  }
  return torch::cat(parts, 1) * reward_scale_ + reward_shift_ / (1 - options_.gamma);
}

torch::Tensor FittedQ::values(int64_t candidate, const torch::Tensor& obs,
                              const torch::Tensor& actions) const {
  return values(candidates_, candidate, obs, actions);
}

torch::Tensor FittedQ::own_values(const torch::Tensor& obs, const torch::Tensor& actions) const {
  return values(own_, 0, obs, actions);
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

void FittedQ::Critics::visit_state(StateVisitor& state) {
  state.part("critics", *online);
  state.part("targets", *target);
  state.part("optimizer", *optimizer);
}

void FittedQ::visit_state(StateVisitor& state) {
  state.part("own", own_);
  state.part("candidates", candidates_);
  state.part("behavior", behavior_);
  state.part("rng", rng_);
  state.scalar("updates", updates_);
}

}  // namespace rl_training
