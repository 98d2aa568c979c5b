#pragma once
#include "rl_training/algorithms/actor_critic.h"
#include "rl_training/models/conv_encoder.h"

namespace rl_training {

struct DrqV2Options : AlgorithmOptions {
  static constexpr const char* kName = "drq_v2";
  int64_t encoder_channels = 32;
  int64_t feature_dim = 50;
  int64_t shift_pad = 4;
  double noise_start = 1.0, noise_end = 0.1;
  int64_t noise_steps = 100000;
  double noise_clip = 0.3;
  CollectOptions environment{
      .buffer_capacity = 100000, .learning_starts = 2000, .train_frequency = 2};

  DrqV2Options() {
    hidden_sizes = {1024, 1024};
    learning_rate = 1e-4;
    tau = 0.01;
    n_step = 3;
  }
  CollectOptions* collect() override { return &environment; }
  std::vector<PhaseSpec> phases(int64_t total_timesteps) const override {
    return replay_phases(environment, total_timesteps);
  }
  void visit_options(OptionVisitor& options) override;
  // Standard deviation of the policy's noise after `step` environment steps.
  double noise(int64_t step) const {
    return linear_change(noise_start, noise_end, noise_steps, step);
  }
};

// Maps the encoder's features to actions in (-1, 1).
struct PixelActor {
  PixelActor(int64_t features, const DrqV2Options& options, const AlgorithmContext& context,
             Rng& rng);
  torch::Tensor actions(const torch::Tensor& features) const {
    return head.actions(trunk.forward(features));
  }
  std::vector<torch::Tensor> parameters() const {
    return {trunk.parameters(), head.network().parameters()};
  }
  void visit_state(StateVisitor& state);

  FeatureTrunk trunk;
  DeterministicActor head;
};

// Twin critics that map the encoder's features and an action to values. They share one trunk.
struct PixelCritics {
  PixelCritics(int64_t features, const DrqV2Options& options, const AlgorithmContext& context,
               Rng& rng);
  // [2, rows]
  torch::Tensor values(const torch::Tensor& features, const torch::Tensor& actions,
                       Use use = Use::train) const {
    return heads.values(trunk.forward(features, use), actions, use);
  }
  void polyak_from(const PixelCritics& other, double tau);
  void visit_state(StateVisitor& state);

  FeatureTrunk trunk;
  CriticEnsemble heads;
};

// Actor and critics share the encoder, which has no target network.
struct DrqV2Networks {
  DrqV2Networks(const DrqV2Options& options, const AlgorithmContext& context, Rng rng);
  void visit_state(StateVisitor& state);

  ConvEncoder encoder;
  PixelActor actor;
  PixelCritics critics, critics_target;
};

// Shifts each image by up to `pad` pixels and repeats the pixels at its edge. `images` is uint8
// [rows, channels, height, width]. `shifts` is int64 [rows, 2]: a vertical and a horizontal shift,
// each from 0 to 2 * pad, where `pad` means no shift.
torch::Tensor random_shift(const torch::Tensor& images, const torch::Tensor& shifts, int64_t pad);

// mean + clip(noise, +-clip), clamped to +-(1 - 1e-6). The gradient with respect to the mean
// ignores this clamp. An infinite `clip` disables the clipping of the noise. `noise` is already
// multiplied by its standard deviation.
torch::Tensor truncated_normal(const torch::Tensor& mean, const torch::Tensor& noise, double clip);

// Gradients flow through `features` but not through `next_features`. `noise` [rows, action_dim] is
// already multiplied by its standard deviation.
CriticLoss drq_v2_critic_loss(const DrqV2Networks& networks, const Batch& batch,
                              const torch::Tensor& features, const torch::Tensor& next_features,
                              const torch::Tensor& noise, double clip);

struct DrqV2ActorLoss {
  torch::Tensor loss;

  template <class Visit>
  void metrics(Visit&& visit) const {
    visit("actor_loss", loss);
  }
};
// `features` must not require gradients. `noise` [rows, action_dim] is already multiplied by its
// standard deviation.
DrqV2ActorLoss drq_v2_actor_loss(const DrqV2Networks& networks, const torch::Tensor& features,
                                 const torch::Tensor& noise, double clip);

// DrQ-v2 (arXiv:2107.09645): continuous control from pixels, with randomly shifted images.
class DrqV2 final : public Algorithm {
 public:
  DrqV2(const DrqV2Options& options, const AlgorithmContext& context);

  Metrics update(const Batch& batch, double lr_scale) override;
  torch::Tensor act(const torch::Tensor& obs, PolicyState& state, ActMode mode) override;
  torch::Tensor values(const torch::Tensor& obs, const torch::Tensor& actions) const override;
  void visit_state(StateVisitor& state) override;

 private:
  torch::Tensor shifted(const torch::Tensor& images);
  double noise() const;

  DrqV2Options options_;
  int64_t processes_;
  Rng rng_, explore_rng_;
  DrqV2Networks networks_;
  Adam critic_optimizer_, actor_optimizer_;  // critic_optimizer_ also steps the encoder
  NoiseBuffer target_noise_, actor_noise_, explore_noise_;
  torch::Tensor shifts_;
  int64_t explored_ = 0;  // environment steps in which the policy chose the action
};

AlgorithmInfoOf<DrqV2, DrqV2Options> drq_v2_info();

}  // namespace rl_training
