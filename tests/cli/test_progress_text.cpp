#include <gtest/gtest.h>

#include "cli/progress_text.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

ProgressState halfway() {
  ProgressState state;
  state.position = 4200;
  state.length = 10000;
  state.rate = 1834.4;
  state.losses = {{"target_q_mean", -30.5}, {"critic_loss", 12.345}, {"actor_loss", -0.00001}};
  state.evaluations = {{0, -1277.1, 10}, {2000, -198.2, 5}, {4000, -231.4, 12}};
  return state;
}

TEST(ProgressText, TheViewTellsWhereTheRunStands) {
  const auto lines = progress_lines(halfway(), {80, true});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], " 42%  ████████░░░░░░░░░░░░  4200/10000  1834/s  0:03 left");
  EXPECT_EQ(lines[1], "critic_loss 12.345  actor_loss -1.00e-05  target_q_mean -30.500");
  EXPECT_EQ(lines[2], "eval -231.4  best -198.2 at step 2000  ▁██");
  EXPECT_EQ(progress_lines(halfway(), {80, false})[0],
            " 42%  [########------------]  4200/10000  1834/s  0:03 left");
}

TEST(ProgressText, NoLineIsAsWideAsTheTerminal) {
  auto state = halfway();
  state.length = 1000000000000;
  for (int i = 0; i < 100; ++i) {
    state.evaluations.push_back({i, -1000.0 + i, 1});
    state.losses.emplace_back("another_loss", i);
  }
  for (const size_t width : {10u, 40u, 80u, 120u}) {
    for (const auto& line : progress_lines(state, {width, true})) {
      EXPECT_LT(display_width(line), width) << line;
    }
  }
}

TEST(ProgressText, LinesForPipes) {
  auto state = halfway();
  EXPECT_EQ(evaluation_text(state), "step 4200/10000  1834/s  eval return -231.4 +- 12.0");
  state.evaluations.push_back({4200, -100, 3});
  EXPECT_EQ(evaluation_text(state), "step 4200/10000  1834/s  eval return -100.0 +- 3.0  best");
  EXPECT_EQ(losses_text(state),
            "step 4200/10000  1834/s  critic_loss 12.345  actor_loss -1.00e-05");
  state.rate = 0;
  state.losses.clear();
  EXPECT_EQ(losses_text(state), "step 4200/10000");
}

TEST(ProgressText, ValidationFitsIntoEightyColumns) {
  auto state = halfway();
  state.validation = {{"td_error", 0.024}, {"action_error", 0.31}};
  EXPECT_EQ(validation_text(state),
            "step 4200/10000  1834/s  validation  td_error 0.024  action_error 0.310");
  state.validation.emplace_back("initial_value", -54.995);
  state.validation.emplace_back("advantage", 0.144);
  EXPECT_EQ(validation_text(state),
            "step 4200/10000  1834/s  validation  td_error 0.024  action_error 0.310\n"
            "    initial_value -54.995  advantage 0.144");
}

TEST(ProgressText, Sparklines) {
  EXPECT_EQ(sparkline(std::vector<double>{}, 5, true), "");
  EXPECT_EQ(sparkline(std::vector<double>{3}, 5, true), "▅");
  EXPECT_EQ(sparkline(std::vector<double>{9, 0, 1, 2, 3, 4, 5, 6, 7}, 8, true), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline(std::vector<double>{0, 7}, 8, false), "_#");
}

TEST(ProgressText, Durations) {
  EXPECT_EQ(duration_text(6.6), "0:07");
  EXPECT_EQ(duration_text(750), "12:30");
  EXPECT_EQ(duration_text(10801), "3:00:01");
}

}  // namespace
}  // namespace rl_training
