#include "cli/machine_advice.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "rl_training/data/call_filter.h"
#include "rl_training/data/dataset_cache.h"
#include "rl_training/envs/registry.h"
#include "rl_training/models/kernels.h"
#include "rl_training/parallel/join.h"
#include "rl_training/render/film.h"
#include "rl_training/report/page_assets.h"
#include "rl_training/util/file_system.h"
#include "rl_training/util/thread_pool.h"

namespace rl_training {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

bool has_task(const char* id) {
  const auto* info = find_environment(id);
  return info != nullptr && info->unavailable.empty();
}

// Share of the time since boot that other virtual machines on the same host used (steal time).
double stolen_share() {
  std::ifstream file("/proc/stat");
  std::string label;
  std::array<double, 8> ticks{};  // user nice system idle iowait irq softirq steal
  file >> label;
  double all = 0;
  for (auto& value : ticks) {
    file >> value;
    all += value;
  }
  return file && all > 0 ? ticks.back() / all : 0.0;
}

double load_average() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 ? load : 0.0;
}

}  // namespace

std::vector<OptionalPart> optional_parts() {
  return {
      {"MuJoCo", "locomotion tasks", has_task("Hopper-v4"), "libmujoco-dev"},
      {"Box2D", "lunar lander", has_task("LunarLander-v3"), "libbox2d-dev"},
      {"Cairo and giflib", "render, report --plot", film_unavailable().empty(),
       "libcairo2-dev libgif-dev"},
      {"dygraphs", "interactive curves of reports", !chart_script().empty(), "libjs-dygraphs"},
      {"Gloo", "one run on several processes", processes_available(), "libgloo-dev"},
      {"seccomp filter", "system call filter for readers of untrusted files",
       readers_are_filtered(), "libseccomp-dev, and a kernel with seccomp"},
  };
}

std::vector<std::string> machine_advice() {
  std::vector<std::string> advice;
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    if (const char* value = std::getenv(name)) {
      advice.push_back(fmt::format(
          "{}={} is set but ignored: training uses `threads` of the config", name, value));
    }
  }
  const double free = static_cast<double>(posix_file_system().free_space("."));
  if (free < kGib) {
    advice.push_back(fmt::format(
        "{:.2f} GiB are free here; a run keeps about five checkpoints and its logs", free / kGib));
  }
  const auto cache = DatasetCache::default_directory();
  int64_t bytes = 0;
  DatasetCacheOptions options;
  options.directory = cache;
  for (const auto& entry : DatasetCache(options).list()) bytes += entry.bytes;
  if (static_cast<double>(bytes) > std::max(free, 10 * kGib)) {
    advice.push_back(fmt::format(
        "the dataset cache {} holds {:.1f} GiB; `rl_training dataset cache --clear` removes it",
        cache, static_cast<double>(bytes) / kGib));
  }
  if (std::string(kernels().name) == "baseline") {
    advice.emplace_back(
        "the baseline kernels are in use, which are several times slower than AVX2; "
        "unset RL_TRAINING_KERNELS if it is set");
  }
  const double load = load_average();
  if (load > available_cores()) {
    advice.push_back(
        fmt::format("the load average is {:.1f} on {} cores: timings of `bench` will be unreliable",
                    load, available_cores()));
  }
  if (const double share = stolen_share(); share > 0.01) {
    advice.push_back(fmt::format(
        "other virtual machines took {:.0f} % of this one's time: compare speeds only as ratios",
        100 * share));
  }
  return advice;
}

}  // namespace rl_training
