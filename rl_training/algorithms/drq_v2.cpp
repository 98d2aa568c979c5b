#include "rl_training/algorithms/drq_v2.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "rl_training/models/losses.h"

namespace rl_training {
namespace {

constexpr double kInsideBounds = 1.0 - 1e-6;

}  // namespace

void DrqV2Options::visit_options(OptionVisitor& options) {
  AlgorithmOptions::visit_options(options);
  options.integer("encoder_channels", encoder_channels, between(1, 1024),
                  "channels of each convolution");
  options.integer("feature_dim", feature_dim, between(1, 1 << 14),
                  "features that actor and critics each compute from an encoded image");
  options.integer("shift_pad", shift_pad, between(0, 64),
                  "largest shift of an image in pixels; 0 disables the augmentation");
  options.number("noise_start", noise_start, at_least(0),
                 "initial standard deviation of the policy's noise");
  options.number("noise_end", noise_end, at_least(0),
                 "final standard deviation of the policy's noise");
  options.integer("noise_steps", noise_steps, at_least(0),
                  "environment steps over which it changes linearly");
  options.number("noise_clip", noise_clip, at_least(0), "bound of that noise in updates");
  environment.visit_options(options);
}

PixelActor::PixelActor(int64_t features, const DrqV2Options& options,
                       const AlgorithmContext& context, Rng& rng)
    : trunk(features, options.feature_dim, rng, context.compute),
      head(options.feature_dim, context.action_dim(),
           {.hidden_sizes = options.hidden_sizes,
            .hidden_init = orthogonal_layer(1.0),
            .output_init = orthogonal_layer(1.0)},
           rng, context.compute) {}

void PixelActor::visit_state(StateVisitor& state) {
  state.part("trunk", trunk);
  state.part("head", head);
}

PixelCritics::PixelCritics(int64_t features, const DrqV2Options& options,
                           const AlgorithmContext& context, Rng& rng)
    : trunk(features, options.feature_dim, rng, context.compute),
      heads(options.feature_dim, context.action_dim(),
            {.hidden_sizes = options.hidden_sizes,
             .hidden_init = orthogonal_layer(1.0),
             .output_init = orthogonal_layer(1.0)},
            rng, context.compute) {}

void PixelCritics::polyak_from(const PixelCritics& other, double tau) {
  trunk.polyak_from(other.trunk, tau);
  heads.network().polyak_from(other.heads.network(), tau);
}

void PixelCritics::visit_state(StateVisitor& state) {
  state.part("trunk", trunk);
  state.part("heads", heads);
}

DrqV2Networks::DrqV2Networks(const DrqV2Options& options, const AlgorithmContext& context, Rng rng)
    : encoder(context.obs.shape, options.encoder_channels, rng, context.compute),
      actor(encoder.features(), options, context, rng),
      critics(encoder.features(), options, context, rng),
      critics_target(critics) {}

void DrqV2Networks::visit_state(StateVisitor& state) {
  state.part("encoder", encoder);
  state.part("actor", actor);
  state.part("critics", critics);
  state.part("critics_target", critics_target);
}

// out(y, x) = in(clamp(y + v - pad), clamp(x + h - pad)) with the shifts (v, h) of the image
torch::Tensor random_shift(const torch::Tensor& images, const torch::Tensor& shifts, int64_t pad) {
  const int64_t channels = images.size(1), height = images.size(2), width = images.size(3);
  auto out = torch::empty_like(images);
  const auto* from = images.data_ptr<uint8_t>();
  auto* to = out.data_ptr<uint8_t>();
  const auto* shift = shifts.data_ptr<int64_t>();
  for (int64_t row = 0; row < images.size(0); ++row, shift += 2) {
    const int64_t down = shift[0] - pad, right = shift[1] - pad;
    const int64_t left_edge = std::clamp<int64_t>(-right, 0, width);  // columns that repeat an edge
    const int64_t right_edge = std::clamp<int64_t>(right, 0, width);
    const auto inside = static_cast<size_t>(width - left_edge - right_edge);
    for (int64_t plane = 0; plane < channels; ++plane, from += height * width) {
      for (int64_t y = 0; y < height; ++y, to += width) {
        const uint8_t* line = from + std::clamp<int64_t>(y + down, 0, height - 1) * width;
        std::memset(to, line[0], static_cast<size_t>(left_edge));
        std::memcpy(to + left_edge, line + right_edge, inside);
        std::memset(to + width - right_edge, line[width - 1], static_cast<size_t>(right_edge));
      }
    }
  }
  return out;
}

torch::Tensor truncated_normal(const torch::Tensor& mean, const torch::Tensor& noise, double clip) {
  const auto x = mean + noise.clamp(-clip, clip);
  const auto inside = x.detach().clamp(-kInsideBounds, kInsideBounds);
  return x.requires_grad() ? x + (inside - x.detach()) : inside;
}

// y = r + gamma^n (1 - d) min_i Q'_i(h', b) with b = truncated_normal(pi(h'), noise, clip).
// L = sum_i mean (Q_i(h, a) - y)^2
// with the encoded images h and h'
CriticLoss drq_v2_critic_loss(const DrqV2Networks& networks, const Batch& batch,
                              const torch::Tensor& features, const torch::Tensor& next_features,
                              const torch::Tensor& noise, double clip) {
  torch::Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const auto next_actions = truncated_normal(networks.actor.actions(next_features), noise, clip);
    const auto next_q = networks.critics_target.values(next_features, next_actions);
    target = td_target(batch.rewards(), batch.discount(), minimum(next_q));
  }
  return {squared_error(networks.critics.values(features, batch.actions()), target),
          mean_of(target)};
}

// L = -mean min_i Q_i(h, b) with b = truncated_normal(pi(h), noise, clip) and the encoded image h
DrqV2ActorLoss drq_v2_actor_loss(const DrqV2Networks& networks, const torch::Tensor& features,
                                 const torch::Tensor& noise, double clip) {
  const auto actions = truncated_normal(networks.actor.actions(features), noise, clip);
  return {-minimum(networks.critics.values(features, actions, Use::frozen)).mean()};
}

DrqV2::DrqV2(const DrqV2Options& options, const AlgorithmContext& context)
    : options_(options),
      processes_(process_count(context.compute.processes)),
      rng_(context.own_seed(), "policy"),
      explore_rng_(context.own_seed(), "explore/policy"),
      networks_(options, context, Rng(context.seed, "init")),
      critic_optimizer_({networks_.encoder.parameters(), networks_.critics.trunk.parameters(),
                         networks_.critics.heads.network().parameters()},
                        options.critic_adam(), context.compute),
      actor_optimizer_(networks_.actor.parameters(), options.actor_adam(), context.compute) {}

torch::Tensor DrqV2::shifted(const torch::Tensor& images) {
  if (options_.shift_pad == 0) return images;
  const std::array<int64_t, 2> shape = {images.size(0), 2};
  if (!shifts_.defined() || shifts_.sizes() != shape) shifts_ = torch::empty(shape, torch::kLong);
  rng_.fill_below({shifts_.data_ptr<int64_t>(), static_cast<size_t>(shifts_.numel())},
                  static_cast<uint64_t>(2 * options_.shift_pad + 1));
  return random_shift(images, shifts_, options_.shift_pad);
}

double DrqV2::noise() const {
  return options_.noise(options_.environment.learning_starts + explored_);
}

Metrics DrqV2::update(const Batch& batch, double lr_scale) {
  const auto shape = batch.actions().sizes();
  const double deviation = noise(), clip = options_.noise_clip;
  const auto features = networks_.encoder.forward(shifted(batch.obs()));
  torch::Tensor next_features;
  {
    const torch::NoGradGuard no_grad;
    next_features = networks_.encoder.forward(shifted(batch.next_obs()));
  }
  const auto critic = drq_v2_critic_loss(networks_, batch, features, next_features,
                                         target_noise_.normal(rng_, shape) * deviation, clip);
  minimize(critic.loss, critic_optimizer_, lr_scale);
  const auto actor = drq_v2_actor_loss(networks_, features.detach(),
                                       actor_noise_.normal(rng_, shape) * deviation, clip);
  minimize(actor.loss, actor_optimizer_, lr_scale);
  networks_.critics_target.polyak_from(networks_.critics, options_.tau);
  return metrics_of(critic, actor);
}

torch::Tensor DrqV2::act(const torch::Tensor& obs, PolicyState& /*state*/, ActMode mode) {
  const torch::NoGradGuard no_grad;
  auto actions = networks_.actor.actions(networks_.encoder.forward(obs));
  if (mode == ActMode::greedy) return actions;
  const double deviation = noise();
  explored_ += obs.size(0) * processes_;
  return truncated_normal(actions, explore_noise_.normal(explore_rng_, actions.sizes()) * deviation,
                          std::numeric_limits<double>::infinity());
}

torch::Tensor DrqV2::values(const torch::Tensor& obs, const torch::Tensor& actions) const {
  const torch::NoGradGuard no_grad;
  return minimum(networks_.critics.values(networks_.encoder.forward(obs), actions));
}

void DrqV2::visit_state(StateVisitor& state) {
  networks_.visit_state(state);
  state.part("critic_optimizer", critic_optimizer_);
  state.part("actor_optimizer", actor_optimizer_);
  state.part("policy_rng", rng_);
  state.part("explore_rng", explore_rng_);
  state.scalar("explored", explored_);
}

AlgorithmInfoOf<DrqV2, DrqV2Options> drq_v2_info() {
  return algorithm_info<DrqV2, DrqV2Options>(
      {.name = DrqV2Options::kName,
       .title = "DrQ-v2: continuous control from pixels, with randomly shifted images",
       .paper = "arXiv:2107.09645",
       .image_observations = true,
       .metrics = metric_names_of<CriticLoss, DrqV2ActorLoss>()});
}

}  // namespace rl_training
