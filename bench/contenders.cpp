#include "bench/contenders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "bench/turns.h"
#include "rl_training/algorithms/registry.h"
#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/replay_sampler.h"
#include "rl_training/data/rollout_buffer.h"
#include "rl_training/data/window_sampler.h"
#include "rl_training/models/kernels.h"
#include "rl_training/models/product.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

TransitionDataset random_transitions(const BenchWork& work, int64_t rows) {
  const auto space = work.action();
  DatasetBuilder builder(Space::unbounded(work.obs_dim), space);
  Rng rng(1);
  std::vector<float> obs(work.obs_dim), action(work.action_dim);
  std::vector<int64_t> choice(1);
  for (int64_t row = 0; row < rows; ++row) {
    if (!builder.episode_open()) {
      rng.fill_normal(obs);
      builder.begin_episode(obs);
    }
    rng.fill_normal(obs);
    rng.fill_uniform(action, -1, 1);
    rng.fill_below(choice, static_cast<uint64_t>(work.action_dim));
    builder.add(space.is_discrete() ? SpaceValue(choice) : SpaceValue(action),
                static_cast<float>(rng.normal()), obs, false, row % 1000 == 999);
  }
  return std::move(builder).build().with_next_actions();
}

// Draws shuffled minibatches from a rollout that is filled once, with random data.
class RandomRollout final : public Sampler {
 public:
  explicit RandomRollout(const BenchWork& work)
      : buffer_(Space::unbounded(work.obs_dim), work.action(), kRows, 1),
        sampler_(buffer_, work.options->request(), Rng(2)) {
    Rng rng(1);
    std::vector<float> obs(work.obs_dim), action(work.action_dim);
    while (!buffer_.full()) {
      rng.fill_normal(obs);
      rng.fill_normal(action);
      const auto log_prob = static_cast<float>(rng.normal() - static_cast<double>(action.size()));
      const auto value = static_cast<float>(rng.normal());
      const auto reward = static_cast<float>(rng.normal());
      const uint8_t ended = 0;
      buffer_.add({obs.data(), action.data(), &log_prob, &value, &reward, &ended});
    }
    const float last = 0;
    buffer_.finish({&last, 1}, 0.99, 0.95);
  }

  int64_t rows() const override { return kRows; }
  void sample(const BatchView& batch) override {
    if (left_ < batch.rows) {
      sampler_.shuffle();
      left_ = kRows;
    }
    left_ -= batch.rows;
    sampler_.sample(batch);
  }
  void visit_state(StateVisitor& state) override { sampler_.visit_state(state); }

 private:
  static constexpr int64_t kRows = 2048;
  RolloutBuffer buffer_;
  RolloutSampler sampler_;
  int64_t left_ = 0;
};

// Samples rows of a replay buffer that is filled once, with random images. As in an environment
// with stacked frames, each step adds one frame to the stack and drops the oldest.
class RandomImages final : public Sampler {
 public:
  explicit RandomImages(const BenchWork& work)
      : normalizer_(work.obs()),
        buffer_(kRows, work.obs(), work.action()),
        sampler_(buffer_, normalizer_, work.options->request(), Rng(2)) {
    const Space space = work.obs();
    const int64_t frame_bytes = space.bytes() / space.frames;
    Rng rng(1);
    std::vector<unsigned char> obs(space.bytes()), next_obs(space.bytes());
    std::vector<float> action(work.action_dim);
    const auto draw = [&] { return static_cast<unsigned char>(rng.next()); };
    std::generate(obs.begin(), obs.end(), draw);
    for (int64_t row = 0; row < kRows; ++row) {
      const auto newest = std::copy(obs.begin() + frame_bytes, obs.end(), next_obs.begin());
      std::generate(newest, next_obs.end(), draw);
      rng.fill_uniform(action, -1, 1);
      buffer_.add(obs.data(), action.data(), static_cast<float>(rng.normal()), next_obs.data(),
                  /*terminated=*/false, /*truncated=*/false);
      obs.swap(next_obs);
    }
  }

  int64_t rows() const override { return kRows; }
  void sample(const BatchView& batch) override { sampler_.sample(batch); }
  void visit_state(StateVisitor& state) override { sampler_.visit_state(state); }

 private:
  static constexpr int64_t kRows = 1000;
  ObsNormalizer normalizer_;
  ReplayBuffer buffer_;
  ReplaySampler sampler_;
};

std::unique_ptr<Sampler> random_sampler(const BenchWork& work, ThreadPool& pool) {
  const auto request = work.options->request();
  if (work.obs().is_image()) return std::make_unique<RandomImages>(work);
  if (request.has(BatchColumn::advantage)) return std::make_unique<RandomRollout>(work);
  auto rows = random_transitions(work, 100000);
  if (request.has(BatchColumn::return_to_go)) rows = rows.with_returns_to_go(request.returns);
  auto data = std::make_shared<TransitionDataset>(std::move(rows));
  const ObsNormalizer normalizer(work.obs_dim);
  if (request.window > 0) {
    return std::make_unique<WindowSampler>(std::move(data), normalizer, request, Rng(2));
  }
  return std::make_unique<UniformSampler>(std::move(data), normalizer, request, Rng(2), &pool);
}

class Ours final : public Contender {
 public:
  Ours(const BenchWork& work, int threads, ProcessGroup* processes)
      : pool_(threads),
        sampler_(random_sampler(work, pool_)),
        batch_(work.options->request(), work.obs(), work.action()) {
    AlgorithmContext context;
    context.obs = work.obs();
    context.action = work.action();
    context.compute = {.pool = &pool_, .processes = processes};
    algorithm_ = make_algorithm(work.algo, *work.options, context);
  }

  double seconds_for(int64_t updates) override {
    const ProductCount products;
    const double start = steady_seconds();
    for (int64_t i = 0; i < updates; ++i) {
      const double before = steady_seconds();
      sampler_->sample(batch_.view());
      sampling_ += steady_seconds() - before;
      algorithm_->update(batch_, 1.0);
      if (const auto priorities = algorithm_->priorities(); priorities.defined()) {
        sampler_->set_priorities(
            {priorities.data_ptr<float>(), static_cast<size_t>(priorities.numel())});
      }
    }
    const double seconds = steady_seconds() - start;
    seconds_ += seconds;
    flops_ += static_cast<double>(products.flops());
    updates_ += static_cast<double>(updates);
    return seconds;
  }

  double flops_per_update() const override { return flops_ / updates_; }
  double sampling_share() const override { return sampling_ / seconds_; }

 private:
  SingleThreadedTensors serial_;
  ThreadPool pool_;
  std::unique_ptr<Sampler> sampler_;
  Batch batch_;
  std::unique_ptr<Algorithm> algorithm_;
  double flops_ = 0, updates_ = 0;
  double seconds_ = 0, sampling_ = 0;
};

// Computes the matrix products of a TD3+BC update. Each thread needs its own object, because the
// object contains the buffers.
class Products {
 public:
  explicit Products(const Td3BcProducts& size)
      : size_(size),
        x_(size.batch * widest(), 0.1f),
        y_(size.batch * widest(), 0.1f),
        w_(widest() * widest(), 0.01f),
        g_(widest() * widest()) {}

  void update(bool with_actor) {
    const int64_t obs = size_.obs_dim, both = obs + size_.action_dim;
    forward(obs, size_.action_dim);                          // target actor
    for (int i = 0; i < 4; ++i) forward(both, 1);            // two target critics and two critics
    for (int i = 0; i < 2; ++i) backward(both, 1, true, 0);  // critics
    if (!with_actor) return;
    forward(obs, size_.action_dim);
    forward(both, 1);
    backward(both, 1, false, size_.action_dim);  // through Q_1 to the action
    backward(obs, size_.action_dim, true, 0);
  }

 private:
  int64_t widest() const { return std::max(size_.hidden, size_.obs_dim + size_.action_dim); }

  void forward(int64_t inputs, int64_t outputs) {
    product(false, false, size_.batch, size_.hidden, inputs);
    product(false, false, size_.batch, size_.hidden, size_.hidden);
    product(false, false, size_.batch, outputs, size_.hidden);
  }
  void backward(int64_t inputs, int64_t outputs, bool weights, int64_t input_columns) {
    product(false, true, size_.batch, size_.hidden, outputs);
    product(false, true, size_.batch, size_.hidden, size_.hidden);
    if (weights) {
      product(true, false, size_.hidden, outputs, size_.batch);
      product(true, false, size_.hidden, size_.hidden, size_.batch);
      product(true, false, inputs, size_.hidden, size_.batch);
    }
    if (input_columns > 0) product(false, true, size_.batch, input_columns, size_.hidden);
  }
  void product(bool ta, bool tb, int64_t m, int64_t n, int64_t k) {
    const float* b = ta ? y_.data() : w_.data();
    float* c = ta ? g_.data() : y_.data();
    multiply({.transpose_a = ta,
              .transpose_b = tb,
              .m = m,
              .n = n,
              .k = k,
              .a = x_.data(),
              .lda = ta ? m : k,
              .b = b,
              .ldb = tb ? k : n,
              .c = c,
              .ldc = n});
  }

  Td3BcProducts size_;
  std::vector<float> x_, y_, w_, g_;
};

class ProductsOnly final : public Contender {
 public:
  ProductsOnly(const Td3BcProducts& size, int threads) : pool_(threads) {
    for (int i = 0; i < threads; ++i) copies_.emplace_back(size);
  }

  double seconds_for(int64_t updates) override {
    const auto threads = static_cast<int64_t>(copies_.size());
    const double start = steady_seconds();
    pool_.run(threads, [&](int64_t thread) {
      for (int64_t i = thread; i < updates; i += threads)
        copies_[thread].update(i / threads % 2 == 0);
    });
    return steady_seconds() - start;
  }

 private:
  ThreadPool pool_;
  std::vector<Products> copies_;
};

}  // namespace

BenchWork::BenchWork(const std::string& name)
    : algo(name), options(find_algorithm(name).make_options()) {}

Space BenchWork::obs() const {
  constexpr int64_t kFrames = 3, kColours = 3, kPixels = 84;
  if (!find_algorithm(algo).image_observations) return Space::unbounded(obs_dim);
  return Space::image(kFrames * kColours, kPixels, kPixels, kFrames);
}

Space BenchWork::action() const {
  const bool choices = find_algorithm(algo).actions == ActionKind::choices;
  return choices ? Space::discrete(action_dim) : Space::unit_box(action_dim);
}

std::string BenchWork::name() const {
  std::vector<std::string> widths;
  for (const int64_t width : options->hidden_sizes) widths.push_back(std::to_string(width));
  const auto obs_shape = obs().shape;
  return fmt::format("{} update, hidden {}, batch {}, obs {}, action {}", algo, join(widths, "-"),
                     options->batch_size, fmt::join(obs_shape, "x"), action_dim);
}

std::unique_ptr<Contender> make_ours(const BenchWork& work, int threads, ProcessGroup* processes) {
  return std::make_unique<Ours>(work, threads, processes);
}

std::unique_ptr<Contender> make_products_only(const Td3BcProducts& size, int threads) {
  return std::make_unique<ProductsOnly>(size, threads);
}

double fma_limit_gflops(int threads) {
  constexpr int64_t kRounds = 2000000;
  ThreadPool pool(threads);
  double best = 0;
  for (int attempt = 0; attempt < 25; ++attempt) {
    std::vector<double> flops(threads);
    const double start = steady_seconds();
    pool.run(threads, [&](int64_t i) { flops[i] = kernels().fma_loop(kRounds); });
    const double seconds = steady_seconds() - start;
    double total = 0;
    for (const double one : flops) total += one;
    best = std::max(best, total / seconds / 1e9);
  }
  return best;
}

}  // namespace rl_training
