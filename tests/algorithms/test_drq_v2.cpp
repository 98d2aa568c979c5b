#include "rl_training/algorithms/drq_v2.h"
#include "tests/algorithms/linear_example.h"

namespace rl_training::test_drq_v2 {
namespace {

AlgorithmContext pixel_context(int64_t channels = 9, int64_t size = 16, int64_t action_dim = 1) {
  AlgorithmContext context;
  context.obs = Space::image(channels, size, size);
  context.action = Space::unit_box(action_dim);
  return context;
}

DrqV2Options small_options() {
  DrqV2Options options;
  options.hidden_sizes = {16};
  options.encoder_channels = 4;
  options.feature_dim = 5;
  return options;
}

torch::Tensor random_images(int64_t rows, int64_t channels, int64_t size, uint64_t seed = 1) {
  auto images = torch::empty({rows, channels, size, size}, torch::kByte);
  Rng rng(seed);
  std::generate_n(images.data_ptr<uint8_t>(), images.numel(),
                  [&] { return static_cast<uint8_t>(rng.below(256)); });
  return images;
}

Batch image_batch(int64_t rows, const AlgorithmContext& context) {
  BatchRequest request;
  request.rows = rows;
  Batch batch(request, context.obs, context.action);
  batch.obs().copy_(random_images(rows, context.obs.shape[0], context.obs.shape[1], 1));
  batch.next_obs().copy_(random_images(rows, context.obs.shape[0], context.obs.shape[1], 2));
  Rng rng(3);
  rng.fill_uniform(floats(batch.actions()), -1, 1);
  rng.fill_normal(floats(batch.rewards()));
  batch.discount().fill_(0.970299f);
  return batch;
}

// For actions with six dimensions, the authors' networks have 30368 parameters in the encoder,
// 3068124 in the actor and 4178136 in the critics.
TEST(DrqV2Networks, HaveTheAuthorsSizes) {
  Rng rng(0);
  const ConvEncoder encoder(std::vector<int64_t>{9, 84, 84}, 32, rng, {});
  EXPECT_EQ(encoder.parameters().numel(), 30368);
  EXPECT_EQ(encoder.features(), 39200);
  const int64_t trunk = FeatureTrunk(39200, 50, rng, {}).parameters().numel();
  MlpSpec head;
  head.inputs = 50;
  head.outputs = 6;
  head.hidden_sizes = DrqV2Options().hidden_sizes;
  EXPECT_EQ(trunk + MlpLayout(head).size, 3068124);
  head.inputs = 56;
  head.outputs = 1;
  EXPECT_EQ(trunk + 2 * MlpLayout(head).size, 4178136);
}

TEST(ConvEncoder, IsFourConvolutionsOfScaledPixels) {
  Rng rng(7);
  const ConvEncoder encoder(std::vector<int64_t>{2, 17, 15}, 3, rng, {});
  const auto images = random_images(2, 2, 17).narrow(3, 0, 15).contiguous();
  const auto parts = encoder.parameters().detach().split_with_sizes(
      std::vector<int64_t>{54, 3, 81, 3, 81, 3, 81, 3});
  auto value = images.to(torch::kFloat) / 255.0 - 0.5;
  for (size_t layer = 0; layer < 4; ++layer) {
    value = torch::conv2d(value, parts[2 * layer].view({3, -1, 3, 3}), parts[2 * layer + 1],
                          layer == 0 ? 2 : 1)
                .relu();
  }
  EXPECT_EQ(encoder.features(), 3 * 2 * 1);
  EXPECT_TRUE(torch::allclose(encoder.forward(images), value.flatten(1), 1e-5, 1e-6));
  EXPECT_GT(value.max().item<double>(), 0);
  // The rows of a weight matrix are orthogonal and have the length sqrt 2. The biases are zero.
  const auto rows = parts[2].view({3, 27});
  EXPECT_TRUE(torch::allclose(rows.matmul(rows.t()), 2 * torch::eye(3), 1e-5, 1e-5));
  EXPECT_EQ(parts[3].abs().max().item<double>(), 0);
}

TEST(ConvEncoder, SmallImagesAreRefused) {
  Rng rng(0);
  EXPECT_THROW(ConvEncoder(std::vector<int64_t>{3, 14, 84}, 4, rng, {}), Error);
}

TEST(RandomShift, MovesImagesAndRepeatsTheirEdge) {
  const int64_t pad = 2, size = 6;
  const auto images = random_images(3, 2, size);
  const auto shifts = torch::tensor({{0, 4}, {2, 2}, {3, 0}}, torch::kLong);
  const auto moved = random_shift(images, shifts, pad);
  const auto at = [&](int64_t i) { return std::clamp<int64_t>(i, 0, size - 1); };
  for (int64_t row = 0; row < 3; ++row) {
    const int64_t down = shifts[row][0].item<int64_t>() - pad;
    const int64_t right = shifts[row][1].item<int64_t>() - pad;
    for (int64_t y = 0; y < size; ++y) {
      for (int64_t x = 0; x < size; ++x) {
        EXPECT_TRUE(torch::equal(moved[row].select(1, y).select(1, x),
                                 images[row].select(1, at(y + down)).select(1, at(x + right))))
            << row << " " << y << " " << x;
      }
    }
  }
  EXPECT_TRUE(torch::equal(moved[1], images[1]));
  EXPECT_TRUE(torch::equal(random_shift(images, torch::zeros({3, 2}, torch::kLong), 0), images));
  const auto plain = torch::full({3, 2, size, size}, 9, torch::kByte);
  EXPECT_TRUE(torch::equal(random_shift(plain, shifts, pad), plain));
}

// The noise values 0.4 and 0.5 are clipped to 0.3. The sum 0.9 + 0.3 is clipped to the upper bound,
// 1 - 1e-6. Neither clipping affects the gradient.
TEST(TruncatedNormal, ByHand) {
  const auto mean = torch::tensor({0.9f, 0.2f, -0.1f}).set_requires_grad(true);
  const auto actions = truncated_normal(mean, torch::tensor({0.4f, -0.1f, 0.5f}), 0.3);
  EXPECT_FLOAT_EQ(actions[0].item<float>(), 0.999999f);
  EXPECT_FLOAT_EQ(actions[1].item<float>(), 0.1f);
  EXPECT_FLOAT_EQ(actions[2].item<float>(), 0.2f);
  actions.sum().backward();
  EXPECT_TRUE(torch::equal(mean.grad(), torch::ones({3})));
}

TEST(DrqV2Options, TheNoiseFallsLinearly) {
  const DrqV2Options options;
  EXPECT_EQ(options.noise(0), 1.0);
  EXPECT_NEAR(options.noise(50000), 0.55, 1e-12);
  EXPECT_EQ(options.noise(100000), 0.1);
  EXPECT_EQ(options.noise(1 << 30), 0.1);
}

// The rewards of three steps are (1, 2, 3), and gamma is 0.99. The discounted sum of the rewards is
// 5.9203, and the value after three steps is multiplied by gamma^3 = 0.970299.
TEST(DrqV2Options, RewardsOfThreeSteps) {
  struct {
    float reward(int64_t row) const { return static_cast<float>(row + 1); }
    bool terminated(int64_t) const { return false; }
    int64_t following(int64_t row) const { return row + 1; }
  } rows;
  const auto span = span_steps(rows, 0, DrqV2Options().request());
  EXPECT_FLOAT_EQ(span.reward, 5.9203f);
  EXPECT_FLOAT_EQ(span.discount, 0.970299f);
}

// LayerNorm over a single feature always outputs its shift parameter. The feature of the actor and
// the critics is therefore h = tanh(atanh 0.5) = 0.5.
struct Fixture {
  DrqV2Options options = small_options();
  std::unique_ptr<DrqV2Networks> networks;
  Batch batch;
  torch::Tensor features, noise = torch::tensor({{0.4f}});

  Fixture() {
    options.hidden_sizes.clear();
    options.feature_dim = 1;
    const auto context = pixel_context();
    networks = std::make_unique<DrqV2Networks>(options, context, Rng(0));
    for (const auto* trunk :
         {&networks->actor.trunk, &networks->critics.trunk, &networks->critics_target.trunk}) {
      torch::NoGradGuard no_grad;
      trunk->parameters()[-1] = std::atanh(0.5f);
    }
    set_parameters(networks->actor.head.network(), {0, std::atanh(0.9f)});  // pi = 0.9
    set_parameters(networks->critics.heads.network(), kOnlineCritics);
    set_parameters(networks->critics_target.heads.network(), kTargetCritics);
    batch = image_batch(1, context);
    batch.actions().fill_(0.2f);
    batch.rewards().fill_(1);
    batch.discount().fill_(0.5f);
    features = networks->encoder.forward(batch.obs());
  }
};

// a' = 0.9 + 0.3 is clipped to 1, so Q' = (2.5, 0.5) and y = 1 + 0.5 * 0.5. At a = 0.2,
// Q = (0.7, 0.9).
TEST(DrqV2Loss, CriticLossByHand) {
  const Fixture f;
  const auto result = drq_v2_critic_loss(*f.networks, f.batch, f.features, f.features.detach(),
                                         f.noise, f.options.noise_clip);
  EXPECT_NEAR(metric(result, "target_q_mean"), 1.25, 1e-5);
  EXPECT_NEAR(metric(result, "critic_loss"), 0.55 * 0.55 + 0.35 * 0.35, 1e-5);
  result.loss.backward();
  EXPECT_TRUE(f.networks->encoder.parameters().grad().defined());
  EXPECT_TRUE(f.networks->critics.trunk.parameters().grad().defined());
  EXPECT_FALSE(f.networks->actor.head.network().parameters().grad().defined());
  EXPECT_FALSE(f.networks->critics_target.trunk.parameters().grad().defined());
}

// At a = 1, Q = (1.5, 0.1). The minimum is Q_2, whose slope is -1. The gradient with respect to the
// bias is therefore the slope of tanh, 1 - pi^2 = 0.19.
TEST(DrqV2Loss, ActorLossByHand) {
  const Fixture f;
  const auto result = drq_v2_actor_loss(*f.networks, f.features.detach(), f.noise, 0.3);
  EXPECT_NEAR(metric(result, "actor_loss"), -0.1, 1e-5);
  const auto gradient = gradient_at(f.networks->actor.head.network().parameters(), result.loss);
  EXPECT_NEAR(gradient[1].item<double>(), 0.19, 1e-5);
  EXPECT_FALSE(f.networks->encoder.parameters().grad().defined());
  EXPECT_FALSE(f.networks->critics.trunk.parameters().grad().defined());
  EXPECT_FALSE(f.networks->critics.heads.network().parameters().grad().defined());
}

// The noise decreases with each exploring step, so actions come closer to the greedy actions.
TEST(DrqV2, ExploresLessAndLess) {
  auto options = small_options();
  options.noise_end = 0;
  options.noise_steps = 1000;
  options.environment.learning_starts = 100;
  DrqV2 algorithm(options, pixel_context());
  const auto images = random_images(300, 9, 16);
  const auto distance = [&] {
    const auto greedy = act_once(algorithm, images);
    return (act_once(algorithm, images, ActMode::explore) - greedy).abs().mean().item<double>();
  };
  double before = 10;
  for (int i = 0; i < 3; ++i) {  // the noise is 0.9, 0.6, 0.3
    const double now = distance();
    EXPECT_LT(now, before);
    before = now;
  }
  EXPECT_EQ(distance(), 0);
}

TEST(DrqV2, WithoutPaddingImagesStayAsTheyAre) {
  auto options = small_options();
  options.shift_pad = 0;
  const auto context = pixel_context();
  const auto batch = image_batch(8, context);
  DrqV2 algorithm(options, context);
  DrqV2Networks networks(options, context, Rng(0, "init"));
  Rng rng(0, "policy");
  NoiseBuffer noise;
  const auto features = networks.encoder.forward(batch.obs());
  const auto expected = drq_v2_critic_loss(networks, batch, features,
                                           networks.encoder.forward(batch.next_obs()).detach(),
                                           noise.normal(rng, batch.actions().sizes()) *
                                               options.noise(options.environment.learning_starts),
                                           options.noise_clip);
  EXPECT_EQ(metric(algorithm.update(batch, 1.0), "critic_loss"), expected.loss.item<float>());
}

}  // namespace
}  // namespace rl_training::test_drq_v2
