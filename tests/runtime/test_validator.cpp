#include <gtest/gtest.h>

#include "rl_training/data/dataset_builder.h"
#include "rl_training/runtime/validator.h"

namespace rl_training::test_validator {
namespace {

using Events = std::vector<std::string>;

// An algorithm with pi(s) = s / 10 and Q(s, a) = s + 10 a. Its PolicyState records all calls.
class LinearExample : public Algorithm {
 public:
  struct Ears : PolicyState {
    explicit Ears(Events* heard) : events(heard) {}
    void begin_episode(int64_t) override { events->push_back("begin"); }
    void observe_reward(int64_t, double reward) override {
      events->push_back("reward " + std::to_string(static_cast<int>(reward)));
    }
    void observe_action(int64_t, const torch::Tensor& action) override {
      events->push_back("action " + std::to_string(action.item<float>()).substr(0, 4));
    }
    Events* events;
  };

  Metrics update(const Batch&, double) override { return {}; }
  torch::Tensor act(const torch::Tensor& obs, PolicyState&, ActMode) override {
    seen.push_back(obs.data_ptr<float>()[0]);
    return obs / 10;
  }
  std::unique_ptr<PolicyState> make_policy_state(int64_t) const override {
    return std::make_unique<Ears>(&events);
  }
  torch::Tensor values(const torch::Tensor& obs, const torch::Tensor& actions) const override {
    return has_values ? obs.squeeze(1) + 10 * actions.squeeze(1) : torch::Tensor();
  }
  void visit_state(StateVisitor&) override {}

  bool has_values = true;
  std::vector<float> seen;
  mutable Events events;
};

// Two episodes: 1 -> 2 -> 3, which terminates, and 4 -> 5, which is truncated.
std::shared_ptr<const TransitionDataset> example_data() {
  DatasetBuilder builder(1, 1);
  builder.begin_episode(std::array{1.0f});
  builder.add(std::array{0.5f}, 1, std::array{2.0f}, false, false);
  builder.add(std::array{-0.5f}, 2, std::array{3.0f}, true, false);
  builder.begin_episode(std::array{4.0f});
  builder.add(std::array{0.0f}, 3, std::array{5.0f}, false, true);
  return std::make_shared<const TransitionDataset>(std::move(builder).build());
}

TEST(Validator, MeasuresWhatItSays) {
  LinearExample algorithm;
  const auto found = Validator(example_data(), {.gamma = 0.5}).run(algorithm, ObsNormalizer(1));
  // The TD errors are 1 + 0.5 * 4 - 6, then 2 - (-3) at the terminal step, and 3 + 0.5 * 10 - 4.
  EXPECT_NEAR(*found.td_error, (9.0 + 25.0 + 16.0) / 3, 1e-4);
  EXPECT_NEAR(*found.action_error, (0.16 + 0.49 + 0.16) / 3, 1e-5);
  EXPECT_NEAR(*found.initial_value, (2.0 + 8.0) / 2, 1e-5);
  EXPECT_NEAR(*found.advantage, (-4.0 + 7.0 + 4.0) / 3, 1e-5);
}

TEST(Validator, AlgorithmsWithoutValuesHaveTheActionErrorAlone) {
  LinearExample algorithm;
  algorithm.has_values = false;
  const auto found = Validator(example_data(), {}).run(algorithm, ObsNormalizer(1));
  EXPECT_NEAR(*found.action_error, 0.27, 1e-5);
  EXPECT_FALSE(found.td_error || found.initial_value || found.advantage);
}

TEST(Validator, ObservationsAreNormalised) {
  LinearExample algorithm;
  const auto data = example_data();
  const auto normalizer = ObsNormalizer::fit(*data);
  Validator(data, {}).run(algorithm, normalizer);
  EXPECT_EQ(algorithm.seen.front(), (1.0f - normalizer.mean()[0]) / normalizer.scale()[0]);
}

TEST(Validator, LargeDatasetsAreSpreadOut) {
  LinearExample algorithm;
  // With max_rows = 2, rows 0 and 1 and both initial observations are used.
  const auto found =
      Validator(example_data(), {.gamma = 0.5, .max_rows = 2}).run(algorithm, ObsNormalizer(1));
  EXPECT_NEAR(*found.td_error, (9.0 + 25.0) / 2, 1e-4);
  EXPECT_NEAR(*found.initial_value, 5.0, 1e-5);
}

TEST(Validator, APolicyThatRemembersIsToldTheLoggedHistory) {
  LinearExample algorithm;
  const auto found =
      Validator(example_data(), {.gamma = 0.5, .remembers = true}).run(algorithm, ObsNormalizer(1));
  EXPECT_NEAR(*found.action_error, 0.27, 1e-5);
  EXPECT_EQ(algorithm.events, (Events{"begin", "action 0.50", "reward 1", "action -0.5", "reward 2",
                                      "begin", "action 0.00", "reward 3"}));
}

TEST(Validator, OfChoicesTheShareThatDiffersCounts) {
  struct Always : LinearExample {
    torch::Tensor act(const torch::Tensor& obs, PolicyState&, ActMode) override {
      return torch::full({obs.size(0)}, 2, torch::kLong);
    }
  } algorithm;
  algorithm.has_values = false;
  DatasetBuilder builder(Space::unbounded(1), Space::discrete(3));
  builder.begin_episode(std::array{0.0f});
  for (const int64_t choice : {0, 2, 2, 1}) {
    builder.add(std::array{choice}, 0, std::array{0.0f}, false, false);
  }
  const auto data = std::make_shared<const TransitionDataset>(std::move(builder).build());
  EXPECT_EQ(*Validator(data, {}).run(algorithm, ObsNormalizer(1)).action_error, 0.5);
}

}  // namespace
}  // namespace rl_training::test_validator
