#include <gtest/gtest.h>

#include "rl_training/algorithms/decision_transformer.h"
#include "rl_training/runtime/schedule.h"
#include "tests/support/memory_state.h"
#include "tests/support/metric_values.h"

namespace rl_training::test_decision_transformer {
namespace {

constexpr int64_t kObs = 3, kActions = 2;

std::span<float> floats(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

DecisionTransformerOptions small_options() {
  DecisionTransformerOptions options;
  options.batch_size = 6;
  options.context_length = 4;
  options.max_episode_length = 12;
  options.embed_dim = 8;
  options.num_layers = 1;
  options.target_return = 3600;
  options.return_scale = 1000;
  return options;
}

AlgorithmContext small_context() {
  AlgorithmContext context;
  context.obs = Space::unbounded(kObs);
  context.action = Space::unit_box(kActions);
  return context;
}

Batch random_batch(uint64_t seed, const DecisionTransformerOptions& options = small_options()) {
  Batch batch(options.request(), Space::unbounded(kObs), Space::unit_box(kActions));
  Rng rng(seed);
  rng.fill_normal(floats(batch.obs()));
  rng.fill_uniform(floats(batch.actions()), -1, 1);
  rng.fill_uniform(floats(batch.returns_to_go()), 0, 3600);
  batch.mask().fill_(1.0f);
  for (int64_t row = 0; row < batch.rows(); ++row) {
    for (int64_t step = 0; step < options.context_length; ++step) {
      batch.timesteps()[row][step] = row + step;
    }
  }
  return batch;
}

torch::Tensor obs_rows(uint64_t seed, int64_t rows) {
  auto obs = torch::empty({rows, kObs});
  Rng(seed).fill_normal(floats(obs));
  return obs;
}

// The squared errors are (0.4, 0.2, 9), and the mask is (1, 1, 0). The loss is the mean over the
// unmasked steps, 0.3.
TEST(DecisionTransformerLoss, PaddingIsLeftOutOfTheMean) {
  const auto errors = torch::tensor({0.4f, 0.2f, 9.0f}).view({1, 3, 1});
  const auto loss = masked_squared_error(errors.sqrt(), torch::zeros({1, 3, 1}),
                                         torch::tensor({{1.0f, 1.0f, 0.0f}}));
  EXPECT_NEAR(loss.item<double>(), 0.3, 1e-6);
}

TEST(DecisionTransformerLoss, WhatPaddingHoldsDoesNotMatter) {
  auto spec = TransformerSpec();
  spec.obs_dim = kObs;
  spec.action_dim = kActions;
  spec.embed_dim = 8;
  spec.max_steps = 12;
  Rng rng(0);
  const Transformer network(spec, rng, {});
  const auto loss_of = [&](float filling) {
    const auto batch = random_batch(1);
    batch.mask()[0][3] = 0.0f;
    batch.obs()[0][3] = filling;
    batch.actions()[0][3] = filling;
    batch.returns_to_go()[0][3] = filling;
    return decision_transformer_loss(network, batch, 1000.0, nullptr).loss.item<float>();
  };
  EXPECT_EQ(loss_of(0.0f), loss_of(0.7f));
}

TEST(DecisionTransformer, AsksForWindowsOfRawReturns) {
  const auto request = small_options().request();
  EXPECT_EQ(request.window, 4);
  EXPECT_EQ(request.max_steps, 12);
  EXPECT_EQ(request.returns.gamma, 1.0);
  EXPECT_TRUE(request.raw_rewards);
}

TEST(DecisionTransformer, LearnsTheActionsOfItsBatch) {
  auto options = small_options();
  options.learning_rate = 1e-2;
  options.dropout = 0.0;
  DecisionTransformer algorithm(options, small_context());
  const auto batch = random_batch(1);
  double loss = 0;
  for (int i = 0; i < 200; ++i) {
    const auto metrics = algorithm.update(batch, 1.0);
    loss = metric(metrics, "actor_loss");
    EXPECT_GT(metric(metrics, "gradient_norm"), 0.0);
  }
  EXPECT_LT(loss, 0.02);
}

// The published learning rate at update k is min((k + 1) / 10000, 1) times 1e-4, which is 1e-8 at
// the first update. The shared schedule with `warmup_steps` has the same values.
TEST(DecisionTransformer, WarmsUpByTheSharedSchedule) {
  ScheduleSpec schedule;
  schedule.warmup_steps = 10000;
  const double rate = DecisionTransformerOptions().learning_rate;
  EXPECT_DOUBLE_EQ(rate * resolve_schedule_value(schedule, 0, 100000), 1e-8);
  EXPECT_DOUBLE_EQ(rate * resolve_schedule_value(schedule, 9999, 100000), 1e-4);
}

template <class T>
T state_value(PolicyState& state, const std::string& name, size_t index) {
  MemoryState saved;
  saved.save(state);
  T value;
  std::memcpy(&value, saved.parts().at(name).data() + index * sizeof(T), sizeof(T));
  return value;
}

TEST(DecisionTransformerPolicy, TheReturnToGoFollowsTheRewards) {
  DecisionTransformer algorithm(small_options(), small_context());
  const auto state = algorithm.make_policy_state(2);
  EXPECT_DOUBLE_EQ(state_value<double>(*state, "return_to_go", 1), 3.6);
  algorithm.act(obs_rows(1, 2), *state, ActMode::greedy);
  state->observe_reward(1, 5.0);
  EXPECT_DOUBLE_EQ(state_value<double>(*state, "return_to_go", 1), 3.595);
  EXPECT_DOUBLE_EQ(state_value<double>(*state, "return_to_go", 0), 3.6);
  state->begin_episode(1);
  EXPECT_DOUBLE_EQ(state_value<double>(*state, "return_to_go", 1), 3.6);
}

// An action equals the prediction of a forward pass over the last `context_length` steps. The
// inputs are the returns-to-go, observations, actions and absolute times of those steps, with 0 in
// place of the requested action.
TEST(DecisionTransformerPolicy, ActsOnTheLastStepsOfTheEpisode) {
  const auto options = small_options();
  DecisionTransformer algorithm(options, small_context());
  for (int i = 0; i < 20; ++i) algorithm.update(random_batch(1), 1.0);
  MemoryState trained;
  trained.save(algorithm);
  TransformerSpec spec;
  spec.obs_dim = kObs;
  spec.action_dim = kActions;
  spec.embed_dim = 8;
  spec.layers = 1;
  spec.max_steps = 12;
  Rng rng(0);
  struct Holder {
    Transformer network;
    void visit_state(StateVisitor& state) { state.part("network", network); }
  } holder{Transformer(spec, rng, {})};
  trained.restore(holder);

  const auto state = algorithm.make_policy_state(1);
  std::vector<torch::Tensor> obs, actions;
  std::vector<float> to_go;
  double left = 3.6;
  const torch::NoGradGuard no_grad;
  for (int64_t t = 0; t < 9; ++t) {
    obs.push_back(obs_rows(static_cast<uint64_t>(t), 1));
    to_go.push_back(static_cast<float>(left));
    actions.push_back(torch::zeros({1, kActions}));
    const int64_t first = std::max<int64_t>(0, t + 1 - options.context_length);
    const auto from = [&](const auto& list) {
      return std::vector<torch::Tensor>(list.begin() + first, list.end());
    };
    const std::vector<float> returns(to_go.begin() + first, to_go.end());
    const auto expected =
        holder.network
            .forward({torch::tensor(returns).unsqueeze(0), torch::cat(from(obs)).unsqueeze(0),
                      torch::cat(from(actions)).unsqueeze(0),
                      torch::arange(first, t + 1).unsqueeze(0)})
            .select(1, -1);
    actions.back() = algorithm.act(obs.back(), *state, ActMode::greedy);
    EXPECT_LT((actions.back() - expected).abs().max().item<float>(), 1e-6f) << t;
    state->observe_reward(0, 100.0);
    left -= 0.1;
  }
}

// Each row is a separate episode. Rows whose episodes started at different times do not affect each
// other.
TEST(DecisionTransformerPolicy, RowsAreEpisodesOfTheirOwn) {
  DecisionTransformer algorithm(small_options(), small_context());
  for (int i = 0; i < 20; ++i) algorithm.update(random_batch(1), 1.0);
  const auto both = algorithm.make_policy_state(2), alone = algorithm.make_policy_state(1);
  for (uint64_t t = 0; t < 7; ++t) {
    if (t == 3) both->begin_episode(1);
    const auto obs = obs_rows(t, 2);
    const auto actions = algorithm.act(obs, *both, ActMode::greedy);
    both->observe_reward(1, -40.0);
    if (t < 3) continue;
    const auto same = algorithm.act(obs.narrow(0, 1, 1), *alone, ActMode::greedy);
    alone->observe_reward(0, -40.0);
    EXPECT_LT((actions[1] - same[0]).abs().max().item<float>(), 1e-6f) << t;
  }
}

TEST(DecisionTransformerPolicy, ItsStateIsComplete) {
  DecisionTransformer algorithm(small_options(), small_context());
  for (int i = 0; i < 20; ++i) algorithm.update(random_batch(1), 1.0);
  const auto state = algorithm.make_policy_state(1), other = algorithm.make_policy_state(1);
  for (uint64_t t = 0; t < 6; ++t) {
    algorithm.act(obs_rows(t, 1), *state, ActMode::greedy);
    state->observe_reward(0, static_cast<double>(t));
  }
  MemoryState saved;
  saved.save(*state);
  saved.restore(*other);
  EXPECT_TRUE(torch::equal(algorithm.act(obs_rows(9, 1), *state, ActMode::greedy),
                           algorithm.act(obs_rows(9, 1), *other, ActMode::greedy)));
}

// Tests an episode that is shorter than the context and one that is longer.
TEST(DecisionTransformerPolicy, RemembersTheActionThatWasTakenInstead) {
  DecisionTransformer algorithm(small_options(), small_context());
  for (int i = 0; i < 20; ++i) algorithm.update(random_batch(1), 1.0);
  for (const uint64_t steps : {1, 9}) {
    const auto after = [&](bool told, float change) {
      const auto state = algorithm.make_policy_state(1);
      for (uint64_t t = 0; t < steps; ++t) {
        const auto chosen = algorithm.act(obs_rows(t, 1), *state, ActMode::greedy);
        if (told) state->observe_action(0, (chosen[0] + change).contiguous());
      }
      return algorithm.act(obs_rows(50, 1), *state, ActMode::greedy);
    };
    EXPECT_TRUE(torch::equal(after(true, 0.0f), after(false, 0.0f))) << steps;
    EXPECT_FALSE(torch::equal(after(true, 0.5f), after(false, 0.0f))) << steps;
  }
}

TEST(DecisionTransformerPolicy, EpisodesBeyondTheTableAreRefused) {
  DecisionTransformer algorithm(small_options(), small_context());
  const auto state = algorithm.make_policy_state(1);
  for (int t = 0; t < 12; ++t) algorithm.act(obs_rows(1, 1), *state, ActMode::greedy);
  try {
    algorithm.act(obs_rows(1, 1), *state, ActMode::greedy);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.place().key, "max_episode_length");
    EXPECT_NE(std::string(error.what()).find("at most 12 steps"), std::string::npos);
  }
}

// With a context of one step, the action depends only on the current return-to-go, observation and
// time.
TEST(DecisionTransformerPolicy, OneStepOfContextWorks) {
  auto options = small_options();
  options.context_length = 1;
  DecisionTransformer algorithm(options, small_context());
  for (int i = 0; i < 3; ++i) algorithm.update(random_batch(1, options), 1.0);
  const auto state = algorithm.make_policy_state(2);
  for (uint64_t t = 0; t < 3; ++t) {
    const auto actions = algorithm.act(obs_rows(t, 2), *state, ActMode::greedy);
    EXPECT_EQ(actions.sizes(), (torch::IntArrayRef{2, kActions}));
  }
}

std::string refused_key(const DecisionTransformerOptions& options) {
  try {
    options.check();
  } catch (const Error& error) {
    return error.place().key;
  }
  return "";
}

TEST(DecisionTransformerOptions, RulesBetweenKeys) {
  auto options = small_options();
  EXPECT_EQ(refused_key(options), "");
  options.num_heads = 3;
  EXPECT_EQ(refused_key(options), "num_heads");
  options = small_options();
  options.target_return.reset();
  EXPECT_EQ(refused_key(options), "target_return");
}

TEST(DecisionTransformerOptions, DefaultsAreThePublishedOnes) {
  const DecisionTransformerOptions options;
  EXPECT_EQ(options.context_length, 20);
  EXPECT_EQ(options.embed_dim, 128);
  EXPECT_EQ(options.num_layers, 3);
  EXPECT_EQ(options.num_heads, 1);
  EXPECT_EQ(options.dropout, 0.1);
  EXPECT_EQ(options.batch_size, 64);
  EXPECT_EQ(options.learning_rate, 1e-4);
  EXPECT_EQ(options.weight_decay, 1e-4);
  EXPECT_EQ(options.gradient_clip_norm, 0.25);
  EXPECT_EQ(options.return_scale, 1000.0);
}

}  // namespace
}  // namespace rl_training::test_decision_transformer
