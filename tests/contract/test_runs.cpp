// Tests whole runs of every algorithm: interrupting and resuming a run changes no byte of its
// files.
#include "rl_training/experiment/run.h"
#include "tests/contract/algorithm_names.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_config.h"

namespace rl_training {
namespace {

// The files of a run that depend only on its seed.
struct RunFiles {
  std::string tensors, best, jsonl, csv;
};

RunFiles files_of(const RunResult& result) {
  EXPECT_EQ(result.checkpoint, result.run_dir + "/checkpoints/step-000000060");
  RunFiles files = {read_all(result.checkpoint + "/tensors.safetensors"),
                    read_all(result.run_dir + "/checkpoints/best/tensors.safetensors"),
                    read_all(result.run_dir + "/metrics.jsonl"),
                    read_all(result.run_dir + "/metrics.csv")};
  for (const auto* text : {&files.tensors, &files.best, &files.jsonl, &files.csv}) {
    EXPECT_NE(*text, "");
  }
  return files;
}

void expect_same(const RunFiles& got, const RunFiles& expected) {
  EXPECT_TRUE(got.tensors == expected.tensors);
  EXPECT_TRUE(got.best == expected.best);
  EXPECT_EQ(got.jsonl, expected.jsonl);
  EXPECT_EQ(got.csv, expected.csv);
}

struct Abandoned {};

Callbacks abandon_at(int64_t position) {
  Callbacks callbacks;
  callbacks.on_update_end = [position](const TrainProgress& progress, const Metrics&) {
    if (progress.position >= position) throw Abandoned{};
  };
  callbacks.on_collect_end = [position](const TrainProgress& progress) {
    if (progress.position >= position) throw Abandoned{};
  };
  return callbacks;
}

// Stops the run at random steps, possibly before its first checkpoint. Each time, a new Run object
// resumes the run with another number of threads.
RunResult train_in_pieces(const TrainConfig& config, Rng& rng) {
  const int64_t threads[] = {1, 2, 8};
  std::string path;
  int64_t done = 0;
  for (int piece = 0; piece < 7; ++piece) {
    auto run =
        path.empty() ? Run::start(config, {}) : Run::resume(path, {{}, threads[piece % 3]}, {});
    path = run->path();
    done += 1 + static_cast<int64_t>(rng.below(12));
    done = std::min(done, config.total_timesteps);
    EXPECT_THROW(run->train(abandon_at(done)), Abandoned);
  }
  return Run::resume(path, {}, {})->train();
}

class RunContract : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, RunContract, testing::ValuesIn(algorithm_names()), name_of_test);

TEST_P(RunContract, PiecesEqualTheWhole) {
  const TemporaryDirectory directory;
  const auto config = tiny_config(GetParam(), directory / "runs");
  const auto whole = files_of(Run::start(config, {})->train());
  Rng rng(11, "pieces");
  for (int i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    expect_same(files_of(train_in_pieces(config, rng)), whole);
  }
}

TEST_P(RunContract, ThreadsChangeNoByte) {
  const TemporaryDirectory directory;
  const auto train = [&](const char* threads) {
    const auto defaults = default_config(GetParam());
    const bool sequences = defaults.algorithm->request().window > 0;
    std::vector<std::string> more = {"batch_size=300", threads,
                                     sequences ? "embed_dim=64" : "hidden_sizes=[64,64]"};
    if (defaults.phases().front().rolls_out()) {
      more.front() = "batch_size=60";
      more.emplace_back("rollout_steps=60");
      more.emplace_back("num_envs=3");
    } else if (defaults.collects_by_itself()) {
      more.emplace_back("buffer_capacity=300");
      more.emplace_back("num_envs=3");
    }
    const auto config = tiny_config(GetParam(), directory / threads, more);
    return files_of(Run::start(config, {})->train());
  };
  const auto alone = train("threads=1");
  expect_same(train("threads=2"), alone);
  expect_same(train("threads=8"), alone);
}

// Evaluations between updates must not affect training.
TEST_P(RunContract, EvaluationsDoNotChangeTraining) {
  const TemporaryDirectory directory;
  const auto actions = [&](const char* name, const std::vector<std::string>& more) {
    const auto run = Run::start(tiny_config(GetParam(), directory / name, more), {});
    run->train();
    const Space& space = run->policy().env().observation;
    const double value = space.is_image() ? 100 : 0.1;
    std::vector<std::vector<double>> obs(
        3, std::vector<double>(static_cast<size_t>(space.size()), value));
    obs[1][0] = space.is_image() ? 0 : -1;
    obs[2].back() = 2;
    return run->policy().predict(obs);
  };
  const auto without = actions("without", {"eval_episodes=0"});
  EXPECT_EQ(actions("often", {"eval_interval=3"}), without);
  EXPECT_EQ(actions("more", {"eval_episodes=5"}), without);
}

}  // namespace
}  // namespace rl_training
