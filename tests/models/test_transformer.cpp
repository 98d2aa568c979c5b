#include <gtest/gtest.h>

#include "rl_training/models/backward.h"
#include "rl_training/models/transformer.h"
#include "tests/support/memory_state.h"

namespace rl_training::test_transformer {
namespace {

constexpr int64_t kRows = 3, kSteps = 5;

TransformerSpec small_spec() {
  TransformerSpec spec;
  spec.obs_dim = 4;
  spec.action_dim = 2;
  spec.embed_dim = 8;
  spec.layers = 2;
  spec.heads = 2;
  spec.max_steps = 30;
  return spec;
}

Transformer small_network(uint64_t seed = 1) {
  Rng rng(seed);
  Transformer network(small_spec(), rng, {});
  // Replaces the initial weights with larger ones. The initial standard deviation of 0.02 would
  // hide most effects.
  const torch::NoGradGuard no_grad;
  auto parameters = network.parameters();
  rng.fill_normal({parameters.data_ptr<float>(), static_cast<size_t>(parameters.numel())});
  parameters.mul_(0.5);
  return network;
}

torch::Tensor normal(uint64_t seed, torch::IntArrayRef shape) {
  auto values = torch::empty(shape);
  Rng(seed).fill_normal({values.data_ptr<float>(), static_cast<size_t>(values.numel())});
  return values;
}

Trajectories example(int64_t steps = kSteps) {
  return {normal(1, {kRows, steps}), normal(2, {kRows, steps, 4}), normal(3, {kRows, steps, 2}),
          torch::arange(steps).expand({kRows, steps}).contiguous()};
}

// The model of the CORL repository for Hopper: 11-dimensional observations, 3-dimensional actions,
// and embeddings of 1000 + 20 time steps.
TEST(Transformer, HasThePublishedNumberOfParameters) {
  TransformerSpec spec;
  spec.obs_dim = 11;
  spec.action_dim = 3;
  spec.max_steps = 1020;
  Rng rng(0);
  EXPECT_EQ(Transformer(spec, rng, {}).parameters().numel(), 728579);
}

TEST(Transformer, StartsFromSmallNormalWeights) {
  TransformerSpec spec;
  spec.obs_dim = 11;
  spec.action_dim = 3;
  Rng rng(0);
  Transformer network(spec, rng, {});
  MemoryState state;
  state.save(network);
  const auto values = [&](const char* name) {
    const auto& bytes = state.parts().at(name);
    return torch::from_blob(const_cast<char*>(bytes.data()),
                            {static_cast<int64_t>(bytes.size() / sizeof(float))})
        .clone();
  };
  EXPECT_NEAR(values("timesteps").std().item<double>(), 0.02, 2e-4);
  EXPECT_NEAR(values("block1.mlp_in.weight").std().item<double>(), 0.02, 2e-4);
  EXPECT_EQ(values("block1.mlp_in.bias").abs().max().item<float>(), 0.0f);
  EXPECT_EQ(values("last_norm.gain").min().item<float>(), 1.0f);
}

// The output for a step depends on earlier steps and on the step's own return, observation and
// time. It depends neither on the step's own action nor on later steps.
TEST(Transformer, NoStepSeesItsActionOrLaterSteps) {
  const auto network = small_network();
  const torch::NoGradGuard no_grad;
  const auto before = network.forward(example());
  for (int64_t t = 0; t < kSteps; ++t) {
    const auto unchanged = [&](const Trajectories& changed, int64_t last) {
      const auto after = network.forward(changed);
      EXPECT_TRUE(torch::equal(after.narrow(1, 0, last), before.narrow(1, 0, last))) << t;
      if (last < kSteps) {
        EXPECT_FALSE(torch::equal(after.narrow(1, last, 1), before.narrow(1, last, 1))) << t;
      }
    };
    auto action = example(), obs = example(), to_go = example(), time = example();
    action.actions.select(1, t).add_(1.0);
    unchanged(action, t + 1);  // only later steps see the action
    obs.obs.select(1, t).add_(1.0);
    unchanged(obs, t);
    to_go.returns.select(1, t).add_(1.0);
    unchanged(to_go, t);
    time.timesteps.select(1, t).fill_(20);
    unchanged(time, t);
  }
}

// The output for a segment depends neither on later steps nor on other rows.
TEST(Transformer, PaddingAndOtherRowsDoNotMatter) {
  const auto network = small_network();
  const torch::NoGradGuard no_grad;
  const auto whole = network.forward(example());
  const auto input = example();
  const Trajectories part = {input.returns.narrow(0, 1, 1).narrow(1, 0, 2),
                             input.obs.narrow(0, 1, 1).narrow(1, 0, 2),
                             input.actions.narrow(0, 1, 1).narrow(1, 0, 2),
                             input.timesteps.narrow(0, 1, 1).narrow(1, 0, 2)};
  const auto alone = network.forward(part);
  EXPECT_LT((alone[0] - whole[1].narrow(0, 0, 2)).abs().max().item<float>(), 1e-5f);
}

TEST(Transformer, WorksOnSingleSteps) {
  const auto network = small_network();
  const auto y = network.forward(example(1));
  EXPECT_EQ(y.sizes(), (torch::IntArrayRef{kRows, 1, 2}));
  EXPECT_LE(y.abs().max().item<float>(), 1.0f);
}

TEST(Transformer, GradientsEqualFiniteDifferences) {
  const auto network = small_network();
  const auto weights = normal(9, {kRows, kSteps, 2});
  const auto loss = [&] { return (network.forward(example()) * weights).sum(); };
  loss().backward();
  const auto gradient = network.parameters().grad().clone();
  const torch::NoGradGuard no_grad;
  auto parameters = network.parameters();
  Rng rng(4);
  for (int i = 0; i < 60; ++i) {
    const auto at = static_cast<int64_t>(rng.below(static_cast<uint64_t>(parameters.numel())));
    constexpr float kStep = 2e-2f;
    const float before = parameters[at].item<float>();
    parameters[at] = before + kStep;
    const double up = loss().item<double>();
    parameters[at] = before - kStep;
    const double down = loss().item<double>();
    parameters[at] = before;
    EXPECT_NEAR(gradient[at].item<double>(), (up - down) / (2.0 * kStep), 3e-2) << at;
  }
}

TEST(Transformer, DropoutIsDrawnFromTheGivenStream) {
  const auto network = small_network();
  const torch::NoGradGuard no_grad;
  Rng first(1), same(1), other(2);
  const auto eval = network.forward(example());
  EXPECT_TRUE(torch::equal(network.forward(example()), eval));
  const auto dropped = network.forward(example(), &first);
  EXPECT_TRUE(torch::equal(network.forward(example(), &same), dropped));
  EXPECT_FALSE(torch::equal(network.forward(example(), &other), dropped));
  EXPECT_FALSE(torch::equal(dropped, eval));
  EXPECT_EQ(first.next(), same.next());
}

TEST(Transformer, ItsStateIsComplete) {
  auto network = small_network(1), other = small_network(2);
  MemoryState saved;
  saved.save(network);
  saved.restore(other);
  EXPECT_TRUE(torch::equal(network.parameters(), other.parameters()));
}

TEST(Transformer, TheNumberOfThreadsChangesNoBit) {
  torch::Tensor first;
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    auto spec = small_spec();
    spec.embed_dim = 64;
    Rng rng(1), dropout(2);
    const Transformer network(spec, rng, {&pool});
    const SingleThreadedTensors serial;
    run_backward(network.forward(example(20), &dropout).square().sum());
    if (threads == 1) first = network.parameters().grad().clone();
    EXPECT_TRUE(torch::equal(network.parameters().grad(), first));
  }
}

}  // namespace
}  // namespace rl_training::test_transformer
