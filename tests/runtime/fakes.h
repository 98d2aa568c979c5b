#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "rl_training/envs/registry.h"
#include "rl_training/runtime/trainer.h"

namespace rl_training {

// A task whose episodes have three steps by default. The reward is the action, which is 10 times
// the policy's output in [-1, 1]. A test thus controls the returns.
class PayingTask final : public Environment {
 public:
  static constexpr const char* kId = "Paying-v0";

  // Registers the task on the first call.
  static void add_to_table() {
    static const bool added = [] {
      register_environment({kId, "", [] { return std::make_unique<PayingTask>(); }});
      return true;
    }();
    static_cast<void>(added);
  }

  // Each step also increments `total_steps`, which several tasks can share.
  explicit PayingTask(int64_t length = 3, int64_t* total_steps = nullptr)
      : length_(length), total_steps_(total_steps) {
    spec_.id = kId;
    spec_.observation = Space::box({-1}, {1});
    spec_.action = Space::box({-10}, {10});
  }
  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng& rng, std::span<double> obs) override {
    steps_ = 0;
    obs[0] = rng.uniform();
  }
  StepResult step(std::span<const double> action, std::span<double> obs) override {
    obs[0] = 0;
    if (total_steps_ != nullptr) ++*total_steps_;
    return {action[0], ++steps_ == length_, false};
  }
  std::vector<double> state() const override { return {}; }
  void set_state(std::span<const double>) override { steps_ = 0; }
  void observe(std::span<double> obs) const override { obs[0] = 0; }
  void visit_state(StateVisitor& state) override { state.scalar("steps", steps_); }

 private:
  EnvSpec spec_;
  int64_t length_, steps_ = 0;
  int64_t* total_steps_;
};

// An algorithm whose only parameter grows by lr_scale with each update. A test sets its metrics and
// actions.
class FakeAlgorithm final : public Algorithm {
 public:
  std::function<float(int64_t update)> loss = [](int64_t update) { return 1.0f / update; };
  std::function<float(int64_t update)> target_q_mean;  // an optional metric
  std::function<float(int64_t update)> action = [](int64_t) { return 0.5f; };
  // If set, called at the end of each update. It may change the parameter, for example to NaN.
  std::function<void(int64_t update, float& parameter)> spoil;
  std::vector<double> lr_scales;

  Metrics update(const Batch&, double lr_scale) override {
    ++updates_;
    lr_scales.push_back(lr_scale);
    parameter_ += static_cast<float>(lr_scale);
    if (spoil) spoil(updates_, parameter_);
    Metrics metrics;
    metrics.set("loss", torch::tensor(loss(updates_)));
    metrics.set("late", updates_ < 3 ? torch::Tensor() : torch::tensor(2.0f));
    if (target_q_mean) metrics.set("target_q_mean", torch::tensor(target_q_mean(updates_)));
    return metrics;
  }
  torch::Tensor act(const torch::Tensor& obs, PolicyState&, ActMode mode) override {
    EXPECT_EQ(mode, ActMode::greedy);
    return torch::full({obs.size(0), 1}, action(updates_));
  }
  void visit_state(StateVisitor& state) override {
    const std::array<int64_t, 1> shape = {1};
    state.array("parameter", DType::f32, shape, &parameter_);
    state.scalar("updates", updates_);
  }

 private:
  float parameter_ = 0;
  int64_t updates_ = 0;
};

class FakeSampler final : public Sampler {
 public:
  int64_t batches = 0;
  int64_t rows() const override { return 1; }
  void sample(const BatchView&) override { ++batches; }
  void visit_state(StateVisitor& state) override { state.scalar("batches", batches); }
};

// Records rows, checkpoints and warnings.
class RecordingSink final : public RunSink {
 public:
  std::vector<std::string> events;  // rows and checkpoints, in order
  std::vector<Json> rows;
  std::vector<std::string> warnings;
  std::function<void()> on_checkpoint;

  void log(const Json& row) override {
    rows.push_back(row);
    events.push_back(fmt::format("log {}", row["update_count"].get<int64_t>()));
  }
  void checkpoint(int64_t update, bool best) override {
    events.push_back(fmt::format("checkpoint {}{}", update, best ? " best" : ""));
    if (on_checkpoint) on_checkpoint();
  }
  void warn(const std::string& line) override { warnings.push_back(line); }
};

// A trainer and the fake parts that it uses. Change the algorithm and the options before you call
// run().
struct FakeTraining {
  FakeAlgorithm algorithm;
  FakeSampler sampler;
  RecordingSink sink;
  TrainerOptions options;
  PhaseSpec spec{.name = "offline"};
  std::unique_ptr<DataPhase> phase;
  Callbacks callbacks;
  StopRequests requests;
  ObsNormalizer normalizer{1};
  std::unique_ptr<Evaluator> evaluator;
  std::unique_ptr<Trainer> trainer;

  explicit FakeTraining(int64_t updates = 12) {
    options.budget = {updates, 4, "total_timesteps"};
    spec.length = updates;
    options.learning_rate = 0.5;
    options.dataset_size = 77;
    options.eval_interval = options.log_interval = options.checkpoint_interval = 1000;
  }

  void evaluate_every(int64_t interval) {
    PayingTask::add_to_table();
    evaluator = std::make_unique<Evaluator>(PayingTask::kId, 2, 0, nullptr);
    options.eval_interval = interval;
  }

  TrainSummary run() {
    if (!trainer) make_trainer();
    return trainer->run(sink, callbacks, &requests);
  }

  void make_trainer() {
    TrainerParts parts;
    parts.algorithm = &algorithm;
    phase = std::make_unique<DataPhase>(spec, sampler);
    parts.phases = {phase.get()};
    parts.batch = Batch({.rows = 1}, Space::unbounded(1), Space::unit_box(1));
    parts.evaluator = evaluator.get();
    parts.normalizer = &normalizer;
    trainer = std::make_unique<Trainer>(std::move(parts), options);
  }

  void visit_state(StateVisitor& state) {
    state.part("algorithm", algorithm);
    state.part("sampler", sampler);
    state.part("phase", *phase);
    state.part("trainer", *trainer);
  }
};

}  // namespace rl_training
