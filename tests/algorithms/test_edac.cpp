#include "rl_training/algorithms/edac.h"
#include "tests/algorithms/soft_example.h"

namespace rl_training::test_edac {
namespace {

// Critics with two-dimensional actions. The one-dimensional observation is 0, so it has no effect.
struct Slopes {
  CriticEnsemble critics;
  Batch batch = zero_batch(1, 1, 2);

  Slopes(int64_t count, const std::vector<int64_t>& hidden, const std::vector<float>& values)
      : critics(make(count, hidden)) {
    set_parameters(critics.network(), values);
    batch.actions().copy_(torch::tensor({{0.4f, 0.6f}}));
  }
  static CriticEnsemble make(int64_t count, const std::vector<int64_t>& hidden) {
    Rng rng(0);
    return CriticEnsemble(1, 2, {.count = count, .hidden_sizes = hidden}, rng, {});
  }
  torch::Tensor loss() const {
    return edac_diversity(critics, InputSlopes(critics, {}), batch).loss;
  }
  double diversity() const { return loss().item<double>(); }
  torch::Tensor gradient() const { return gradient_at(critics.network().parameters(), loss()); }
};

// Q_i = w_i a with w = (1, 0), (0, 1) and (1, 1).
TEST(EdacDiversity, GoldenOfLinearCritics) {
  const Slopes f(3, {}, {0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0});
  EXPECT_NEAR(f.diversity(), 1.414214, 1e-5);
  const auto gradient = f.gradient().view({3, 4});
  EXPECT_NEAR(gradient[0][1].item<double>(), 0, 1e-5);
  EXPECT_NEAR(gradient[0][2].item<double>(), 1.707107, 1e-5);
  EXPECT_NEAR(gradient[2].abs().max().item<double>(), 0, 1e-5);
}

// Q = relu(a W) w. The first critic has W = [[1, .5], [-.5, 1]] and w = (1, 2). The second critic
// has W = [[.5, -1], [1, 1]] and w = (-1, .5).
TEST(EdacDiversity, GoldenOfAHiddenLayer) {
  const Slopes f(2, {2}, {0, 0, 1,    .5f, -.5f, 1, 0, 0, 1,  2,   0,  //
                          0, 0, 0.5f, -1,  1,    1, 0, 0, -1, .5f, 0});
  const auto q = f.critics.values(f.batch.obs(), f.batch.actions());
  EXPECT_NEAR(q[0][0].item<double>(), 1.7, 1e-6);
  EXPECT_NEAR(q[1][0].item<double>(), -0.7, 1e-6);
  EXPECT_NEAR(f.diversity(), -1.967740, 1e-5);
  const auto gradient = f.gradient().view({2, 11});
  const double expected[2][2] = {{-0.143108, 0.071554}, {0.214663, 0.429325}};
  for (int critic = 0; critic < 2; ++critic) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_NEAR(gradient[critic][8 + i].item<double>(), expected[critic][i], 1e-5);
    }
  }
}

TEST(EdacDiversity, AlikeCriticsCountAndTheirSizeDoesNot) {
  const std::vector<float> one = {0, 3, -4, 1};
  std::vector<float> all;
  for (int i = 0; i < 5; ++i) all.insert(all.end(), one.begin(), one.end());
  EXPECT_NEAR(Slopes(5, {}, all).diversity(), 5, 1e-5);
  EXPECT_NEAR(Slopes(2, {}, {0, 1, 0, 0, 0, 0, 7, 0}).diversity(), 0, 1e-6);
  const double twice_cosine = 2 * (1 * 3 + 2 * 4) / (std::sqrt(5.0) * 5);
  EXPECT_NEAR(Slopes(2, {}, {0, 1, 2, 0, 0, 3, 4, 0}).diversity(), twice_cosine, 1e-5);
  EXPECT_NEAR(Slopes(2, {}, {0, 1, 2, 0, 0, 300, 400, 9}).diversity(), twice_cosine, 1e-5);
}

// Computes the diversity in double precision directly from the formulas. The gradients through two
// hidden layers come from the chain rule, and every pair of critics is treated separately.
double diversity_of(const torch::Tensor& parameters, const Mlp& shape, const Batch& batch) {
  const auto x =
      torch::cat(std::vector<torch::Tensor>{batch.obs(), batch.actions()}, 1).to(torch::kDouble);
  const int64_t members = shape.members(), actions = batch.actions().size(1);
  std::vector<torch::Tensor> units;
  for (int64_t i = 0; i < members; ++i) {
    const auto own = parameters.narrow(0, i * shape.layout().size, shape.layout().size);
    const auto weight = [&](size_t n) {
      const auto& layer = shape.layout().layers[n];
      return own.narrow(0, layer.weight, layer.inputs * layer.outputs)
          .view({layer.inputs, layer.outputs});
    };
    const auto bias = [&](size_t n) {
      const auto& layer = shape.layout().layers[n];
      return own.narrow(0, layer.bias, layer.outputs);
    };
    const auto first = x.mm(weight(0)) + bias(0), second = first.relu().mm(weight(1)) + bias(1);
    auto slope = weight(2).t() * (second > 0);
    slope = slope.mm(weight(1).t()) * (first > 0);
    slope = slope.mm(weight(0).t()).narrow(1, x.size(1) - actions, actions);
    units.push_back(slope / slope.norm(2, 1, true));
  }
  double sum = 0;
  for (int64_t i = 0; i < members; ++i) {
    for (int64_t j = 0; j < members; ++j) {
      if (i != j) sum += (units[i] * units[j]).sum(1).mean().item<double>();
    }
  }
  return sum / static_cast<double>(members - 1);
}

TEST(EdacDiversity, GradientEqualsFiniteDifferences) {
  Rng rng(5);
  const CriticEnsemble critics(3, 2, {.count = 3, .hidden_sizes = {7, 6}}, rng, {});
  const auto batch = random_batch(0);
  const auto& network = dynamic_cast<const Mlp&>(critics.network());
  const auto loss = edac_diversity(critics, InputSlopes(critics, {}), batch).loss;
  const auto values = network.parameters().detach().to(torch::kDouble);
  EXPECT_NEAR(loss.item<double>(), diversity_of(values, network, batch), 1e-5);
  const auto gradient = gradient_at(network.parameters(), loss);
  EXPECT_GT(gradient.norm().item<double>(), 0.1);
  constexpr double kStep = 1e-6;
  for (int64_t i = 0; i < values.numel(); i += 5) {
    auto moved = values.clone();
    moved[i] += kStep;
    const double above = diversity_of(moved, network, batch);
    moved[i] -= 2 * kStep;
    const double slope = (above - diversity_of(moved, network, batch)) / (2 * kStep);
    EXPECT_NEAR(gradient[i].item<double>(), slope, 1e-4) << i;
  }
}

EdacOptions small_options(double eta) {
  EdacOptions options;
  options.hidden_sizes = {16};
  options.num_critics = 4;
  options.eta = eta;
  return options;
}

TEST(Edac, WithoutDiversityItIsSacN) {
  Edac edac(small_options(0), small_context());
  SacN sac_n(small_options(0), small_context());
  for (int i = 0; i < 6; ++i) {
    const auto batch = random_batch(i);
    const auto got = edac.update(batch, 1.0), expected = sac_n.update(batch, 1.0);
    for (const auto& [name, value] : expected.values()) {
      EXPECT_EQ(find_metric(got, name).item<float>(), value.item<float>()) << name;
    }
  }
}

TEST(Edac, DrivesTheSlopesApart) {
  const auto after = [](double eta) {
    Edac algorithm(small_options(eta), small_context());
    Metrics metrics;
    for (int i = 0; i < 60; ++i) metrics = algorithm.update(random_batch(0), 1.0);
    return metric(metrics, "diversity_loss");
  };
  EXPECT_LT(after(10), after(0) - 0.5);
}

}  // namespace
}  // namespace rl_training::test_edac
