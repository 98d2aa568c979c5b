#include <gtest/gtest.h>

#include <algorithm>

#include "rl_training/algorithms/registry.h"
#include "rl_training/experiment/algorithm_advice.h"
#include "rl_training/experiment/packaged_configs.h"

namespace rl_training::test_algorithm_advice {
namespace {

using Names = std::vector<std::string>;

// A dataset with returns of 100 +- 10 and dense rewards. Its actions cover the whole range, but
// unevenly.
DatasetReport middling_report() {
  DatasetReport report;
  report.kind = "npz";
  report.file.rows = report.transitions = 50'000;
  report.file.episodes = 50;
  report.file.terminals = 10;
  report.file.timeouts = 40;
  report.reward = {0, 1, 0.5, 0.2};
  report.episode_return = {80, 120, 100, 10};
  report.reward_histogram = Histogram(0, 1);
  for (int i = 0; i < 50'000; ++i) report.reward_histogram.add((i % 24) / 24.0);
  report.action_histograms = {Histogram(-1, 1)};
  for (int i = 0; i < 24; ++i) {
    for (int k = 0; k < (i < 6 ? 40 : 1); ++k) report.action_histograms[0].add(-1 + (i + 0.5) / 12);
  }
  return report;
}

Names advised(const DatasetReport& report) {
  Names names;
  for (const auto& choice : advise_algorithms(report, "log.npz", "", "").choices) {
    names.push_back(choice.algo);
  }
  return names;
}

TEST(AlgorithmAdvice, FollowsTheFigures) {
  const auto report = middling_report();
  EXPECT_EQ(advised(report), Names{"td3_bc"});

  auto mixed = report;
  mixed.episode_return.std = 60;
  EXPECT_EQ(advised(mixed), (Names{"td3_bc", "iql", "cql"}));
  mixed.file.episodes = 100;
  EXPECT_EQ(advised(mixed), (Names{"td3_bc", "iql", "cql", "decision_transformer"}));

  auto even = report;
  even.episode_return.std = 1;
  EXPECT_EQ(advised(even), (Names{"bc", "td3_bc"}));

  auto sparse = report;
  sparse.reward_histogram = Histogram(0, 1);
  for (int i = 0; i < 50'000; ++i) sparse.reward_histogram.add(i % 20 == 0 ? 1 : 0);
  EXPECT_EQ(advised(sparse), (Names{"iql", "td3_bc", "rebrac"}));

  auto silent = report;
  silent.reward = {0, 0, 0, 0};
  EXPECT_EQ(advised(silent), Names{"bc"});

  auto wide = report;
  wide.action_histograms = {Histogram(-1, 1)};
  for (int i = 0; i < 2400; ++i) wide.action_histograms[0].add(-1 + (i % 24 + 0.5) / 12);
  EXPECT_EQ(advised(wide), (Names{"td3_bc", "cql", "rebrac"}));

  wide.episode_return.std = 60;
  EXPECT_EQ(advised(wide), (Names{"td3_bc", "cql", "iql", "rebrac"}));

  auto narrow = report;
  narrow.action_histograms = {Histogram(-1, 1)};
  for (int i = 0; i < 100; ++i) narrow.action_histograms[0].add(i < 98 ? 0 : 0.9);
  EXPECT_EQ(advised(narrow), (Names{"td3_bc", "bcq", "iql"}));

  auto few = report;
  few.transitions = 5'000;
  EXPECT_EQ(advised(few), (Names{"td3_bc", "bc"}));

  auto choices = report;
  choices.choices = 2;
  EXPECT_EQ(advised(choices), (Names{"discrete_cql", "discrete_sac", "discrete_bc"}));

  auto nothing = report;
  nothing.transitions = 0;
  EXPECT_EQ(advised(nothing), Names{});
}

TEST(AlgorithmAdvice, NamesPackagedConfigsAndACommand) {
  auto report = middling_report();
  report.episode_return.std = 60;
  for (const int64_t rows : {5'000, 50'000, 1'000'000}) {
    report.transitions = rows;
    for (const auto& choice : advise_algorithms(report, "a.npz", "", "Hopper-v4").choices) {
      EXPECT_EQ(find_algorithm(choice.algo).name, choice.algo);
      const auto& configs = packaged_configs();
      EXPECT_TRUE(std::any_of(configs.begin(), configs.end(), [&](const auto& config) {
        return config.name == choice.config;
      })) << choice.config;
      EXPECT_NE(choice.command.find(" --set env_id=Hopper-v4 "), std::string::npos);
      EXPECT_FALSE(choice.reasons.empty());
    }
  }
  auto choices = report;
  choices.choices = 2;
  choices.transitions = 5'000;
  EXPECT_EQ(advise_algorithms(choices, "a.npz", "", "").choices[0].command,
            "rl_training train --config discrete_cql/cartpole-medium --set env_id=none "
            "--set eval_episodes=0 --set algo_kwargs.dataset_kind=npz "
            "--set algo_kwargs.dataset_path=a.npz --set algo_kwargs.dataset_id=null "
            "--set algo_kwargs.timeout_policy=auto");
  const auto advice = advise_algorithms(report, "my log.npz", "obs=a,b action=u", "");
  EXPECT_EQ(advice.choices[0].config, "td3_bc/hopper-medium-v2");  // its dataset has a similar size
  EXPECT_EQ(advice.choices[0].command,
            "rl_training train --config td3_bc/hopper-medium-v2 --set env_id=none "
            "--set eval_episodes=0 "
            "--set algo_kwargs.dataset_kind=npz --set algo_kwargs.dataset_path='my log.npz' "
            "--set algo_kwargs.timeout_policy=auto "
            "--set 'algo_kwargs.dataset_keys=obs=a,b action=u'");
  EXPECT_EQ(advice.findings, (Names{"1000000 transitions, a large dataset", "action coverage 67 %",
                                    "returns differ by 60 % of their mean: mixed quality",
                                    "10 of 50 episodes terminate, 40 are cut by a time-out"}));
  const auto json = advice.to_json();
  EXPECT_EQ(json.at("algorithms").at(0).at("algo"), "td3_bc");
  EXPECT_EQ(json.at("findings").size(), 4u);
}

}  // namespace
}  // namespace rl_training::test_algorithm_advice
