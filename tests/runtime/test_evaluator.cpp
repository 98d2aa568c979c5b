#include <gtest/gtest.h>

#include "rl_training/algorithms/registry.h"
#include "rl_training/data/dataset_builder.h"
#include "rl_training/envs/pendulum.h"
#include "tests/runtime/fakes.h"
#include "tests/support/process_threads.h"

namespace rl_training::test_evaluator {
namespace {

std::unique_ptr<Algorithm> small_policy() {
  const auto& info = find_algorithm("td3_bc");
  const auto options = info.make_options();
  options->hidden_sizes = {16};
  AlgorithmContext context;
  context.obs = Space::unbounded(3);
  context.action = Space::unit_box(1);
  return make_algorithm(info.name, *options, context);
}

TEST(Evaluator, SumsRawRewardsOverWholeEpisodes) {
  PayingTask::add_to_table();
  FakeAlgorithm algorithm;
  algorithm.action = [](int64_t) { return -0.25f; };  // the reward is -2.5 per step
  const auto result = Evaluator(PayingTask::kId, 4, 0, nullptr).run(algorithm, ObsNormalizer(1));
  EXPECT_EQ(result.returns, std::vector<double>(4, -7.5));
  EXPECT_EQ(result.lengths, std::vector<int64_t>(4, 3));
  EXPECT_EQ(result.return_mean, -7.5);
  EXPECT_EQ(result.return_std, 0.0);
  EXPECT_EQ(result.length_mean, 3.0);
}

// The EnvGroup has three environments, whose episodes have one, two and three steps. Each
// environment plays a fixed number of the seven episodes, so that short episodes are not
// overrepresented.
TEST(Evaluator, CopiesThatExistTogetherPlayFixedShares) {
  EnvInfo info{"PayingTogether-v0", "", [] { return std::make_unique<PayingTask>(); }};
  info.group = EnvGroup{[] { return int64_t{3}; },
                        [] {
                          std::vector<std::unique_ptr<Environment>> copies;
                          for (const int64_t length : {1, 2, 3}) {
                            copies.push_back(std::make_unique<PayingTask>(length));
                          }
                          return copies;
                        }};
  register_environment(info);
  FakeAlgorithm algorithm;
  algorithm.action = [](int64_t) { return 0.1f; };
  const auto result = Evaluator(info.id, 7, 0, nullptr).run(algorithm, ObsNormalizer(1));
  EXPECT_EQ(result.lengths, (std::vector<int64_t>{1, 1, 2, 2, 3, 3, 3}));
  ASSERT_EQ(result.returns.size(), 7u);
  EXPECT_NEAR(result.returns[3], 2, 1e-6);
  EXPECT_NEAR(result.return_mean, 15.0 / 7, 1e-6);
}

// The episodes of each copy are one step longer than those of the copy that was created before it.
// If copies played on after their episode, the total number of steps would be larger.
TEST(Evaluator, CopiesRestAfterTheirEpisode) {
  static int64_t total_steps = 0, length = 0;
  register_environment({"PayingUnequally-v0", "",
                        [] { return std::make_unique<PayingTask>(++length, &total_steps); }});
  FakeAlgorithm algorithm;
  length = total_steps = 0;
  const auto result =
      Evaluator("PayingUnequally-v0", 3, 0, nullptr).run(algorithm, ObsNormalizer(1));
  const int64_t shortest = result.lengths.at(0);
  EXPECT_EQ(result.lengths, (std::vector<int64_t>{shortest, shortest + 1, shortest + 2}));
  EXPECT_EQ(total_steps, 3 * shortest + 3);
}

TEST(Evaluator, MeanAndStdAreOverEpisodes) {
  const auto policy = small_policy();
  const auto result = Evaluator("Pendulum-v1", 5, 3, nullptr).run(*policy, ObsNormalizer(3));
  ASSERT_EQ(result.returns.size(), 5u);
  double mean = 0, variance = 0;
  for (const double value : result.returns) mean += value / 5;
  for (const double value : result.returns) variance += (value - mean) * (value - mean) / 5;
  EXPECT_DOUBLE_EQ(result.return_mean, mean);
  EXPECT_DOUBLE_EQ(result.return_std, std::sqrt(variance));
  EXPECT_GT(result.return_std, 0);
  EXPECT_EQ(result.lengths, std::vector<int64_t>(5, 200));
}

// The test plays the evaluator's only episode itself and compares the returns.
TEST(Evaluator, PlaysTheTaskOfItsOwnStream) {
  const auto policy = small_policy();
  ObsNormalizer normalizer(3);
  const auto result = Evaluator("Pendulum-v1", 1, 3, nullptr).run(*policy, normalizer);
  Pendulum task;
  Rng rng(3, "eval/0");
  std::vector<double> obs(3), action(1);
  task.reset(rng, obs);
  double sum = 0;
  for (int step = 0; step < 200; ++step) {
    auto row = torch::empty({1, 3});
    for (int i = 0; i < 3; ++i) row[0][i] = static_cast<float>(obs[static_cast<size_t>(i)]);
    action[0] = 2.0 * act_once(*policy, row).item<float>();
    sum += task.step(action, obs).reward;
  }
  EXPECT_DOUBLE_EQ(result.returns[0], sum);
}

TEST(Evaluator, RepeatsItselfOnAnyNumberOfThreads) {
  const auto policy = small_policy();
  const auto play = [&](uint64_t seed, ThreadPool* pool) {
    return Evaluator("Pendulum-v1", 6, seed, pool).run(*policy, ObsNormalizer(3)).returns;
  };
  const auto first = play(0, nullptr);
  EXPECT_EQ(play(0, nullptr), first);
  EXPECT_NE(play(1, nullptr), first);
  for (const int threads : {2, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(play(0, &pool), first);
  }
  const Evaluator again("Pendulum-v1", 6, 0, nullptr);
  EXPECT_EQ(again.run(*policy, ObsNormalizer(3)).returns, first);
  EXPECT_EQ(again.run(*policy, ObsNormalizer(3)).returns, first);
}

TEST(Evaluator, NormalisesObservations) {
  DatasetBuilder builder(3, 1);
  builder.begin_episode(std::array{0.f, 0.f, 5.f});
  builder.add(std::array{0.f}, 0, std::array{1.f, 1.f, 0.f}, false, false);
  builder.add(std::array{0.f}, 0, std::array{1.f, 1.f, 0.f}, false, false);
  const auto normalizer = ObsNormalizer::fit(std::move(builder).build());
  const auto policy = small_policy();
  const Evaluator evaluator("Pendulum-v1", 2, 0, nullptr);
  EXPECT_NE(evaluator.run(*policy, normalizer).returns,
            evaluator.run(*policy, ObsNormalizer(3)).returns);
}

// Three processes together play the episodes that one process would play. With two episodes, one
// process plays none.
TEST(Evaluator, ProcessesShareTheEpisodes) {
  const auto alone = small_policy();
  for (const int64_t episodes : {7, 2}) {
    const auto all = Evaluator("Pendulum-v1", episodes, 3, nullptr).run(*alone, ObsNormalizer(3));
    in_processes(3, [&](ProcessGroup& group) {
      const auto policy = small_policy();
      const auto result = Evaluator("Pendulum-v1", episodes, 3, nullptr, {}, {}, &group)
                              .run(*policy, ObsNormalizer(3));
      ASSERT_EQ(result.returns.size(), all.returns.size());
      for (size_t i = 0; i < all.returns.size(); ++i) {
        // The number of observations in a batch may change the last bits of an action.
        EXPECT_NEAR(result.returns[i], all.returns[i], 1e-2);
      }
      EXPECT_NEAR(result.return_mean, all.return_mean, 1e-2);
      EXPECT_EQ(result.lengths, all.lengths);
    });
  }
}

TEST(Evaluator, ARequestToStopInOneProcessCutsItShortInAll) {
  PayingTask::add_to_table();
  in_processes(2, [&](ProcessGroup& group) {
    StopRequests requests;
    if (group.rank() == 1) requests.request_stop(15);
    FakeAlgorithm algorithm;
    const Evaluator evaluator(PayingTask::kId, 4, 0, nullptr, {}, {}, &group);
    EXPECT_TRUE(evaluator.run(algorithm, ObsNormalizer(1), &requests).cut_short);
  });
}

}  // namespace
}  // namespace rl_training::test_evaluator
