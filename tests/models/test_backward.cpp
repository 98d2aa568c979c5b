#include <gtest/gtest.h>

#include "rl_training/models/backward.h"
#include "rl_training/models/losses.h"
#include "rl_training/models/mlp.h"

namespace rl_training::test_backward {
namespace {

torch::Tensor leaf(uint64_t seed, torch::IntArrayRef shape) {
  auto values = torch::empty(shape);
  Rng(seed).fill_normal({values.data_ptr<float>(), static_cast<size_t>(values.numel())});
  return values.set_requires_grad(true);
}

// Runs torch's backward pass and run_backward() on two copies of a graph. All gradients must be
// equal bit for bit.
template <class Build>
void expect_same_gradients(const std::vector<torch::Tensor>& leaves, const Build& build) {
  std::vector<torch::Tensor> expected;
  build().backward();
  for (const auto& each : leaves) {
    expected.push_back(each.grad().clone());
    each.mutable_grad() = torch::Tensor();
  }
  run_backward(build());
  for (size_t i = 0; i < leaves.size(); ++i) {
    ASSERT_TRUE(leaves[i].grad().defined()) << i;
    EXPECT_TRUE(torch::equal(leaves[i].grad(), expected[i])) << i;
  }
}

TEST(Backward, EqualsTheEngineOnSharedAndBroadcastNodes) {
  const auto x = leaf(1, {5, 3}), row = leaf(2, {3}), number = leaf(3, {});
  expect_same_gradients({x, row, number}, [&] {
    const auto shared = (x * row + number).tanh();  // row and number are broadcast
    const auto parts = shared.split(2);             // a node with several outputs
    return (parts[0].square().sum() + shared.amin(1).mean() * number + parts[2].sum()) * 3.0;
  });
}

TEST(Backward, EqualsTheEngineThroughOurNodes) {
  MlpSpec spec;
  spec.inputs = 4;
  spec.outputs = 2;
  spec.hidden_sizes = {8, 8};
  spec.members = 3;
  Rng rng(4);
  const Mlp network(spec, rng, {});
  const auto x = leaf(5, {7, 4});
  expect_same_gradients({x, network.parameters()}, [&] {
    const auto y = network.forward(x);
    return y.square().mean() + squared_error(y.select(2, 0), torch::zeros({7}));
  });
}

// Only torch's engine runs hooks, so a hook shows which backward pass was used.
TEST(Backward, LeavesGraphsOfManyNodesToTheEngine) {
  const auto x = leaf(8, {3});
  for (const bool many : {false, true}) {
    const auto build = [&] {
      auto y = x.tanh();
      for (int i = 0; i < (many ? 100 : 10); ++i) y = y * 0.9 + x;
      return y.sum();
    };
    x.mutable_grad() = torch::Tensor();
    expect_same_gradients({x}, build);
    int calls = 0;
    auto first = x * 2.0;
    first.register_hook([&](const torch::Tensor&) { ++calls; });
    for (int i = 0; i < (many ? 100 : 10); ++i) first = first * 0.9;
    run_backward(first.sum());
    EXPECT_EQ(calls, many ? 1 : 0);
  }
}

TEST(Backward, AddsToAGradientThatIsThere) {
  const auto x = leaf(6, {3});
  run_backward(x.sum());
  run_backward(x.sum() * 2.0);
  EXPECT_TRUE(torch::equal(x.grad(), torch::full({3}, 3.0f)));
}

TEST(Backward, NeedsAScalarWithAGraph) {
  EXPECT_THROW(run_backward(torch::zeros({})), c10::Error);
  EXPECT_THROW(run_backward(leaf(7, {3}) * 2.0), c10::Error);
}

}  // namespace
}  // namespace rl_training::test_backward
