#include "rl_training/experiment/algorithm_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "rl_training/algorithms/registry.h"
#include "rl_training/experiment/packaged_configs.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr size_t kMostChoices = 4;
constexpr int64_t kFewRows = 10'000, kManyRows = 200'000;
// With fewer episodes, the spread of returns is not meaningful.
constexpr int64_t kEpisodesToCompare = 5;
constexpr int64_t kEpisodesToCondition = 100;  // minimum for a return-conditioned policy
constexpr double kEvenReturns = 0.05, kMixedReturns = 0.2;  // limits of Figures::spread
// Limits of Figures::coverage.
constexpr double kNarrowActions = 0.45, kWideActions = 0.9;
// Rewards are sparse if one bar of their histogram contains at least this share of the steps.
constexpr double kSparseShare = 0.9;

// Entropy of a histogram, scaled to [0, 1]. It is 1 if all bars are equally high.
double evenness(const Histogram& histogram) {
  double total = 0, entropy = 0;
  for (const int64_t count : histogram.counts()) total += static_cast<double>(count);
  const auto bars = static_cast<double>(histogram.counts().size());
  if (total == 0 || bars < 2) return 0;
  for (const int64_t count : histogram.counts()) {
    const double share = static_cast<double>(count) / total;
    if (share > 0) entropy -= share * std::log(share);
  }
  return entropy / std::log(bars);
}

struct Figures {
  int64_t rows = 0, episodes = 0;
  double coverage = 0;        // mean entropy of the action histograms, from 0 to 1
  double spread = 0;          // standard deviation of the returns, divided by |mean|
  double constant_share = 0;  // share of the steps with nearly the same reward
  bool no_rewards = false, sparse = false, comparable = false, discrete = false;

  explicit Figures(const DatasetReport& report)
      : rows(report.transitions), episodes(report.file.episodes), discrete(report.choices > 0) {
    for (const auto& histogram : report.action_histograms) coverage += evenness(histogram);
    if (!report.action_histograms.empty()) {
      coverage /= static_cast<double>(report.action_histograms.size());
    }
    const auto& counts = report.reward_histogram.counts();
    if (!counts.empty() && report.file.rows > 0) {
      constant_share = static_cast<double>(*std::max_element(counts.begin(), counts.end())) /
                       static_cast<double>(report.file.rows);
    }
    no_rewards = report.reward.max == report.reward.min;
    sparse = !no_rewards && constant_share >= kSparseShare;
    comparable = episodes >= kEpisodesToCompare;
    spread = report.episode_return.std / std::max(std::abs(report.episode_return.mean), 1e-9);
  }
};

std::vector<std::string> find_facts(const Figures& figures, const DatasetReport& report) {
  std::vector<std::string> facts;
  facts.push_back(fmt::format("{} transitions{}", figures.rows,
                              figures.rows < kFewRows     ? ", a small dataset"
                              : figures.rows >= kManyRows ? ", a large dataset"
                                                          : ""));
  facts.push_back(fmt::format("action coverage {:.0f} %{}", 100 * figures.coverage,
                              figures.coverage < kNarrowActions ? ": concentrated on a few actions"
                              : figures.coverage > kWideActions ? ": nearly every action was tried"
                                                                : ""));
  if (figures.no_rewards) {
    facts.emplace_back("all rewards are equal");
  } else if (figures.sparse) {
    facts.push_back(fmt::format("sparse rewards: {:.0f} % of the steps have nearly the same one",
                                100 * figures.constant_share));
  }
  if (!figures.no_rewards && figures.comparable) {
    facts.push_back(fmt::format("returns differ by {:.0f} % of their mean{}", 100 * figures.spread,
                                figures.spread < kEvenReturns    ? ": one quality"
                                : figures.spread > kMixedReturns ? ": mixed quality"
                                                                 : ""));
  }
  facts.push_back(fmt::format("{} of {} episodes terminate, {} are cut by a time-out",
                              report.file.terminals, report.file.episodes, report.file.timeouts));
  return facts;
}

bool is_packaged(const std::string& name) {
  const auto& configs = packaged_configs();
  return std::any_of(configs.begin(), configs.end(),
                     [&](const PackagedConfig& config) { return config.name == name; });
}

// Returns the name of a packaged config that trains the algorithm on a dataset, preferably one of
// similar size. Returns "" if there is no such config.
std::string config_for(const std::string& algo, const Figures& figures) {
  const bool many = figures.rows >= kManyRows;
  for (const char* task : {many ? "hopper-medium-v2" : "pendulum-replay", "pendulum-random",
                           "cartpole-medium", "hopper-medium-v2"}) {
    if (is_packaged(algo + "/" + task)) return algo + "/" + task;
  }
  return "";
}

// Returns command-line options that unset `dataset_id` and `dataset_size` if the config sets them.
// These keys describe generated data and are not allowed for a file.
std::string without_generated_data(const std::string& name) {
  std::string words;
  for (const auto& config : packaged_configs()) {
    if (config.name != name) continue;
    for (const auto& [key, none] : {std::pair{"dataset_id", "null"}, {"dataset_size", "0"}}) {
      if (config.text.find(std::string("  ") + key + ":") == std::string::npos) continue;
      words += fmt::format(" --set algo_kwargs.{}={}", key, none);
    }
  }
  return words;
}

class Adviser {
 public:
  explicit Adviser(const Figures& figures) : figures_(figures) {}

  void add(double score, const char* algo, const std::string& reason) {
    const auto& all = algorithms();
    const bool takes_it = std::any_of(all.begin(), all.end(), [&](const AlgorithmInfo& info) {
      return info.name == algo &&
             info.actions == (figures_.discrete ? ActionKind::choices : ActionKind::vectors);
    });
    const auto config = config_for(algo, figures_);
    if (!takes_it || config.empty()) return;
    auto found = std::find_if(choices_.begin(), choices_.end(),
                              [&](const auto& choice) { return choice.algo == algo; });
    if (found == choices_.end()) {
      AlgorithmAdvice::Choice choice;
      choice.algo = algo;
      choice.config = config;
      found = choices_.insert(choices_.end(), std::move(choice));
    }
    found->score += score;
    found->reasons.push_back(reason);
  }

  std::vector<AlgorithmAdvice::Choice> take() && {
    std::stable_sort(choices_.begin(), choices_.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    if (choices_.size() > kMostChoices) choices_.resize(kMostChoices);
    return std::move(choices_);
  }

 private:
  const Figures& figures_;
  std::vector<AlgorithmAdvice::Choice> choices_;
};

void apply_rules(const Figures& figures, Adviser& advice) {
  if (figures.discrete) {
    advice.add(2, "discrete_cql", "discrete actions; one penalty (cql_alpha) to tune");
    advice.add(1, "discrete_sac", "discrete actions; set learn_from: data");
    advice.add(figures.no_rewards ? 3 : 0.5, "discrete_bc", "imitates the actions: a baseline");
    if (figures.coverage < kNarrowActions) {
      advice.add(1.5, "discrete_bcq",
                 "concentrated actions: it only compares those that are likely in the data");
    }
  }
  if (figures.no_rewards) {
    advice.add(1, "bc", "without rewards only the actions themselves can be learnt");
    return;
  }
  advice.add(2, "td3_bc", "fast, and one parameter (bc_alpha) to tune");
  if (figures.sparse) {
    advice.add(
        3, "iql",
        "sparse rewards: it propagates values along logged actions and never evaluates others");
    advice.add(1.5, "rebrac", "solves sparse tasks once its two penalties are tuned");
  }
  if (figures.comparable && figures.spread > kMixedReturns) {
    advice.add(1.5, "iql", "mixed quality: it gives better actions more weight");
    advice.add(0.75, "cql", "mixed quality: it lowers the values of actions outside the data");
    if (figures.episodes >= kEpisodesToCondition) {
      advice.add(0.5, "decision_transformer",
                 "many episodes with different returns to condition on");
    }
  }
  if (figures.comparable && figures.spread < kEvenReturns) {
    advice.add(2.5, "bc", "episodes of uniform quality: imitation is hard to beat");
  }
  if (figures.rows < kFewRows) {
    advice.add(1.5, "bc", "few rows: a baseline that cannot overestimate values");
  }
  if (figures.coverage < kNarrowActions) {
    advice.add(1, "bcq", "concentrated actions: it only compares actions like those of the data");
    advice.add(0.5, "iql", "concentrated actions: it never evaluates others");
  } else if (figures.coverage > kWideActions) {
    advice.add(1, "cql", "nearly every action was tried, so its penalty distorts few values");
    advice.add(1, "rebrac", "nearly every action was tried: weak penalties suffice");
  }
  if (figures.rows >= kManyRows) {
    advice.add(1, "rebrac",
               "enough rows for its deeper critics; the best published D4RL results when tuned");
  }
}

}  // namespace

Json AlgorithmAdvice::to_json() const {
  Json list = Json::array();
  for (const auto& choice : choices) {
    list.push_back({{"algo", choice.algo},
                    {"config", choice.config},
                    {"reasons", choice.reasons},
                    {"command", choice.command}});
  }
  return {{"findings", findings}, {"algorithms", list}};
}

AlgorithmAdvice advise_algorithms(const DatasetReport& report, const std::string& path,
                                  const std::string& keys, const std::string& env_id) {
  AlgorithmAdvice advice;
  if (report.transitions == 0) return advice;
  const Figures figures(report);
  Adviser adviser(figures);
  apply_rules(figures, adviser);
  advice.findings = find_facts(figures, report);
  advice.choices = std::move(adviser).take();
  for (auto& choice : advice.choices) {
    choice.command = fmt::format(
        "rl_training train --config {} --set {} --set algo_kwargs.dataset_kind={} "
        "--set algo_kwargs.dataset_path={}{} --set algo_kwargs.timeout_policy=auto",
        choice.config, env_id.empty() ? "env_id=none --set eval_episodes=0" : "env_id=" + env_id,
        report.kind, shell_word(path), without_generated_data(choice.config));
    if (!keys.empty()) {
      choice.command += " --set " + shell_word("algo_kwargs.dataset_keys=" + keys);
    }
  }
  return advice;
}

}  // namespace rl_training
