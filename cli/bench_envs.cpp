#include "cli/bench_envs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "bench/env_contenders.h"
#include "bench/turns.h"
#include "cli/output.h"
#include "rl_training/envs/registry.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {
namespace {

// Contenders run alternately for many short intervals, because other processes rarely leave the
// cores undisturbed for long.
constexpr double kTurnSeconds = 0.005;
constexpr int64_t kTurnsInRound = 20, kVectorTurnsInRound = 80;
constexpr int64_t kFewestCopies = 16, kMostCopies = 8192;
constexpr double kVectorStepSeconds = 400e-6;

struct EnvSpeed {
  int64_t steps;   // steps per interval
  int64_t copies;  // copies in a vector
  double ours;
  std::optional<double> raw, overhead_percent;
  std::vector<std::pair<int, double>> vector_rates;  // number of threads and rate
  double vector_ratio = 1;  // rate on all threads divided by the rate on one thread
};

// The number of steps in one interval. An interval takes about kTurnSeconds, which is long enough
// to be measured accurately.
int64_t turn_length(const std::string& id) {
  constexpr int64_t kProbe = 200;
  const auto script = make_step_script(id, kProbe);
  const auto probe = make_env_steps(script);
  probe->seconds_for(kProbe);
  const double each = probe->seconds_for(kProbe) / kProbe;
  return std::clamp<int64_t>(static_cast<int64_t>(kTurnSeconds / each), 64, 1000000);
}

// The number of copies in a vector: a power of two that gives the threads enough work per step.
// `rate` is the number of steps per second of a single environment.
int64_t vector_copies(double rate) {
  int64_t copies = kFewestCopies;
  while (copies < kMostCopies && static_cast<double>(copies) < kVectorStepSeconds * rate) {
    copies *= 2;
  }
  return copies;
}

// The rate of the fastest interval, which is least affected by other load.
double best(const Entry& entry) {
  return *std::max_element(entry.rates.begin(), entry.rates.end());
}

EnvSpeed measure(const std::string& id, int64_t rounds, int cores) {
  EnvSpeed speed;
  speed.steps = turn_length(id);
  const auto script = make_step_script(id, speed.steps);
  std::vector<Entry> single;
  single.push_back({make_env_steps(script), "ours"});
  if (auto raw = make_raw_mujoco_steps(script)) single.push_back({std::move(raw), "raw"});
  take_turns(single, kTurnsInRound * rounds, speed.steps, {});
  speed.ours = best(single[0]);
  if (single.size() > 1) {
    speed.raw = best(single[1]);
    speed.overhead_percent = 100 * (*speed.raw / speed.ours - 1);
  }

  speed.copies = vector_copies(speed.ours);
  std::vector<Entry> vector;
  vector.push_back({make_vector_steps(id, speed.copies, 1), "1"});
  if (cores > 1) vector.push_back({make_vector_steps(id, speed.copies, cores), "all"});
  take_turns(vector, kVectorTurnsInRound * rounds, std::max(speed.steps, 4 * speed.copies), {});
  speed.vector_rates.emplace_back(1, best(vector[0]));
  if (cores > 1) {
    speed.vector_rates.emplace_back(cores, best(vector[1]));
    speed.vector_ratio = best(vector[1]) / best(vector[0]);
  }
  return speed;
}

void add_results(Json& results, const std::string& id, const EnvSpeed& speed) {
  const auto add = [&](const std::string& name, int threads, double ours, Json peer,
                       const char* peer_name) {
    results.push_back({{"name", name},
                       {"threads", threads},
                       {"ours", ours},
                       {"peer", peer},
                       {"peer_name", peer.is_null() ? Json(nullptr) : Json(peer_name)},
                       {"products_only", nullptr},
                       {"fma_limit", nullptr},
                       {"unit", "steps/s"}});
  };
  add(id + " step", 1, speed.ours, speed.raw ? Json(*speed.raw) : Json(nullptr), "mj_step alone");
  results.back()["overhead_percent"] =
      speed.overhead_percent ? Json(*speed.overhead_percent) : Json(nullptr);
  const double one_thread = speed.vector_rates.front().second;
  for (const auto& [threads, rate] : speed.vector_rates) {
    add(fmt::format("{} vector of {}", id, speed.copies), threads, rate,
        threads > 1 ? Json(one_thread) : Json(nullptr), "the same on 1 thread");
  }
  if (speed.vector_rates.size() > 1) results.back()["ratio"] = speed.vector_ratio;
}

std::vector<std::string> table_row(const std::string& id, const EnvSpeed& speed) {
  const bool parallel = speed.vector_rates.size() > 1;
  return {id,
          fmt::format("{:.0f}", speed.ours),
          speed.raw ? fmt::format("{:.0f}", *speed.raw) : "-",
          speed.raw ? fmt::format("{:.1f} %", *speed.overhead_percent) : "-",
          std::to_string(speed.copies),
          fmt::format("{:.0f}", speed.vector_rates.front().second),
          parallel ? fmt::format("{:.0f}", speed.vector_rates.back().second) : "-",
          parallel ? fmt::format("{:.2f}x", speed.vector_ratio) : "-"};
}

double load_average() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

}  // namespace

void run_env_bench(const std::string& only, int64_t rounds, bool json) {
  if (!only.empty()) make_environment(only);  // throws if the id is not valid
  const int cores = available_cores();
  const double load_before = load_average();
  Json results = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& info : environments()) {
    if (!info.unavailable.empty() || (!only.empty() && info.id != only)) continue;
    print_note("measuring " + info.id + " ...");
    const auto speed = measure(info.id, rounds, cores);
    add_results(results, info.id, speed);
    rows.push_back(table_row(info.id, speed));
  }
  if (json) {
    print_json({{"machine", {{"cores", cores}, {"load_before", load_before}}},
                {"rounds", rounds},
                {"results", results}});
    return;
  }
  print(fmt::format("Steps per second with random actions, including resets; {} cores, load {:.2f} "
                    "before\n",
                    cores, load_before) +
        text_table(rows, {"environment", "step", "mj_step alone", "overhead", "vector of",
                          "on 1 thread", fmt::format("on {} threads", cores), "ratio"}));
}

}  // namespace rl_training
