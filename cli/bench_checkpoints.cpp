#include "cli/bench_checkpoints.h"

#include <fmt/format.h>

#include <chrono>

#include "bench/turns.h"
#include "cli/output.h"
#include "rl_training/algorithms/registry.h"
#include "rl_training/experiment/packaged_configs.h"
#include "rl_training/experiment/run.h"
#include "rl_training/util/scratch_directory.h"

namespace rl_training {
namespace {

// The packaged config of a small task, but with the algorithm's default networks.
TrainConfig config_to_measure(const std::string& algo, const std::string& output_dir) {
  std::string name;
  for (const auto& packaged : packaged_configs()) {
    if (packaged.name == algo + "/pendulum" || packaged.name == algo + "/cartpole") {
      name = packaged.name;
    }
  }
  auto config = read_train_config(load_config(name));
  config.algorithm->hidden_sizes = default_config(algo).algorithm->hidden_sizes;
  config.threads = 1;
  config.output_dir = output_dir;
  config.eval_episodes = 0;
  config.total_timesteps = config.collects_by_itself() ? 1500 : 300;
  config.log_interval = config.checkpoint_interval = config.total_timesteps;
  return config;
}

// Measures the times of a checkpoint and of a step. Steps are measured in the second half of a
// short run, because an online run starts to learn only after some steps.
Json measure_checkpoints(const std::string& algo, int64_t rounds) {
  // Use the file system of the working directory, because runs are written there.
  const ScratchDirectory scratch(".");
  const auto config = config_to_measure(algo, scratch.file("runs"));
  auto run = Run::start(config, {});
  double half_time = 0;
  int64_t half = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double whole_time = 0;
  int64_t whole = 0;
  Callbacks callbacks;
  callbacks.on_update_end = [&](const TrainProgress& progress, const Metrics&) {
    whole = progress.position;
    whole_time = elapsed();
    if (half == 0 && progress.position >= progress.length / 2) {
      half = whole;
      half_time = whole_time;
    }
  };
  run->train(callbacks);
  const double step =
      (whole_time - half_time) / static_cast<double>(std::max<int64_t>(whole - half, 1));
  std::vector<double> saves;
  for (int64_t round = 0; round < rounds; ++round) {
    saves.push_back(seconds_of([&] { run->save(scratch.file("saved" + std::to_string(round))); }));
  }
  const double save = median(saves);
  const int64_t interval = TrainConfig().checkpoint_interval;
  const double between = step * static_cast<double>(interval);
  return {{"algo", algo},
          {"checkpoint_ms", save * 1e3},
          {"interval", interval},
          {"interval_seconds", between},
          {"overhead", save / (save + between)}};
}

}  // namespace

void run_checkpoint_bench(const std::string& algo, int64_t rounds, bool json) {
  std::vector<std::string> names;
  if (!algo.empty() && algo != "all") {
    names = {find_algorithm(algo).name};
  } else {
    for (const auto& info : algorithms()) names.push_back(info.name);
  }
  Json results = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& name : names) {
    print_note("measuring " + name + " ...");
    const Json result = measure_checkpoints(name, rounds);
    rows.push_back({name, fmt::format("{:.1f} ms", result["checkpoint_ms"].get<double>()),
                    fmt::format("{:.1f} s", result["interval_seconds"].get<double>()),
                    fmt::format("{:.2f} %", 100 * result["overhead"].get<double>())});
    results.push_back(result);
  }
  if (json) return print_json({{"results", results}});
  print(fmt::format("a checkpoint every {} steps (the default), one thread\n",
                    TrainConfig().checkpoint_interval) +
        text_table(rows, {"algorithm", "checkpoint", "interval", "share"}));
}

}  // namespace rl_training
