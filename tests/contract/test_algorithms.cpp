// What every algorithm promises, run over the whole table of algorithms.
#include <set>

#include "rl_training/experiment/state_archive.h"
#include "rl_training/runtime/schedule.h"
#include "rl_training/util/thread_pool.h"
#include "tests/contract/algorithm_names.h"
#include "tests/support/memory_state.h"

namespace rl_training {
namespace {

constexpr int64_t kObsDim = 5, kActionDim = 2;

// Of every network of the algorithm: hidden_sizes, vae_hidden_sizes, ...
void set_hidden_sizes(AlgorithmOptions& options, const std::vector<int64_t>& sizes) {
  auto list = ConfigNode();
  list.kind = ConfigNode::Kind::list;
  for (const auto size : sizes) list.items.push_back(ConfigNode::scalar(std::to_string(size)));
  auto map = ConfigNode::map();
  for (const auto& row :
       list_options([&](OptionVisitor& visitor) { options.visit_options(visitor); })) {
    if (row.key.ends_with("hidden_sizes")) map.set(row.key, list);
  }
  OptionReader reader(map, "");
  options.visit_options(reader);
}

std::unique_ptr<Algorithm> make(const AlgorithmInfo& info, uint64_t seed = 0,
                                ThreadPool* pool = nullptr,
                                const std::vector<int64_t>& hidden_sizes = {16, 16}) {
  const auto options = info.make_options();
  set_hidden_sizes(*options, hidden_sizes);
  if (auto* online = options->online()) online->gradient_updates_per_step = 3;
  AlgorithmContext context;
  context.obs_dim = kObsDim;
  context.action_dim = kActionDim;
  context.seed = seed;
  context.compute.pool = pool;
  return info.make(*options, context);
}

std::span<float> floats(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

void fill_flags(const torch::Tensor& tensor, Rng& rng, double share) {
  for (float& value : floats(tensor)) value = rng.uniform() < share ? 1.0f : 0.0f;
}

// Batches of their own stream: the n-th is the same for everybody.
class Batches {
 public:
  explicit Batches(const AlgorithmInfo& info, int64_t rows = 24)
      : batch_(Batch::allocate(rows, kObsDim, kActionDim, info.wants_next_actions)) {}

  const Batch& next() {
    rng_.fill_normal(floats(batch_.obs()));
    rng_.fill_normal(floats(batch_.next_obs()));
    rng_.fill_uniform(floats(batch_.actions()), -1, 1);
    rng_.fill_normal(floats(batch_.rewards()));
    fill_flags(batch_.terminated(), rng_, 0.1);
    if (batch_.next_actions().defined()) {
      rng_.fill_uniform(floats(batch_.next_actions()), -1, 1);
      fill_flags(batch_.next_action_valid(), rng_, 0.9);
    }
    return batch_;
  }

 private:
  Batch batch_;
  Rng rng_{3, "batches"};
};

void train(Algorithm& algorithm, Batches& batches, int updates, double lr_scale = 1.0) {
  for (int i = 0; i < updates; ++i) algorithm.update(batches.next(), lr_scale);
}

VisitState visit(Algorithm& algorithm) {
  return [&algorithm](StateVisitor& state) { algorithm.visit_state(state); };
}

std::string hash(Algorithm& algorithm) { return hash_state(visit(algorithm)); }

torch::Tensor some_obs(int64_t rows = 7) {
  auto obs = torch::empty({rows, kObsDim});
  Rng(4, "obs").fill_normal(floats(obs));
  return obs;
}

class AlgorithmContract : public testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { prepare_libraries(); }
  const AlgorithmInfo& info_ = find_algorithm(GetParam());
};

INSTANTIATE_TEST_SUITE_P(All, AlgorithmContract, testing::ValuesIn(algorithm_names()),
                         name_of_test);

TEST_P(AlgorithmContract, TheSeedDecidesEveryBit) {
  const auto hash_after_30 = [this](uint64_t seed) {
    const auto algorithm = make(info_, seed);
    Batches batches(info_);
    train(*algorithm, batches, 30);
    return hash(*algorithm);
  };
  const auto first = hash_after_30(0);
  EXPECT_EQ(first, hash_after_30(0));
  EXPECT_NE(first, hash_after_30(1));
  EXPECT_NE(first, hash(*make(info_, 0)));
}

// Also in the middle of delays between updates of the parts, and before the first update.
TEST_P(AlgorithmContract, GoesOnExactlyWhereItWasSaved) {
  const auto straight = make(info_);
  Batches all(info_);
  train(*straight, all, 20);
  for (const int saved_after : {0, 1, 7, 10, 15}) {
    SCOPED_TRACE(saved_after);
    const auto first = make(info_);
    Batches batches(info_);
    train(*first, batches, saved_after);
    const auto saved = save_state(visit(*first));
    const auto second = make(info_, /*seed=*/99);  // nothing of its own start may be left
    load_state(saved, "saved", visit(*second));
    EXPECT_EQ(hash(*second), hash(*first));
    train(*second, batches, 20 - saved_after);
    EXPECT_EQ(hash(*second), hash(*straight));
  }
}

// And after learning has gone on in the environment, which changes some of them.
TEST_P(AlgorithmContract, GoesOnExactlyOnline) {
  const auto straight = make(info_);
  Batches all(info_);
  train(*straight, all, 5);
  straight->start_online(15);
  train(*straight, all, 15);
  for (const int saved_after : {0, 1, 8}) {
    SCOPED_TRACE(saved_after);
    const auto first = make(info_);
    Batches batches(info_);
    train(*first, batches, 5);
    first->start_online(15);
    train(*first, batches, saved_after);
    const auto second = make(info_, 99);
    load_state(save_state(visit(*first)), "saved", visit(*second));
    train(*second, batches, 15 - saved_after);
    EXPECT_EQ(hash(*second), hash(*straight));
  }
}

// The collector's random actions have the stream "explore": an algorithm's noise must not repeat
// it.
TEST_P(AlgorithmContract, ExploresFromAStreamOfItsOwn) {
  Rng collector(0, "explore");
  MemoryState random_actions, all;
  random_actions.save(collector);
  all.save(*make(info_, 0));
  ASSERT_FALSE(random_actions.parts().empty());
  for (const auto& [name, bytes] : random_actions.parts()) {
    EXPECT_NE(all.parts().at("explore_rng." + name), bytes);
  }
}

// What is reported goes on, too: values of a delayed part are held over the gap.
TEST_P(AlgorithmContract, ReportsTheSameAfterLoading) {
  for (const int saved_after : {5, 6, 7, 8}) {
    SCOPED_TRACE(saved_after);
    const auto first = make(info_);
    Batches batches(info_);
    train(*first, batches, saved_after);
    const auto second = make(info_, 99);
    load_state(save_state(visit(*first)), "saved", visit(*second));
    const auto& batch = batches.next();
    const auto expected = first->update(batch, 1.0), got = second->update(batch, 1.0);
    ASSERT_EQ(got.values().size(), expected.values().size());
    for (const auto& [name, value] : expected.values()) {
      ASSERT_EQ(got.get(name).defined(), value.defined()) << name;
      if (!value.defined()) continue;
      EXPECT_EQ(got.get(name).item<float>(), value.item<float>()) << name;
    }
  }
}

TEST_P(AlgorithmContract, TheNumberOfThreadsChangesNoBit) {
  std::string alone;
  for (const int threads : {1, 2, 8}) {
    ThreadPool pool(threads);
    const auto algorithm = make(info_, 0, &pool, {64, 64});
    Batches batches(info_, 300);
    train(*algorithm, batches, 12);
    algorithm->act(some_obs(300), ActMode::greedy);
    if (threads == 1) alone = hash(*algorithm);
    EXPECT_EQ(hash(*algorithm), alone) << threads;
  }
}

TEST_P(AlgorithmContract, ReportsTheMetricsOfTheTable) {
  const auto algorithm = make(info_);
  Batches batches(info_);
  std::set<std::string> seen;
  for (int update = 1; update <= 12; ++update) {
    const auto metrics = algorithm->update(batches.next(), 1.0);
    std::vector<std::string> names;
    for (const auto& [name, value] : metrics.values()) {
      names.emplace_back(name);
      if (!value.defined()) continue;
      seen.insert(name);
      EXPECT_EQ(value.numel(), 1) << name;
      EXPECT_FALSE(value.requires_grad()) << name;
      EXPECT_TRUE(std::isfinite(value.item<double>())) << name << " at " << update;
    }
    EXPECT_EQ(names, info_.metrics) << update;
  }
  EXPECT_EQ(seen.size(), info_.metrics.size()) << "some metric is never known";
}

TEST_P(AlgorithmContract, ActionsStayInTheUnitBox) {
  const auto algorithm = make(info_);
  Batches batches(info_);
  train(*algorithm, batches, 5);
  const auto obs = some_obs(50) * 100;  // far outside of anything seen
  for (const auto mode : {ActMode::greedy, ActMode::explore}) {
    const auto actions = algorithm->act(obs, mode);
    EXPECT_EQ(actions.sizes(), (torch::IntArrayRef{50, kActionDim}));
    EXPECT_FALSE(actions.requires_grad());
    EXPECT_LE(actions.abs().max().item<float>(), 1.0f);  // also false for NaN
  }
}

TEST_P(AlgorithmContract, GreedyActionsAreRepeatableAndChangeNothing) {
  const auto algorithm = make(info_);
  Batches batches(info_);
  train(*algorithm, batches, 5);
  const auto before = hash(*algorithm);
  const auto obs = some_obs();
  const auto given = obs.clone();
  const auto actions = algorithm->act(obs, ActMode::greedy).clone();
  EXPECT_TRUE(torch::equal(algorithm->act(obs, ActMode::greedy), actions));
  EXPECT_TRUE(torch::equal(obs, given));
  EXPECT_EQ(hash(*algorithm), before);
}

// A constant schedule is exactly no schedule; another one does something.
TEST_P(AlgorithmContract, LearningRatesFollowTheScale) {
  const auto hash_with = [this](const ScheduleSpec& schedule) {
    const auto algorithm = make(info_);
    Batches batches(info_);
    for (int i = 0; i < 10; ++i) {
      algorithm->update(batches.next(), resolve_schedule_value(schedule, i, 10));
    }
    return hash(*algorithm);
  };
  const auto plain = make(info_);
  Batches batches(info_);
  train(*plain, batches, 10, 1.0);
  EXPECT_EQ(hash_with(ScheduleSpec{}), hash(*plain));
  EXPECT_NE(hash_with({.type = "linear"}), hash(*plain));
}

TEST_P(AlgorithmContract, DoesNotChangeItsBatch) {
  const auto algorithm = make(info_);
  Batches batches(info_);
  const auto& batch = batches.next();
  const std::vector<torch::Tensor> parts = {batch.obs(), batch.actions(), batch.rewards(), batch.next_obs(),
                                            batch.terminated()};
  std::vector<torch::Tensor> copies;
  for (const auto& part : parts) copies.push_back(part.clone());
  for (int i = 0; i < 4; ++i) algorithm->update(batch, 1.0);
  for (size_t i = 0; i < parts.size(); ++i) EXPECT_TRUE(torch::equal(parts[i], copies[i])) << i;
}

}  // namespace
}  // namespace rl_training
