#include "cli/bench_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "bench/scaling_model.h"
#include "bench/turns.h"
#include "cli/output.h"
#include "rl_training/parallel/join.h"
#include "rl_training/sweep/child_process.h"
#include "rl_training/util/scratch_directory.h"

namespace rl_training {
namespace {

constexpr int64_t kRunUpdates = 100000;  // length of each run of a sweep

// Counts the values that an algorithm averages over processes.
class CountingGroup final : public ProcessGroup {
 public:
  CountingGroup() : ProcessGroup(0, 1) {}
  void average(std::span<const std::span<float>> parts) override {
    ++operations_;
    for (const auto& part : parts) values += static_cast<int64_t>(part.size());
  }
  std::vector<std::string> exchange(const std::string& mine) override { return {mine}; }
  std::vector<std::string> collect(const std::string& mine) override { return {mine}; }

  int64_t values = 0;
};

double update_seconds(const BenchWork& like, int64_t rows, int64_t rounds) {
  BenchWork work = like;
  work.options = std::shared_ptr<AlgorithmOptions>(find_algorithm(like.algo).make_options());
  work.options->batch_size = rows;
  const auto ours = make_ours(work, 1);
  const double once = ours->seconds_for(2) / 2;  // also warms up
  const auto updates = std::clamp<int64_t>(static_cast<int64_t>(0.3 / once), 2, 1000);
  std::vector<double> seconds;
  for (int64_t i = 0; i < rounds; ++i) {
    seconds.push_back(ours->seconds_for(updates) / static_cast<double>(updates));
  }
  return *std::min_element(seconds.begin(), seconds.end());
}

// Returns the seconds that two processes take to average `values` floats: the mean time of the
// exchanges in the fastest round. Two threads stand in for the processes.
double exchange_seconds(int64_t values, int64_t rounds) {
  constexpr int kRepeats = 100;
  auto server = std::make_unique<RendezvousServer>("127.0.0.1", 0, Milliseconds(60000));
  const int port = server->port();
  const auto average_often = [&](ProcessGroup& group) {
    std::vector<float> floats(static_cast<size_t>(values), 1.0f);
    const std::vector<std::span<float>> parts = {floats};
    double fastest = 1e9;
    for (int64_t round = 0; round <= rounds; ++round) {
      const double seconds = seconds_of([&] {
        for (int i = 0; i < kRepeats; ++i) group.average(parts);
      });
      fastest = std::min(fastest, seconds / kRepeats);
    }
    return fastest;
  };
  std::thread other([&] { average_often(*join_processes({.rank = 1, .size = 2, .port = port})); });
  const double seconds =
      average_often(*join_processes({.rank = 0, .size = 2, .port = port}, std::move(server)));
  other.join();
  return seconds;
}

// The seconds that `rl_training --version` takes, in the fastest round.
double start_seconds(int64_t rounds) {
  const ScratchDirectory scratch;
  double fastest = 1e9;
  for (int64_t i = 0; i < rounds; ++i) {
    fastest = std::min(fastest, seconds_of([&] {
                         ChildProcess({"--version"}, scratch.file("output.txt")).wait();
                       }));
  }
  return fastest;
}

ScalingFigures measure(const std::string& algo, int64_t rounds, const NetworkFigures& network) {
  const BenchWork work(algo);
  ScalingFigures figures;
  figures.batch_rows = work.options->batch_size;
  CountingGroup counted;
  constexpr int64_t kCounted = 4;  // enough updates to include delayed updates of the policy
  make_ours(work, 1, &counted)->seconds_for(kCounted);
  figures.exchanges = static_cast<double>(counted.operations()) / kCounted;
  figures.values = static_cast<double>(counted.values) / kCounted;
  print_note("measuring an update ...");
  const int64_t few = std::max<int64_t>(2, figures.batch_rows / 8);
  const double whole = update_seconds(work, figures.batch_rows, rounds);
  const double part = update_seconds(work, few, rounds);
  figures.row_seconds =
      std::max(0.0, (whole - part) / static_cast<double>(figures.batch_rows - few));
  figures.fixed_seconds =
      std::max(0.0, whole - figures.row_seconds * static_cast<double>(figures.batch_rows));
  print_note("measuring an exchange ...");
  constexpr int64_t kLarge = 400000;
  figures.latency = exchange_seconds(1, rounds);
  figures.byte_seconds =
      std::max(0.0, exchange_seconds(kLarge, rounds) - figures.latency) / (kLarge * sizeof(float));
  if (network.latency_us) figures.latency = *network.latency_us * 1e-6;
  if (network.bandwidth_mbit) figures.byte_seconds = 8.0 / (*network.bandwidth_mbit * 1e6);
  figures.start_seconds = start_seconds(rounds);
  return figures;
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

void print_tables(const std::string& algo, const ScalingFigures& figures) {
  print(fmt::format("{}, batch {}\n", algo, figures.batch_rows) +
        text_table(
            {{"an update", fmt::format("{:.3f} ms + {:.3f} us per row", 1e3 * figures.fixed_seconds,
                                       1e6 * figures.row_seconds)},
             {"exchanged per update", fmt::format("{:.0f} bytes in {:.1f} messages",
                                                  4 * figures.values, figures.exchanges)},
             {"an exchange", fmt::format("{:.3f} ms + {:.2f} ms per megabyte",
                                         1e3 * figures.latency, 1e9 * figures.byte_seconds)},
             {"start of the program", fmt::format("{:.2f} s", figures.start_seconds)}}));
  std::vector<std::vector<std::string>> rows;
  for (const int processes : kModelProcesses) {
    const bool shared = figures.batch_rows >= int64_t{2} * processes;
    rows.push_back({std::to_string(processes),
                    fmt::format("{:.2f} ms", 1e3 * figures.exchange_seconds(processes)),
                    percent(figures.weak_efficiency(processes)),
                    shared ? percent(figures.strong_efficiency(processes)) : "-"});
  }
  print("\nOne run on several processes, efficiency\n" +
        text_table(rows,
                   {"processes", "exchange", fmt::format("{} rows a process", figures.batch_rows),
                    fmt::format("{} rows shared", figures.batch_rows)}));
  rows.clear();
  const double run = figures.update_seconds(figures.batch_rows) * kRunUpdates;
  for (const int runs : kModelRuns) {
    rows.push_back({std::to_string(runs)});
    for (const int cores : kModelCores) {
      rows.back().push_back(percent(figures.sweep_efficiency(runs, cores, run)));
    }
  }
  std::vector<std::string> title = {"runs"};
  for (const int cores : kModelCores) title.push_back(fmt::format("{} cores", cores));
  print(fmt::format("\nA sweep of runs of {} updates ({:.0f} s) on one core each, share of the "
                    "cores in use\n",
                    kRunUpdates, run) +
        text_table(rows, title));
}

void print_as_json(const std::string& algo, const ScalingFigures& figures) {
  Json processes = Json::array(), sweeps = Json::array();
  for (const int count : kModelProcesses) {
    const bool shared = figures.batch_rows >= int64_t{2} * count;
    processes.push_back(
        {{"processes", count},
         {"exchange_seconds", figures.exchange_seconds(count)},
         {"efficiency", figures.weak_efficiency(count)},
         {"shared_batch_efficiency", shared ? Json(figures.strong_efficiency(count)) : Json()}});
  }
  const double run = figures.update_seconds(figures.batch_rows) * kRunUpdates;
  for (const int runs : kModelRuns) {
    for (const int cores : kModelCores) {
      sweeps.push_back({{"runs", runs},
                        {"cores", cores},
                        {"efficiency", figures.sweep_efficiency(runs, cores, run)}});
    }
  }
  print_json({{"algo", algo},
              {"batch_rows", figures.batch_rows},
              {"fixed_seconds", figures.fixed_seconds},
              {"row_seconds", figures.row_seconds},
              {"exchanges", figures.exchanges},
              {"exchanged_bytes", 4 * figures.values},
              {"latency_seconds", figures.latency},
              {"byte_seconds", figures.byte_seconds},
              {"start_seconds", figures.start_seconds},
              {"processes", processes},
              {"sweeps", sweeps}});
}

}  // namespace

void run_scaling_model(const std::string& algo, int64_t rounds, const NetworkFigures& network,
                       bool json) {
  if (!processes_available()) join_processes({.size = 2});  // throws with the reason
  const auto name = find_algorithm(algo.empty() ? "td3_bc" : algo).name;
  const auto figures = measure(name, rounds, network);
  json ? print_as_json(name, figures) : print_tables(name, figures);
}

}  // namespace rl_training
