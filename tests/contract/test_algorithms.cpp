// Tests properties that every algorithm of the registry must have.
#include <set>

#include "rl_training/experiment/state_archive.h"
#include "rl_training/runtime/schedule.h"
#include "rl_training/util/thread_pool.h"
#include "tests/contract/made_up_task.h"
#include "tests/support/memory_state.h"
#include "tests/support/metric_values.h"

namespace rl_training {
namespace {

const PhaseSpec kOnline = {.name = "online", .source = PhaseSpec::Source::mixture};

void train(Algorithm& algorithm, Batches& batches, int updates, double lr_scale = 1.0) {
  for (int i = 0; i < updates; ++i) algorithm.update(batches.next(), lr_scale);
}

VisitState visit(Algorithm& algorithm) {
  return [&algorithm](StateVisitor& state) { algorithm.visit_state(state); };
}

std::string hash(Algorithm& algorithm) { return hash_state(visit(algorithm)); }

class AlgorithmContract : public testing::TestWithParam<std::string> {
 protected:
  const SingleThreadedTensors single_threaded_;
  const AlgorithmInfo info_ = info_of_case(GetParam());
};

INSTANTIATE_TEST_SUITE_P(All, AlgorithmContract, testing::ValuesIn(algorithm_cases()),
                         name_of_test);

TEST_P(AlgorithmContract, TheSeedDecidesEveryBit) {
  const auto hash_after_30 = [this](uint64_t seed) {
    const auto algorithm = make_small(info_, seed);
    Batches batches(info_);
    train(*algorithm, batches, 30);
    return hash(*algorithm);
  };
  const auto first = hash_after_30(0);
  EXPECT_EQ(first, hash_after_30(0));
  EXPECT_NE(first, hash_after_30(1));
  EXPECT_NE(first, hash(*make_small(info_, 0)));
}

// Saves before the first update, or after 1, 7, 10 or 15 updates. Some networks are not trained in
// every update, so some of the saves fall between two updates of such a network.
TEST_P(AlgorithmContract, ResumesExactlyWhereItWasSaved) {
  const auto straight = make_small(info_);
  Batches all(info_);
  train(*straight, all, 20);
  for (const int saved_after : {0, 1, 7, 10, 15}) {
    SCOPED_TRACE(saved_after);
    const auto first = make_small(info_);
    Batches batches(info_);
    train(*first, batches, saved_after);
    const auto saved = save_state(visit(*first));
    // The seed differs, to check that loading overwrites the whole initial state.
    const auto second = make_small(info_, /*seed=*/99);
    load_state(saved, "saved", visit(*second));
    EXPECT_EQ(hash(*second), hash(*first));
    train(*second, batches, 20 - saved_after);
    EXPECT_EQ(hash(*second), hash(*straight));
  }
}

// Some algorithms behave differently in an online phase, so saving and loading is tested there too.
TEST_P(AlgorithmContract, ResumesExactlyOnline) {
  const auto straight = make_small(info_);
  Batches all(info_);
  train(*straight, all, 5);
  straight->begin_phase(kOnline, 15);
  train(*straight, all, 15);
  for (const int saved_after : {0, 1, 8}) {
    SCOPED_TRACE(saved_after);
    const auto first = make_small(info_);
    Batches batches(info_);
    train(*first, batches, 5);
    first->begin_phase(kOnline, 15);
    train(*first, batches, saved_after);
    const auto second = make_small(info_, 99);
    load_state(save_state(visit(*first)), "saved", visit(*second));
    train(*second, batches, 15 - saved_after);
    EXPECT_EQ(hash(*second), hash(*straight));
  }
}

// The collector draws its random actions from the stream "explore". The exploration noise of an
// algorithm must not use the same random numbers.
TEST_P(AlgorithmContract, ExploresFromAStreamOfItsOwn) {
  Rng collector(0, "explore");
  MemoryState random_actions, all;
  random_actions.save(collector);
  all.save(*make_small(info_, 0));
  ASSERT_FALSE(random_actions.parts().empty());
  for (const auto& [name, bytes] : random_actions.parts()) {
    for (const auto& [own_name, own_bytes] : all.parts()) {
      if (!own_name.ends_with("_rng." + name)) continue;
      EXPECT_NE(own_bytes, bytes) << own_name;
    }
  }
}

// Metrics are also restored: a network that is updated less often than the others reports its last
// metrics between its updates.
TEST_P(AlgorithmContract, ReportsTheSameAfterLoading) {
  for (const int saved_after : {5, 6, 7, 8}) {
    SCOPED_TRACE(saved_after);
    const auto first = make_small(info_);
    Batches batches(info_);
    train(*first, batches, saved_after);
    const auto second = make_small(info_, 99);
    load_state(save_state(visit(*first)), "saved", visit(*second));
    const auto& batch = batches.next();
    const auto expected = first->update(batch, 1.0), got = second->update(batch, 1.0);
    ASSERT_EQ(got.values().size(), expected.values().size());
    for (const auto& [name, value] : expected.values()) {
      ASSERT_EQ(find_metric(got, name).defined(), value.defined()) << name;
      if (!value.defined()) continue;
      EXPECT_EQ(find_metric(got, name).item<float>(), value.item<float>()) << name;
    }
  }
}

TEST_P(AlgorithmContract, TheNumberOfThreadsChangesNoBit) {
  std::string alone;
  for (const int threads : {1, 2, 8}) {
    ThreadPool pool(threads);
    const auto algorithm = make_small(info_, 0, &pool, 64);
    Batches batches(info_, 300);
    train(*algorithm, batches, 12);
    act_once(*algorithm, some_obs(info_, 300));
    if (threads == 1) alone = hash(*algorithm);
    EXPECT_EQ(hash(*algorithm), alone) << threads;
  }
}

// `values` returns a defined tensor if and only if the algorithm has values according to the
// registry. The tensor has one value per row and no gradient, and the call has no side effects.
TEST_P(AlgorithmContract, ValuesAreAskedWithoutATrace) {
  const auto algorithm = make_small(info_);
  Batches batches(info_);
  train(*algorithm, batches, 5);
  const auto before = hash(*algorithm);
  const auto obs = some_obs(info_, 7);
  const auto actions = act_once(*algorithm, obs);
  const auto values = algorithm->values(obs, actions);
  ASSERT_EQ(values.defined(), info_.has_values);
  EXPECT_EQ(hash(*algorithm), before);
  if (!info_.has_values) return;
  EXPECT_EQ(values.sizes(), (std::vector<int64_t>{7}));
  EXPECT_FALSE(values.requires_grad());
  EXPECT_TRUE(values.isfinite().all().item<bool>());
  EXPECT_TRUE(algorithm->values(obs, actions).equal(values));
  // The value of the last row depends only on the observation and the action of that row.
  EXPECT_NEAR(algorithm->values(obs.slice(0, 6, 7), actions.slice(0, 6, 7)).item<double>(),
              values[6].item<double>(), 1e-4);
}

TEST_P(AlgorithmContract, ReportsTheMetricsOfTheTable) {
  const auto algorithm = make_small(info_);
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

TEST_P(AlgorithmContract, ActionsStayInTheirSpace) {
  const auto algorithm = make_small(info_);
  Batches batches(info_);
  train(*algorithm, batches, 5);
  auto obs = some_obs(info_, 50);
  if (obs.is_floating_point()) obs = obs * 100;  // far outside the range of the training data
  const auto space = action_space(info_);
  for (const auto mode : {ActMode::greedy, ActMode::explore}) {
    const auto actions = act_once(*algorithm, obs, mode);
    EXPECT_FALSE(actions.requires_grad());
    if (space.is_discrete()) {
      EXPECT_EQ(actions.sizes(), (torch::IntArrayRef{50}));
      ASSERT_EQ(actions.scalar_type(), torch::kLong);
      EXPECT_GE(actions.min().item<int64_t>(), 0);
      EXPECT_LT(actions.max().item<int64_t>(), space.categories);
    } else {
      EXPECT_EQ(actions.sizes(), (torch::IntArrayRef{50, space.size()}));
      EXPECT_LE(actions.abs().max().item<float>(), 1.0f);  // this check also fails for NaN
    }
  }
}

TEST_P(AlgorithmContract, GreedyActionsAreRepeatableAndChangeNothing) {
  const auto algorithm = make_small(info_);
  Batches batches(info_);
  train(*algorithm, batches, 5);
  const auto before = hash(*algorithm);
  const auto obs = some_obs(info_);
  const auto given = obs.clone();
  const auto actions = act_once(*algorithm, obs).clone();
  EXPECT_TRUE(torch::equal(act_once(*algorithm, obs), actions));
  EXPECT_TRUE(torch::equal(obs, given));
  EXPECT_EQ(hash(*algorithm), before);
}

// A policy clears its memory when an episode starts. The memory can be saved and restored during an
// episode.
TEST_P(AlgorithmContract, PoliciesRememberTheirEpisodeAndNoMore) {
  const auto algorithm = make_small(info_);
  Batches batches(info_);
  train(*algorithm, batches, 5);
  const int64_t rows = 7;
  const auto first_obs = some_obs(info_, rows), next_obs = first_obs.flip(0).contiguous();
  const auto state = algorithm->make_policy_state(rows);
  const auto act = [&](PolicyState& memory, const torch::Tensor& obs) {
    return algorithm->act(obs, memory, ActMode::greedy).clone();
  };
  const auto first = act(*state, first_obs);
  EXPECT_TRUE(torch::equal(first, act_once(*algorithm, first_obs)));
  for (int64_t row = 0; row < rows; ++row) state->observe_reward(row, 0.5);

  MemoryState saved;
  saved.save(*state);
  const auto restored = algorithm->make_policy_state(rows);
  saved.restore(*restored);
  const auto second = act(*state, next_obs);
  EXPECT_TRUE(torch::equal(act(*restored, next_obs), second));

  for (int64_t row = 0; row < rows; ++row) state->begin_episode(row);
  EXPECT_TRUE(torch::equal(act(*state, first_obs), first));
}

// A constant schedule gives the same result as no schedule. Any other schedule changes the result.
TEST_P(AlgorithmContract, LearningRatesFollowTheScale) {
  const auto hash_with = [this](const ScheduleSpec& schedule) {
    const auto algorithm = make_small(info_);
    Batches batches(info_);
    for (int i = 0; i < 10; ++i) {
      algorithm->update(batches.next(), resolve_schedule_value(schedule, i, 10));
    }
    return hash(*algorithm);
  };
  const auto plain = make_small(info_);
  Batches batches(info_);
  train(*plain, batches, 10, 1.0);
  EXPECT_EQ(hash_with(ScheduleSpec{}), hash(*plain));
  EXPECT_NE(hash_with({.type = ScheduleSpec::Type::linear}), hash(*plain));
}

TEST_P(AlgorithmContract, DoesNotChangeItsBatch) {
  const auto algorithm = make_small(info_);
  Batches batches(info_);
  const auto& batch = batches.next();
  std::vector<torch::Tensor> copies;
  for (const auto column : batches.columns()) copies.push_back(batch.column(column).clone());
  for (int i = 0; i < 4; ++i) algorithm->update(batch, 1.0);
  for (size_t i = 0; i < copies.size(); ++i) {
    const auto column = batches.columns()[i];
    EXPECT_TRUE(torch::equal(batch.column(column), copies[i])) << column_name(column);
  }
}

// A change in any requested column changes the parameters, so no column is requested needlessly.
TEST_P(AlgorithmContract, EveryRequestedColumnCounts) {
  const auto hash_without = [this](std::optional<BatchColumn> changed) {
    const auto algorithm = make_small(info_);
    Batches batches(info_);
    for (int i = 0; i < 4; ++i) {
      const auto& batch = batches.next();
      if (changed) {
        const auto& values = batch.column(*changed);
        const bool flags = *changed == BatchColumn::mask || !values.is_floating_point();
        values.copy_(flags ? values.flip(0) : 0.5 * values);
      }
      algorithm->update(batch, 1.0);
    }
    return hash(*algorithm);
  };
  const auto as_given = hash_without({});
  const Batches batches(info_);
  for (const auto column : batches.columns()) {
    if (column == BatchColumn::terminated || column == BatchColumn::timestep) continue;
    EXPECT_NE(hash_without(column), as_given) << column_name(column);
  }
}

}  // namespace
}  // namespace rl_training
