#include "cli/bench_evaluation.h"

#include <fmt/format.h>

#include "bench/turns.h"
#include "cli/output.h"
#include "rl_training/experiment/trained_policy.h"

namespace rl_training {
namespace {

constexpr int64_t kEpisodes = 10;

// Plays kEpisodes episodes, `together` of them at a time. Returns steps per second.
double steps_per_second(TrainedPolicy& policy, int64_t together, ThreadPool& pool, uint64_t seed) {
  double steps = 0;
  const double seconds = seconds_of([&] {
    for (int64_t played = 0; played < kEpisodes; played += together) {
      const Evaluator evaluator(policy.config().env_id, together,
                                seed * kEpisodes + static_cast<uint64_t>(played), &pool,
                                policy.config().env);
      const auto result = evaluator.run(policy.algorithm(), policy.normalizer());
      for (const int64_t length : result.lengths) steps += static_cast<double>(length);
    }
  });
  return steps / seconds;
}

struct Setting {
  std::string name;
  int64_t together;
  int threads;
  std::vector<double> rates = {};
};

}  // namespace

void run_evaluation_bench(const std::string& run, int64_t rounds, bool json) {
  const int cores = available_cores();
  auto policy = load_policy(run, {.warn = print_note, .threads = cores});
  policy.make_own_environment("bench --evaluation");  // throws if there is none
  std::vector<Setting> settings = {{"one after another", 1, 1}, {"together", kEpisodes, 1}};
  if (cores > 1) settings.push_back({"together", kEpisodes, cores});
  for (int64_t round = 0; round < rounds; ++round) {
    for (auto& setting : settings) {
      policy.pool().resize(setting.threads);
      setting.rates.push_back(
          steps_per_second(policy, setting.together, policy.pool(), static_cast<uint64_t>(round)));
    }
  }
  Json results = Json::array();
  std::vector<std::vector<std::string>> rows;
  const double alone = median(settings.front().rates);
  for (const auto& setting : settings) {
    const double rate = median(setting.rates);
    results.push_back({{"name", policy.config().env_id + " evaluation, " + setting.name},
                       {"threads", setting.threads},
                       {"ours", rate},
                       {"ratio", rate / alone},
                       {"unit", "steps/s"}});
    rows.push_back({setting.name, std::to_string(setting.threads), fmt::format("{:.0f}", rate),
                    fmt::format("{:.2f}x", rate / alone)});
  }
  if (json) return print_json({{"rounds", rounds}, {"results", results}});
  print(fmt::format("Evaluation of {} episodes of {}, median of {} rounds\n", kEpisodes,
                    policy.config().env_id, rounds) +
        text_table(rows, {"episodes", "threads", "steps/s", "ratio"}));
}

}  // namespace rl_training
