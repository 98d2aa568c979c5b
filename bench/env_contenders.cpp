#include "bench/env_contenders.h"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "rl_training/envs/registry.h"
#include "rl_training/envs/vector_env.h"

namespace rl_training {
namespace {

constexpr uint64_t kSeed = 1;

class EnvSteps final : public Contender {
 public:
  explicit EnvSteps(const StepScript& script)
      : script_(script),
        env_(make_environment(script.env_id)),
        obs_(static_cast<size_t>(env_->spec().observation.size())) {}

  double seconds_for(int64_t steps) override {
    Rng rng(kSeed);
    const double start = thread_seconds();
    env_->reset(rng, obs_);
    const auto dims = static_cast<size_t>(script_.action_dim);
    for (int64_t i = 0; i < std::min(steps, script_.steps); ++i) {
      const auto result = env_->step({script_.actions.data() + i * script_.action_dim, dims}, obs_);
      if (result.terminated || result.truncated) env_->reset(rng, obs_);
    }
    return thread_seconds() - start;
  }

 private:
  const StepScript& script_;
  std::unique_ptr<Environment> env_;
  std::vector<double> obs_;
};

class VectorSteps final : public Contender {
 public:
  VectorSteps(const std::string& id, int64_t copies, int threads)
      : pool_(threads), envs_(id, copies, kSeed, "env", &pool_) {
    envs_.reset();
    actions_.resize(static_cast<size_t>(copies * envs_.spec().action.size() * kDifferent));
    Rng(kSeed).fill_uniform(actions_, -1, 1);
  }

  double seconds_for(int64_t steps) override {
    const auto width = static_cast<size_t>(envs_.count() * envs_.spec().action.size());
    const auto step = [&](int64_t i) {
      envs_.step({actions_.data() + static_cast<size_t>(i % kDifferent) * width, width});
    };
    // Start every measurement with new episodes, because the duration of a step depends on the
    // contacts between bodies.
    envs_.reset();
    for (int64_t i = 0; i < kBefore; ++i) step(i);
    const auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i * envs_.count() < steps; ++i) step(kBefore + i);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  static constexpr int64_t kDifferent = 64, kBefore = 3;
  ThreadPool pool_;
  VectorEnv envs_;
  std::vector<float> actions_;
};

}  // namespace

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

StepScript make_step_script(const std::string& env_id, int64_t steps) {
  const auto env = make_environment(env_id);
  const auto& bounds = env->spec().action;
  StepScript script;
  script.env_id = env_id;
  script.steps = steps;
  script.action_dim = bounds.size();
  Rng resets(kSeed), draws(kSeed, "actions");
  std::vector<double> obs(static_cast<size_t>(env->spec().observation.size()));
  const auto begin = [&](int64_t step) {
    env->reset(resets, obs);
    script.starts.push_back({step, env->state()});
  };
  begin(0);
  std::vector<double> action(static_cast<size_t>(bounds.size()));
  for (int64_t i = 0; i < steps; ++i) {
    for (int64_t k = 0; k < bounds.size(); ++k) {
      action[static_cast<size_t>(k)] = bounds.from_unit(k, draws.uniform(-1, 1));
    }
    script.actions.insert(script.actions.end(), action.begin(), action.end());
    const auto result = env->step(action, obs);
    if (result.terminated || result.truncated) begin(i + 1);
  }
  return script;
}

std::unique_ptr<Contender> make_env_steps(const StepScript& script) {
  return std::make_unique<EnvSteps>(script);
}

std::unique_ptr<Contender> make_vector_steps(const std::string& env_id, int64_t copies,
                                             int threads) {
  return std::make_unique<VectorSteps>(env_id, copies, threads);
}

}  // namespace rl_training
