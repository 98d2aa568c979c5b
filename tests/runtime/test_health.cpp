#include <gtest/gtest.h>

#include <limits>

#include "rl_training/runtime/health.h"
#include "tests/runtime/fakes.h"

namespace rl_training::test_health {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Part {
  std::array<float, 5> first = {0, 1, -2, std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::denorm_min()};
  std::array<float, 1> second = {3};
  int64_t count = -1;  // its bits would be NaN if read as floats
  void visit_state(StateVisitor& state) {
    const std::array<int64_t, 1> five = {5}, one = {1};
    state.scalar("count", count, /*lowest=*/-1);
    state.array("first", DType::f32, five, first.data());
    state.array("second", DType::f32, one, second.data());
  }
};

TEST(Health, NamesTheFirstArrayThatIsNotFinite) {
  Part part;
  EXPECT_EQ(first_nonfinite(part), "");
  for (const float bad : {kNan, kInf, -kInf}) {
    for (size_t i = 0; i < part.first.size(); ++i) {
      Part spoilt;
      spoilt.first[i] = bad;
      EXPECT_EQ(first_nonfinite(spoilt), "first") << i;
    }
    Part spoilt;
    spoilt.second[0] = bad;
    EXPECT_EQ(first_nonfinite(spoilt), "second");
  }
}

// Runs training and checks that it diverges: the error must name this key and this update.
void expect_diverged(FakeTraining& t, const std::string& key, int64_t update) {
  t.options.log_interval = 5;
  t.options.checkpoint_interval = 3;
  try {
    t.run();
    ADD_FAILURE() << "not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::diverged);
    EXPECT_EQ(error.place().key, key);
    EXPECT_NE(error.message().find("not finite at update " + std::to_string(update) + ";"),
              std::string::npos)
        << error.message();
  }
  EXPECT_EQ(t.trainer->update_count(), update);
}

using Events = std::vector<std::string>;

// A metric is not finite from update 7 on. The error is raised before the next row or checkpoint is
// written, here before the checkpoint at update 9.
TEST(Health, AMetricThatIsNotFiniteStopsTraining) {
  for (const float bad : {kNan, kInf, -kInf}) {
    FakeTraining t(100);
    t.algorithm.loss = [bad](int64_t update) { return update >= 7 ? bad : 1.0f; };
    expect_diverged(t, "loss", 9);
    EXPECT_EQ(t.sink.events, (Events{"checkpoint 3", "log 5", "checkpoint 6"}));
  }
}

TEST(Health, AParameterThatIsNotFiniteStopsTraining) {
  for (const float bad : {kNan, kInf, -kInf}) {
    FakeTraining t(100);
    t.algorithm.spoil = [bad](int64_t update, float& parameter) {
      if (update == 7) parameter = bad;
    };
    expect_diverged(t, "parameter", 9);
    EXPECT_EQ(t.sink.events, (Events{"checkpoint 3", "log 5", "checkpoint 6"}));
  }
}

// A policy whose parameters are not finite is not evaluated.
TEST(Health, ComesBeforeAnEvaluation) {
  FakeTraining t(100);
  t.evaluate_every(7);
  int evaluations = 0;
  t.callbacks.on_eval_end = [&](const TrainProgress&, const EvaluationResult&) { ++evaluations; };
  t.algorithm.spoil = [](int64_t update, float& parameter) {
    if (update == 7) parameter = kNan;
  };
  expect_diverged(t, "parameter", 7);
  EXPECT_EQ(evaluations, 1);  // the evaluation before training
}

TEST(Health, ComesBeforeTheLastCheckpoint) {
  FakeTraining t(8);
  t.algorithm.spoil = [](int64_t update, float& parameter) {
    if (update == 8) parameter = kInf;
  };
  expect_diverged(t, "parameter", 8);
  EXPECT_EQ(t.sink.events.back(), "checkpoint 6");
}

TEST(Health, AValueIsPlausibleUpToTenTimesTheSumOfTheLargestRewards) {
  EXPECT_DOUBLE_EQ(plausible_value(2.0, 0.75), 80.0);
}

TEST(Health, ValuesBeyondWhatTheRewardsAllowAreWarnedAboutOnce) {
  for (const float sign : {1.0f, -1.0f}) {
    FakeTraining t(40);
    t.options.log_interval = 5;
    t.options.value_limit = 100;
    t.algorithm.target_q_mean = [sign](int64_t update) { return sign * 10.0f * update; };
    t.run();
    ASSERT_EQ(t.sink.warnings.size(), 1u);  // 100 at update 10 is within the limit
    EXPECT_NE(t.sink.warnings[0].find("150 at update 15, the rewards of the data allow at most 10"),
              std::string::npos)
        << t.sink.warnings[0];
  }
}

TEST(Health, WithoutALimitNoValueIsTooLarge) {
  FakeTraining t(10);
  t.options.log_interval = 5;
  t.algorithm.target_q_mean = [](int64_t) { return 1e30f; };
  t.run();
  EXPECT_EQ(t.sink.warnings, std::vector<std::string>());
}

}  // namespace
}  // namespace rl_training::test_health
