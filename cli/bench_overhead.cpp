#include "cli/bench_overhead.h"

#include <fmt/format.h>

#include "bench/turns.h"
#include "cli/output.h"
#include "rl_training/algorithms/registry.h"
#include "rl_training/experiment/packaged_configs.h"
#include "rl_training/experiment/run.h"
#include "rl_training/util/error.h"
#include "rl_training/util/scratch_directory.h"

namespace rl_training {
namespace {

constexpr int64_t kRowInterval = 10;

// Name of the packaged config of the algorithm's small task.
std::string small_config(const std::string& algo) {
  for (const auto& packaged : packaged_configs()) {
    for (const char* task : {"/pendulum", "/cartpole", "/cartpole-medium"}) {
      if (packaged.name == algo + task) return packaged.name;
    }
  }
  throw Error(ErrorKind::internal, algo + ": no packaged config of a small task");
}

// The packaged config of a small task. Its algorithm has default options if it learns only from
// data; otherwise, it has default network sizes and learns from the first steps on. If actions are
// continuous and observations are not images, the task is HalfCheetah instead of Pendulum,
// because HalfCheetah's episodes are the longest of the common tasks.
TrainConfig config_to_measure(const std::string& algo, int64_t updates,
                              const std::string& output_dir) {
  auto config = read_train_config(load_config(small_config(algo)));
  const auto& info = find_algorithm(algo);
  if (info.actions != ActionKind::choices && !info.image_observations) {
    config.env_id = "HalfCheetah-v4";
    if (config.has_dataset()) {
      config.dataset.source = {};
      config.dataset.source.kind = "random";
      config.dataset.source.size = 10000;
    }
  }
  const auto defaults = default_config(algo).algorithm;
  if (config.collects_by_itself()) {
    config.algorithm->hidden_sizes = defaults->hidden_sizes;
  } else {
    config.algorithm = defaults;
  }
  config.threads = 1;
  config.output_dir = output_dir;
  config.eval_episodes = TrainConfig().eval_episodes;
  // An online run collects data for a while before it starts to learn.
  config.total_timesteps = config.collects_by_itself() ? 5 * updates : updates;
  config.eval_interval = config.checkpoint_interval = config.total_timesteps;
  config.log_interval = kRowInterval;
  return config;
}

// Durations in seconds.
struct RunTimes {
  double step = 0;  // update with sampling and, in online runs, a step of the environment
  double row = 0, evaluation = 0, checkpoint = 0;
};

// Measures steps only in the second half of a short run.
class RunClock {
 public:
  Callbacks callbacks() {
    Callbacks callbacks;
    callbacks.on_collect_end = [this](const TrainProgress&) { step_end_ = steady_seconds(); };
    callbacks.on_update_end = [this](const TrainProgress& progress, const Metrics&) {
      step_end_ = steady_seconds();
      if (half_ == 0 && progress.position >= progress.length / 2) {
        half_ = progress.position;
        half_time_ = step_end_;
        outside_ = 0;
      }
      last_ = progress.position;
    };
    callbacks.on_eval_end = [this](const TrainProgress&, const EvaluationResult&) {
      evaluation_ = steady_seconds() - step_end_;
      outside_ += evaluation_;
      step_end_ = steady_seconds();
    };
    callbacks.on_row = [this](const TrainProgress& progress, const Json&) {
      if (progress.position > 0) rows_.push_back(steady_seconds() - step_end_);
      outside_ += steady_seconds() - step_end_;
      step_end_ = steady_seconds();
      last_time_ = step_end_;
      return true;
    };
    return callbacks;
  }

  RunTimes times() const {
    const auto steps = static_cast<double>(std::max<int64_t>(last_ - half_, 1));
    return {.step = (last_time_ - half_time_ - outside_) / steps,
            .row = median(rows_),
            .evaluation = evaluation_};
  }

 private:
  double step_end_ = 0;  // end of the last update or step of the environment
  double half_time_ = 0, last_time_ = 0, outside_ = 0, evaluation_ = 0;
  int64_t half_ = 0, last_ = 0;
  std::vector<double> rows_;
};

RunTimes measure_run(const std::string& algo, int64_t updates, int64_t rounds) {
  // Use the file system of the working directory, because runs are written there.
  const ScratchDirectory scratch(".");
  auto run = Run::start(config_to_measure(algo, updates, scratch.file("runs")), {});
  RunClock clock;
  run->train(clock.callbacks());
  RunTimes times = clock.times();
  std::vector<double> saves;
  for (int64_t round = 0; round < rounds; ++round) {
    saves.push_back(seconds_of([&] { run->save(scratch.file("saved" + std::to_string(round))); }));
  }
  times.checkpoint = median(saves);
  return times;
}

// Sampling time as a share of the whole update time.
double sampling_share(const std::string& algo, int64_t updates) {
  const auto ours = make_ours(BenchWork(algo), 1);
  ours->seconds_for(updates);
  return ours->sampling_share();
}

Json measure_overhead(const std::string& algo, int64_t updates, int64_t rounds) {
  const TrainConfig defaults;
  const RunTimes times = measure_run(algo, updates, rounds);
  const double share = sampling_share(algo, updates);
  const auto interval = static_cast<double>(defaults.checkpoint_interval);
  const double steps = times.step * interval;
  const double sampling = steps * share;
  const double rows = times.row * interval / static_cast<double>(defaults.log_interval);
  const double evaluations =
      times.evaluation * interval / static_cast<double>(defaults.eval_interval);
  const double seconds = steps - sampling;  // of the updates themselves
  return {{"algo", algo},
          {"interval", defaults.checkpoint_interval},
          {"step_ms", times.step * 1e3},
          {"row_ms", times.row * 1e3},
          {"evaluation_ms", times.evaluation * 1e3},
          {"checkpoint_ms", times.checkpoint * 1e3},
          {"interval_seconds", steps},
          {"sampling", sampling / seconds},
          {"rows", rows / seconds},
          {"evaluations", evaluations / seconds},
          {"checkpoints", times.checkpoint / seconds},
          {"overhead", (sampling + rows + evaluations + times.checkpoint) / seconds}};
}

}  // namespace

void run_overhead_bench(const std::string& algo, int64_t updates, int64_t rounds, bool json) {
  std::vector<std::string> names;
  if (!algo.empty() && algo != "all") {
    names = {find_algorithm(algo).name};
  } else {
    for (const auto& info : algorithms()) {
      if (!info.image_observations) names.push_back(info.name);  // their updates take seconds
    }
  }
  Json results = Json::array();
  std::vector<std::vector<std::string>> rows;
  for (const auto& name : names) {
    print_note("measuring " + name + " ...");
    const Json result = measure_overhead(name, updates, rounds);
    const auto percent = [&](const char* key) {
      return fmt::format("{:.2f} %", 100 * result[key].get<double>());
    };
    rows.push_back({name, fmt::format("{:.1f} s", result["interval_seconds"].get<double>()),
                    percent("sampling"), percent("rows"), percent("evaluations"),
                    percent("checkpoints"), percent("overhead")});
    results.push_back(result);
  }
  if (json) return print_json({{"results", results}});
  print(fmt::format("Time beyond the updates at the default intervals, relative to the updates: {} "
                    "steps, one evaluation of {} episodes, one checkpoint; one thread\n",
                    TrainConfig().checkpoint_interval, TrainConfig().eval_episodes) +
        text_table(rows, {"algorithm", "steps take", "sampling", "metrics", "evaluation",
                          "checkpoint", "sum"}));
}

}  // namespace rl_training
