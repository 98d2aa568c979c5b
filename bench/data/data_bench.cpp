// Creates, opens and samples datasets for bench/data/compare.py. This program runs as a separate
// process, so that the measured time and memory include nothing but its own work.
//   data_bench make FILE.hdf5 [ROWS]     writes a file in D4RL's layout with 17-dimensional
//                                        observations and 6-dimensional actions
//   data_bench open FILE [CACHE_DIR]     reads the file, or maps it from a cache
//   data_bench sample FILE CACHE_DIR [BATCHES]   opens the file and draws batches of 256 rows
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "rl_training/data/d4rl.h"
#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/dataset_cache.h"
#include "rl_training/data/sampler.h"
#include "rl_training/util/error.h"
#include "rl_training/util/rng.h"

namespace rl_training {
namespace {

constexpr int64_t kObsDim = 17, kActionDim = 6, kEpisode = 1000;

// Creates episodes in which every observation dimension is a random walk that drifts back to zero.
// As in data from a simulator, the lower bits of the floats are noise.
TransitionDataset make_dataset(int64_t rows) {
  Rng rng(1, "data_bench");
  DatasetBuilder builder(kObsDim, kActionDim);
  std::array<float, kObsDim> obs{};
  std::array<float, kActionDim> action{};
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t step = row % kEpisode;
    if (step == 0) {
      for (auto& value : obs) value = static_cast<float>(0.1 * rng.normal());
      builder.begin_episode(obs);
    }
    for (auto& value : action) {
      value = std::clamp(static_cast<float>(0.6 * rng.normal()), -1.0f, 1.0f);
    }
    for (auto& value : obs) value = 0.98f * value + static_cast<float>(0.2 * rng.normal());
    builder.add(action, obs[8] - 0.1f * action[0], obs, false, step + 1 == kEpisode);
  }
  return std::move(builder).build();
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

TransitionDataset load(const std::string& path, const std::string& cache_directory) {
  DatasetCacheOptions options;
  options.directory = cache_directory;
  options.warn = [](const std::string& line) { fmt::print(stderr, "warning: {}\n", line); };
  DatasetCache cache(options);
  return cache.load("d4rl", path, {});
}

int open_dataset(const std::string& path, const std::string& cache_directory) {
  const auto start = Clock::now();
  const auto dataset = load(path, cache_directory);
  const double seconds = seconds_since(start);
  // The memory that training needs: each observation and action once, and 16 bytes per row for the
  // other columns.
  const int64_t slots = dataset.rows() + static_cast<int64_t>(dataset.episodes().size());
  const int64_t bytes =
      slots * 4 * (dataset.obs_dim() + dataset.action_dim()) + dataset.rows() * 16;
  fmt::print(
      "{{\"seconds\": {:.6f}, \"rows\": {}, \"array_bytes\": {}, \"fingerprint\": \"{}\"}}\n",
      seconds, dataset.rows(), bytes, dataset.fingerprint());
  return 0;
}

// Draws batches from the memory-mapped cache. Only the accessed pages use RAM, so the dataset may
// be larger than the RAM.
int sample_dataset(const std::string& path, const std::string& cache_directory, int64_t batches) {
  constexpr int64_t kRows = 256;
  const auto dataset = std::make_shared<const TransitionDataset>(load(path, cache_directory));
  UniformSampler sampler(dataset, ObsNormalizer(dataset->obs_dim()), Rng(1, "data_bench"));
  std::vector<float> obs(static_cast<size_t>(kRows * dataset->obs_dim())), next_obs(obs.size());
  std::vector<float> actions(static_cast<size_t>(kRows * dataset->action_dim()));
  BatchView batch{};
  batch.rows = kRows;
  batch.obs = obs.data();
  batch.next_obs = next_obs.data();
  batch.actions = actions.data();
  double sum = 0;
  const auto start = Clock::now();
  for (int64_t i = 0; i < batches; ++i) {
    sampler.sample(batch);
    for (const float value : obs) sum += value;
  }
  fmt::print("{{\"batches\": {}, \"seconds\": {:.3f}, \"sum\": {:.17g}}}\n", batches,
             seconds_since(start), sum);
  return 0;
}

int run(int count, char** words) {
  const std::string command = count > 2 ? words[1] : "";
  if (command == "make") {
    save_d4rl_dataset(make_dataset(count > 3 ? std::atoll(words[3]) : 1'000'000), words[2]);
    return 0;
  }
  if (command == "open") return open_dataset(words[2], count > 3 ? words[3] : "");
  if (command == "sample" && count > 3) {
    return sample_dataset(words[2], words[3], count > 4 ? std::atoll(words[4]) : 1000);
  }
  fmt::print(stderr,
             "usage: data_bench make FILE.hdf5 [ROWS] | open FILE [CACHE_DIR] | "
             "sample FILE CACHE_DIR [BATCHES]\n");
  return 2;
}

}  // namespace
}  // namespace rl_training

int main(int count, char** words) {
  try {
    return rl_training::run(count, words);
  } catch (const rl_training::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return error.exit_code();
  }
}
