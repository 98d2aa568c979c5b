#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rl_training/data/csv_table.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/vector_env.h"
#include "rl_training/util/error.h"
#include "tests/support/memory_state.h"

namespace rl_training {
namespace {

// An environment whose observation is (episode, t). The reward is 10 * episode + t + 0.1 * action.
class Counter final : public Environment {
 public:
  Counter(int64_t terminate_at, int64_t truncate_at)
      : terminate_at_(terminate_at), truncate_at_(truncate_at) {
    spec_.id = "Counter";
    spec_.observation = Space::unbounded(2);
    spec_.action = Space::box({-1}, {1});
  }
  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng&, std::span<double> obs) override {
    ++episode_;
    t_ = 0;
    observe(obs);
  }
  StepResult step(std::span<const double> action, std::span<double> obs) override {
    ++t_;
    observe(obs);
    const auto episode = static_cast<double>(episode_), time = static_cast<double>(t_);
    return {10 * episode + time + 0.1 * action[0], t_ == terminate_at_, t_ == truncate_at_};
  }
  std::vector<double> state() const override { return {}; }
  void set_state(std::span<const double>) override {}
  void observe(std::span<double> obs) const override {
    obs[0] = static_cast<double>(episode_);
    obs[1] = static_cast<double>(t_);
  }
  void visit_state(StateVisitor& state) override {
    state.scalar("episode", episode_);
    state.scalar("t", t_);
  }

 private:
  EnvSpec spec_;
  int64_t terminate_at_, truncate_at_, episode_ = -1, t_ = 0;
};

// As in vector_autoreset_samestep.csv, the first copy terminates at t = 3, and the second copy is
// truncated at t = 4.
void register_counter() {
  for (const EnvInfo& info : environments()) {
    if (info.id == "Counter") return;
  }
  register_environment({"Counter", "counts", [made = 0]() mutable -> std::unique_ptr<Environment> {
                          return ++made % 2 == 1 ? std::make_unique<Counter>(3, -1)
                                                 : std::make_unique<Counter>(-1, 4);
                        }});
}

TEST(VectorEnv, AutoResetEqualsGymnasiumSameStep) {
  register_counter();
  const CsvTable table(std::string(SOURCE_DIR) +
                       "/tests/envs/fixtures/vector_autoreset_samestep.csv");
  const auto value = [&](int64_t row, const char* name) { return table.at(row, table.find(name)); };
  VectorEnv envs("Counter", 2, 0, "env", nullptr);
  ASSERT_GT(table.rows(), 10);
  for (int64_t row = 0; row < table.rows(); row += 2) {
    if (value(row, "step") < 0) {
      envs.reset();
    } else {
      envs.step(std::vector{static_cast<float>(value(row, "action0")),
                            static_cast<float>(value(row + 1, "action0"))});
    }
    for (int64_t i = 0; i < 2; ++i) {
      SCOPED_TRACE(row + i);
      EXPECT_EQ(envs.obs()[2 * i], value(row + i, "obs_episode"));
      EXPECT_EQ(envs.obs()[2 * i + 1], value(row + i, "obs_t"));
      EXPECT_EQ(envs.rewards()[i], value(row + i, "reward"));
      EXPECT_EQ(envs.terminated()[i], value(row + i, "terminated"));
      EXPECT_EQ(envs.truncated()[i], value(row + i, "truncated"));
      const bool reset = !std::isnan(value(row + i, "final_obs_t"));
      EXPECT_EQ(reset, envs.terminated()[i] || envs.truncated()[i]);
      EXPECT_EQ(envs.final_obs()[2 * i],
                value(row + i, reset ? "final_obs_episode" : "obs_episode"));
      EXPECT_EQ(envs.final_obs()[2 * i + 1], value(row + i, reset ? "final_obs_t" : "obs_t"));
    }
  }
}

// Returns all results of `steps` steps with fixed actions.
std::vector<double> trace(VectorEnv& envs, int steps) {
  std::vector<double> seen;
  for (int step = 0; step < steps; ++step) {
    std::vector<float> actions;
    for (int64_t i = 0; i < envs.count(); ++i) {
      actions.push_back(static_cast<float>(std::sin(0.1 * step + static_cast<double>(i))));
    }
    envs.step(actions);
    seen.insert(seen.end(), envs.obs().begin(), envs.obs().end());
    seen.insert(seen.end(), envs.final_obs().begin(), envs.final_obs().end());
    seen.insert(seen.end(), envs.rewards().begin(), envs.rewards().end());
    seen.insert(seen.end(), envs.truncated().begin(), envs.truncated().end());
  }
  return seen;
}

// Counter counts its steps in its observation.
TEST(VectorEnv, ARestingCopyIsNotSteppedUntilItIsReset) {
  register_counter();
  VectorEnv envs("Counter", 2, 0, "env", nullptr);
  envs.reset();
  const std::vector actions{0.0f, 0.0f};
  envs.step(actions);
  const float episode = envs.obs()[0], time = envs.obs()[1];
  EXPECT_EQ(time, 1);
  envs.rest(0);
  envs.step(actions);
  EXPECT_EQ(envs.obs()[0], episode);
  EXPECT_EQ(envs.obs()[1], time);
  EXPECT_EQ(envs.obs()[3], 2);
  envs.reset_one(0);
  EXPECT_EQ(envs.obs()[0], episode + 1);
  envs.step(actions);
  EXPECT_EQ(envs.obs()[1], 1);
  EXPECT_EQ(envs.obs()[3], 3);
}

TEST(VectorEnv, ThreadsDoNotChangeABit) {
  VectorEnv alone("Pendulum-v1", 5, 3, "env", nullptr);
  alone.reset();
  const auto expected = trace(alone, 450);
  for (const int threads : {1, 2, 8}) {
    ThreadPool pool(threads);
    VectorEnv envs("Pendulum-v1", 5, 3, "env", &pool);
    envs.reset();
    EXPECT_EQ(trace(envs, 450), expected) << threads;
  }
}

// 3000 environments are enough for the thread pool to be used.
TEST(VectorEnv, ThreadsDoNotChangeABitOfMany) {
  VectorEnv alone("Pendulum-v1", 3000, 3, "env", nullptr);
  ThreadPool pool(4);
  VectorEnv shared("Pendulum-v1", 3000, 3, "env", &pool);
  alone.reset();
  shared.reset();
  EXPECT_EQ(trace(shared, 20), trace(alone, 20));
}

// An environment that returns the given reward and observation from its third step on.
class Broken final : public Environment {
 public:
  Broken(double reward, double observation) : reward_(reward), observation_(observation) {
    spec_.id = "Broken";
    spec_.observation = Space::unbounded(2);
    spec_.action = Space::box({-1}, {1});
  }
  const EnvSpec& spec() const override { return spec_; }
  void reset(Rng&, std::span<double> obs) override { observe(obs); }
  StepResult step(std::span<const double>, std::span<double> obs) override {
    ++t_;
    observe(obs);
    return {t_ < 3 ? 0.0 : reward_, false, false};
  }
  std::vector<double> state() const override { return {}; }
  void set_state(std::span<const double>) override {}
  void observe(std::span<double> obs) const override {
    obs[0] = 1;
    obs[1] = t_ < 3 ? 0.0 : observation_;
  }
  void visit_state(StateVisitor& state) override { state.scalar("t", t_); }

 private:
  EnvSpec spec_;
  double reward_, observation_;
  int64_t t_ = 0;
};

TEST(VectorEnv, StopsWhereATaskReturnsWhatIsNotFinite) {
  static double reward, observation;
  register_environment(
      {"Broken", "", [] { return std::make_unique<Broken>(reward, observation); }});
  const double infinite = std::numeric_limits<double>::infinity();
  struct Case {
    double reward, observation;
    const char* said;
  };
  for (const Case& broken : {Case{std::nan(""), 0, "Broken: the reward of a step is not finite"},
                             Case{-infinite, 0, "Broken: the reward of a step is not finite"},
                             Case{1e300, 0, "Broken: the reward of a step is not finite"},
                             Case{0, std::nan(""), "Broken: observation 1 of a step is not finite"},
                             Case{0, 1e39, "Broken: observation 1 of a step is not finite"}}) {
    reward = broken.reward;
    observation = broken.observation;
    VectorEnv envs("Broken", 1, 0, "env", nullptr);
    envs.reset();
    envs.step(std::vector{0.0f});
    envs.step(std::vector{0.0f});
    try {
      envs.step(std::vector{0.0f});
      ADD_FAILURE() << "not stopped: " << broken.said;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::diverged);
      EXPECT_TRUE(error.message().starts_with(broken.said)) << error.message();
    }
  }
}

TEST(VectorEnv, StreamsAreNamed) {
  VectorEnv train("Pendulum-v1", 2, 3, "env", nullptr), eval("Pendulum-v1", 2, 3, "eval", nullptr);
  train.reset();
  eval.reset();
  EXPECT_NE(train.obs()[0], eval.obs()[0]);
  EXPECT_NE(train.obs()[0], train.obs()[3]);
  // Environment i draws from the random stream "<purpose>/<i>".
  Rng rng(3, "env/1");
  const auto env = make_environment("Pendulum-v1");
  std::vector<double> obs(3);
  env->reset(rng, obs);
  EXPECT_EQ(train.obs()[3], static_cast<float>(obs[0]));
  // Resetting one environment does not affect the others.
  const float first = train.obs()[0], second = train.obs()[3];
  train.reset_one(1);
  EXPECT_EQ(train.obs()[0], first);
  EXPECT_NE(train.obs()[3], second);
}

TEST(VectorEnv, ClipsAndScalesActions) {
  VectorEnv envs("Pendulum-v1", 2, 0, "env", nullptr);
  VectorEnv same("Pendulum-v1", 2, 0, "env", nullptr);
  envs.reset();
  same.reset();
  envs.step(std::vector{3.0f, 0.5f});
  same.step(std::vector{1.0f, 0.5f});
  EXPECT_EQ(envs.rewards()[0], same.rewards()[0]);
  // The action 0.5 in [-1, 1] corresponds to a torque of 1.
  Rng rng(0, "env/1");
  const auto env = make_environment("Pendulum-v1");
  std::vector<double> obs(3);
  env->reset(rng, obs);
  EXPECT_EQ(envs.rewards()[1], env->step(std::vector{1.0}, obs).reward);

  EXPECT_THROW(envs.step(std::vector{0.0f}), Error);
  try {
    envs.step(std::vector{0.0f, NAN});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::diverged);
  }
}

TEST(VectorEnv, StateCarriesOver) {
  VectorEnv envs("Pendulum-v1", 3, 9, "env", nullptr), other("Pendulum-v1", 3, 1, "env", nullptr);
  envs.reset();
  trace(envs, 130);
  MemoryState state;
  state.save(envs);
  state.restore(other);
  EXPECT_TRUE(std::equal(envs.obs().begin(), envs.obs().end(), other.obs().begin()));
  EXPECT_EQ(trace(envs, 300), trace(other, 300));  // covers the next two resets
}

}  // namespace
}  // namespace rl_training
