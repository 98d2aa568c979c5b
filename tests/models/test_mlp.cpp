#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "rl_training/models/mlp.h"
#include "tests/support/tensors.h"

namespace rl_training::test_mlp {
namespace {

struct Case {
  std::string name;
  MlpSpec spec;
  int64_t rows = 256;
  int64_t side = 0;  // columns of the second input; 0 if there is none
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](std::string name, int64_t rows, int64_t side, auto change) {
    Case one;
    one.name = std::move(name);
    one.rows = rows;
    one.side = side;
    one.spec.inputs = 9;
    one.spec.outputs = 3;
    one.spec.hidden_sizes = {33, 48};
    change(one.spec);
    all.push_back(one);
  };
  add("plain", 256, 0, [](MlpSpec&) {});
  add("one_row", 1, 0, [](MlpSpec&) {});
  add("uneven_rows", 301, 0, [](MlpSpec&) {});
  add("two_inputs", 130, 4, [](MlpSpec&) {});
  add("linear", 20, 2, [](MlpSpec& s) { s.hidden_sizes.clear(); });
  add("wide", 256, 0, [](MlpSpec& s) { s.hidden_sizes = {256, 256}; });
  add("tanh_everywhere", 70, 0, [](MlpSpec& s) {
    s.activation = Activation::tanh;
    s.output_activation = Activation::tanh;
  });
  add("gelu", 257, 3, [](MlpSpec& s) { s.activation = Activation::gelu; });
  add("elu", 257, 3, [](MlpSpec& s) { s.activation = Activation::elu; });
  add("elu_norm_before", 70, 0, [](MlpSpec& s) {
    s.activation = Activation::elu;
    s.layer_norm = LayerNorm::before_activation;
  });
  add("gelu_norm_after_ensemble", 300, 3, [](MlpSpec& s) {
    s.activation = Activation::gelu;
    s.layer_norm = LayerNorm::after_activation;
    s.members = 2;
    s.outputs = 1;
  });
  add("gelu_norm_before", 70, 0, [](MlpSpec& s) {
    s.activation = Activation::gelu;
    s.layer_norm = LayerNorm::before_activation;
  });
  add("relu_output", 70, 0, [](MlpSpec& s) { s.output_activation = Activation::relu; });
  add("critic", 256, 3, [](MlpSpec& s) {
    s.outputs = 1;
    s.members = 2;
  });
  add("ensemble", 300, 3, [](MlpSpec& s) {
    s.members = 5;
    s.hidden_sizes = {40, 24, 16};
  });
  add("norm_before", 257, 0, [](MlpSpec& s) { s.layer_norm = LayerNorm::before_activation; });
  add("norm_after", 257, 0, [](MlpSpec& s) { s.layer_norm = LayerNorm::after_activation; });
  add("norm_after_ensemble", 300, 3, [](MlpSpec& s) {
    s.layer_norm = LayerNorm::after_activation;
    s.layer_norm_eps = 1e-6;
    s.members = 3;
    s.outputs = 1;
  });
  add("norm_before_tanh", 100, 0, [](MlpSpec& s) {
    s.layer_norm = LayerNorm::before_activation;
    s.activation = Activation::tanh;
  });
  // With more than eight chunks of rows, the gradients of several chunks are summed as one group.
  add("many_rows", 1300, 4, [](MlpSpec&) {});
  add("many_rows_norm_ensemble", 2700, 3, [](MlpSpec& s) {
    s.layer_norm = LayerNorm::before_activation;
    s.members = 2;
    s.outputs = 1;
  });
  return all;
}

// Returns the largest absolute difference, divided by the largest absolute value in `b`.
double distance(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

// Adds noise to all parameters. The initial LayerNorm gains of 1 and shifts of 0 would hide errors.
void shake(Mlp& network) {
  const torch::NoGradGuard no_grad;
  network.parameters().add_(normal_noise({network.parameters().numel()}, 99), 0.05);
}

struct Gradients {
  torch::Tensor y, parameters, x, side;
};

Gradients run(const Mlp& network, const Case& one, bool fused) {
  auto x = normal_noise({one.rows, one.spec.inputs - one.side}, 1).set_requires_grad(true);
  torch::Tensor side;
  if (one.side > 0) side = normal_noise({one.rows, one.side}, 2).set_requires_grad(true);
  const auto y = fused ? network.forward(x, side) : plain(network, x, side);
  const auto weights = normal_noise({y.size(0), y.size(1), y.size(2)}, 3);
  (y * weights).sum().backward();
  Gradients pass{y.detach(), network.parameters().grad().clone(), x.grad(),
                 one.side > 0 ? side.grad() : torch::Tensor()};
  network.parameters().mutable_grad() = torch::Tensor();
  return pass;
}

class FusedMlp : public testing::TestWithParam<Case> {};

TEST_P(FusedMlp, EqualsPlainTorchInValuesAndGradients) {
  const auto& one = GetParam();
  ThreadPool pool(2);
  Rng rng(7);
  Mlp network(one.spec, rng, {&pool});
  shake(network);
  const auto fused = run(network, one, true);
  const auto oracle = run(network, one, false);
  ASSERT_EQ(fused.y.sizes(), oracle.y.sizes());
  EXPECT_LT(distance(fused.y, oracle.y), 1e-5);
  EXPECT_LT(distance(fused.x, oracle.x), 1e-5);
  if (one.side > 0) {
    EXPECT_LT(distance(fused.side, oracle.side), 1e-5);
  }
  for (int64_t member = 0; member < one.spec.members; ++member) {
    for (const auto& layer : network.layout().layers) {
      const auto part = [&](const Gradients& pass, int64_t offset, int64_t count) {
        return pass.parameters.narrow(0, member * network.layout().size + offset, count);
      };
      const int64_t weights = layer.inputs * layer.outputs;
      EXPECT_LT(distance(part(fused, layer.weight, weights), part(oracle, layer.weight, weights)),
                1e-5);
      EXPECT_LT(
          distance(part(fused, layer.bias, layer.outputs), part(oracle, layer.bias, layer.outputs)),
          1e-5);
      if (layer.gain < 0) continue;
      EXPECT_LT(distance(part(fused, layer.gain, 2 * layer.outputs),
                         part(oracle, layer.gain, 2 * layer.outputs)),
                1e-5);
    }
  }
}

// If no parameter gradients are needed, the backward pass skips rows whose gradient is 0. Such rows
// occur if the loss uses the minimum over critics. A training pass does not skip rows.
TEST_P(FusedMlp, AFrozenPassGivesInputsTheGradientOfATrainingOne) {
  const auto& one = GetParam();
  ThreadPool pool(2);
  Rng rng(7);
  Mlp network(one.spec, rng, {&pool});
  shake(network);
  const int64_t members = one.spec.members;
  const auto weights = normal_noise({members, one.rows, one.spec.outputs}, 3) *
                       normal_noise({members, one.rows, 1}, 4).gt(0).to(torch::kFloat);
  const auto gradients = [&](Use use) {
    auto x = normal_noise({one.rows, one.spec.inputs - one.side}, 1).set_requires_grad(true);
    torch::Tensor side;
    if (one.side > 0) side = normal_noise({one.rows, one.side}, 2).set_requires_grad(true);
    (network.forward(x, side, {.use = use}) * weights).sum().backward();
    return one.side > 0 ? torch::cat({x.grad(), side.grad()}, 1) : x.grad();
  };
  const auto frozen = gradients(Use::frozen);
  EXPECT_FALSE(network.parameters().grad().defined());
  EXPECT_TRUE(torch::allclose(frozen, gradients(Use::train), 1e-5, 1e-6));
}

TEST_P(FusedMlp, GivesTheSameBitsWithAnyNumberOfThreads) {
  const auto& one = GetParam();
  std::vector<Gradients> passes;
  for (const int threads : {1, 2, 8}) {
    ThreadPool pool(threads);
    Rng rng(7);
    Mlp network(one.spec, rng, {&pool});
    passes.push_back(run(network, one, true));
  }
  for (size_t i = 1; i < passes.size(); ++i) {
    EXPECT_TRUE(torch::equal(passes[0].y, passes[i].y));
    EXPECT_TRUE(torch::equal(passes[0].parameters, passes[i].parameters));
    EXPECT_TRUE(torch::equal(passes[0].x, passes[i].x));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, FusedMlp, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

TEST_P(FusedMlp, AnInferencePassGivesTheSameBits) {
  Rng rng(5);
  Mlp network(GetParam().spec, rng, {});
  shake(network);
  const auto kept = run(network, GetParam(), /*fused=*/true);
  const torch::NoGradGuard no_grad;
  const auto x = normal_noise({GetParam().rows, GetParam().spec.inputs - GetParam().side}, 1);
  torch::Tensor side;
  if (GetParam().side > 0) side = normal_noise({GetParam().rows, GetParam().side}, 2);
  EXPECT_TRUE(torch::equal(network.forward(x, side), kept.y));
}

TEST_P(FusedMlp, TwoBackwardPassesAddUp) {
  Rng rng(6);
  Mlp network(GetParam().spec, rng, {});
  shake(network);
  const auto once = run(network, GetParam(), /*fused=*/true).parameters;
  network.parameters().mutable_grad() = once.clone();
  const auto twice = run(network, GetParam(), /*fused=*/true).parameters;
  EXPECT_LT(distance(twice, once * 2), 1e-6);
}

MlpSpec small_critic() {
  MlpSpec spec;
  spec.inputs = 5;
  spec.outputs = 1;
  spec.hidden_sizes = {16};
  spec.members = 2;
  return spec;
}

TEST(Mlp, FrozenPassesGradientsOnlyToTheInput) {
  Rng rng(1);
  const Mlp network(small_critic(), rng, {});
  const auto obs = normal_noise({8, 3}, 1);
  auto action = normal_noise({8, 2}, 2).set_requires_grad(true);
  network.forward(obs, action, {.use = Use::frozen}).sum().backward();
  EXPECT_FALSE(network.parameters().grad().defined());
  auto plain_action = action.detach().clone().set_requires_grad(true);
  plain(network, obs, plain_action, Use::frozen).sum().backward();
  EXPECT_LT(distance(action.grad(), plain_action.grad()), 1e-5);
}

// Returns |d sum(y) / d actions|^2, a gradient penalty. Its gradient needs second derivatives of y.
torch::Tensor gradient_penalty(const Mlp& network, const torch::Tensor& obs,
                               const torch::Tensor& actions) {
  const auto leaf = actions.detach().clone().set_requires_grad(true);
  const auto y = network.forward(obs, leaf, {.twice_differentiable = true});
  const auto gradient =
      torch::autograd::grad({y.sum()}, {leaf}, {}, /*retain_graph=*/true, /*create_graph=*/true);
  return gradient[0].square().sum();
}

TEST(Mlp, GradientsOfGradientsEqualFiniteDifferences) {
  for (const auto norm : {LayerNorm::none, LayerNorm::before_activation}) {
    auto spec = small_critic();
    spec.hidden_sizes = {16, 16};
    spec.activation = Activation::tanh;  // finite differences are inaccurate near the kinks of ReLU
    spec.layer_norm = norm;
    Rng rng(1);
    Mlp network(spec, rng, {});
    shake(network);
    const auto obs = normal_noise({8, 3}, 1), actions = normal_noise({8, 2}, 2);
    const auto& parameters = network.parameters();
    const auto gradient =
        torch::autograd::grad({gradient_penalty(network, obs, actions)}, {parameters})[0];
    const auto start = parameters.detach().clone();
    for (uint64_t direction = 10; direction < 14; ++direction) {
      const auto step = normal_noise({parameters.numel()}, direction);
      const auto penalty_at = [&](double size) {
        {
          const torch::NoGradGuard no_grad;
          parameters.copy_(start + size * step);
        }
        return gradient_penalty(network, obs, actions).item<double>();
      };
      constexpr double kStep = 1e-3;
      const double slope = (penalty_at(kStep) - penalty_at(-kStep)) / (2 * kStep);
      EXPECT_NEAR(torch::dot(gradient, step).item<double>(), slope, 0.01 * std::abs(slope) + 1e-3);
    }
  }
}

TEST(Mlp, FirstMembersAloneEqualThoseOfAll) {
  Rng rng(1);
  const Mlp network(small_critic(), rng, {});
  const auto x = normal_noise({8, 5}, 1);
  EXPECT_TRUE(torch::equal(network.forward(x, {}, {.members = 1})[0], network.forward(x)[0]));
  network.forward(x, {}, {.members = 1}).sum().backward();
  const int64_t size = network.layout().size;
  EXPECT_GT(network.parameters().grad().narrow(0, 0, size).abs().sum().item<float>(), 0);
  EXPECT_EQ(network.parameters().grad().narrow(0, size, size).abs().sum().item<float>(), 0);
}

TEST(Mlp, RefusesABackwardPassThroughChangedParameters) {
  Rng rng(1);
  Mlp network(small_critic(), rng, {});
  const Mlp other(network);
  const auto y = network.forward(normal_noise({8, 5}, 1)).sum();
  network.polyak_from(other, 0.5);
  EXPECT_THROW(y.backward(), c10::Error);
}

TEST(Mlp, CopyIsIndependent) {
  Rng rng(1);
  Mlp network(small_critic(), rng, {});
  const Mlp target(network);
  const auto x = normal_noise({4, 5}, 1);
  const auto before = target.forward(x).detach().clone();
  shake(network);
  EXPECT_TRUE(torch::equal(target.forward(x), before));
  EXPECT_FALSE(torch::equal(network.forward(x), before));
}

TEST(Mlp, PolyakMovesByTau) {
  Rng rng(1);
  Mlp target(small_critic(), rng, {});
  const Mlp source(small_critic(), rng, {});
  const auto expected = target.parameters().detach() +
                        0.25 * (source.parameters().detach() - target.parameters().detach());
  target.polyak_from(source, 0.25);
  EXPECT_LT(distance(target.parameters().detach(), expected), 1e-6);
  target.polyak_from(source, 1.0);
  EXPECT_LT(distance(target.parameters().detach(), source.parameters().detach()), 1e-6);
}

}  // namespace
}  // namespace rl_training::test_mlp
