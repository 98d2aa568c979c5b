#include <gtest/gtest.h>

#include <cmath>

#include "rl_training/models/adam.h"
#include "rl_training/models/mlp.h"
#include "tests/support/fake_group.h"

namespace rl_training::test_adam {
namespace {

// Reference implementation of Adam in double precision, after the paper.
struct Reference {
  std::vector<double> p, m, v;
  int steps = 0;

  void step(const std::vector<double>& g, double lr, double decay) {
    ++steps;
    for (size_t i = 0; i < p.size(); ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      const double m_hat = m[i] / (1 - std::pow(0.9, steps));
      const double v_hat = v[i] / (1 - std::pow(0.999, steps));
      p[i] -= lr * decay * p[i];  // decoupled from the moments, as in AdamW
      p[i] -= lr * m_hat / (std::sqrt(v_hat) + 1e-8);
    }
  }
};

MlpSpec tiny() {
  MlpSpec spec;
  spec.inputs = 2;
  spec.outputs = 1;
  spec.hidden_sizes = {8};
  return spec;
}

std::vector<double> numbers(const torch::Tensor& t) {
  const auto d = t.detach().to(torch::kDouble).contiguous();
  return {d.data_ptr<double>(), d.data_ptr<double>() + d.numel()};
}

void check_against_reference(double lr_scale, double decay) {
  Rng rng(3);
  const Mlp network(tiny(), rng, {});
  Adam adam(network, {.learning_rate = 1e-2, .weight_decay = decay}, {});
  const size_t count = network.parameters().numel();
  Reference reference{numbers(network.parameters()), std::vector<double>(count),
                      std::vector<double>(count)};
  for (int step = 0; step < 50; ++step) {
    auto gradient = torch::empty({static_cast<int64_t>(count)});
    rng.fill_normal({gradient.data_ptr<float>(), count});
    reference.step(numbers(gradient), 1e-2 * lr_scale, decay);
    network.parameters().mutable_grad() = gradient;
    adam.step(lr_scale);
    EXPECT_FALSE(network.parameters().grad().defined());
  }
  const auto ours = numbers(network.parameters());
  for (size_t i = 0; i < count; ++i) EXPECT_NEAR(ours[i], reference.p[i], 2e-6);
}

TEST(Adam, FollowsThePaper) { check_against_reference(1.0, 0.0); }
TEST(Adam, ScalesTheLearningRate) { check_against_reference(0.25, 0.0); }
TEST(Adam, DecaysWeights) { check_against_reference(1.0, 0.1); }

TEST(Adam, MinimisesAQuadratic) {
  Rng rng(3);
  const Mlp network(tiny(), rng, {});
  Adam adam(network, {.learning_rate = 1e-2}, {});
  const auto x = torch::tensor({{0.5f, -1.0f}, {1.0f, 2.0f}});
  const auto y = torch::tensor({1.0f, -2.0f});
  float loss = 0;
  for (int i = 0; i < 500; ++i) {
    const auto error = (network.forward(x).view({-1}) - y).square().mean();
    loss = error.item<float>();
    minimize(error, adam, 1.0);
  }
  EXPECT_LT(loss, 1e-4);
}

// The gradients of all leaves are sent as one message, and the step uses the averaged gradients.
TEST(Adam, StepsAlongTheMeanGradientOfTheProcesses) {
  const auto leaf = [](std::vector<float> values) {
    return torch::tensor(values).set_requires_grad(true);
  };
  const std::vector<float> theirs = {4, -2, 8};
  FakeGroup group(2);
  group.mean = [&](size_t at, float mine) { return (mine + theirs[at]) / 2; };
  std::vector<torch::Tensor> shared = {leaf({1, 2}), leaf({3})};
  std::vector<torch::Tensor> alone = {leaf({1, 2}), leaf({3})};
  const AdamOptions options = {.learning_rate = 0.1, .max_gradient_norm = 1.0};
  Adam averaging(shared, options, {.processes = &group}), plain(alone, options, {});
  for (int step = 0; step < 3; ++step) {
    shared[0].mutable_grad() = torch::tensor({2.0f, 6.0f});
    shared[1].mutable_grad() = torch::tensor({0.0f});
    alone[0].mutable_grad() = torch::tensor({3.0f, 2.0f});
    alone[1].mutable_grad() = torch::tensor({4.0f});
    apply_gradients(averaging, 1.0);
    apply_gradients(plain, 1.0);
  }
  EXPECT_EQ(group.messages, (std::vector<size_t>{3, 3, 3}));
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(torch::equal(shared[i], alone[i]));
  EXPECT_EQ(averaging.gradient_norm(), plain.gradient_norm());
}

}  // namespace
}  // namespace rl_training::test_adam
