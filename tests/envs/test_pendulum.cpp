#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "rl_training/data/csv_table.h"
#include "rl_training/envs/pendulum.h"
#include "rl_training/envs/registry.h"
#include "rl_training/envs/replay.h"
#include "rl_training/util/error.h"
#include "tests/support/memory_state.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

const std::string kFixtures = std::string(SOURCE_DIR) + "/tests/envs/fixtures/";

void expect_exact(const std::string& path) {
  SCOPED_TRACE(path);
  const auto report = replay_trajectory("Pendulum-v1", path);
  EXPECT_EQ(report.steps, 200);
  EXPECT_EQ(report.max_obs_diff, 0.0);
  EXPECT_EQ(report.max_reward_diff, 0.0);
  EXPECT_EQ(report.flag_mismatches, 0);
}

TEST(Pendulum, RecordingsAreBitEqual) {
  expect_exact(kFixtures + "pendulum_traj0.csv");
  expect_exact(kFixtures + "pendulum_traj1.csv");
}

TEST(Pendulum, InnerStatesAreBitEqual) {
  const CsvTable table(kFixtures + "pendulum_traj1.csv");
  Pendulum env;
  std::vector<double> obs(3);
  env.set_state(std::vector{table.at(0, table.find("state0")), table.at(0, table.find("state1"))});
  for (int64_t row = 0; row < table.rows(); ++row) {
    env.step(std::vector{table.at(row, table.find("action0"))}, obs);
    ASSERT_EQ(env.state()[0], table.at(row, table.find("next_state0"))) << row;
    ASSERT_EQ(env.state()[1], table.at(row, table.find("next_state1"))) << row;
  }
}

TEST(Pendulum, SeededResetsEqualGymnasium) {
  const CsvTable table(kFixtures + "seeded_reset_pendulum.csv");
  ASSERT_GT(table.rows(), 0);
  for (int64_t row = 0; row < table.rows(); ++row) {
    Rng rng(static_cast<uint64_t>(table.at(row, table.find("seed"))));
    const auto env = make_environment("Pendulum-v1");
    std::vector<double> obs(3);
    env->reset(rng, obs);
    EXPECT_EQ(env->state()[0], table.at(row, table.find("state0")));
    EXPECT_EQ(env->state()[1], table.at(row, table.find("state1")));
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(obs[i], table.at(row, table.find("obs" + std::to_string(i))));
    }
  }
}

TEST(Pendulum, TimeLimitTruncatesAndCountsAnew) {
  const auto env = make_environment("Pendulum-v1");
  EXPECT_EQ(env->spec().max_episode_steps, 200);
  Rng rng(0);
  std::vector<double> obs(3);
  for (int episode = 0; episode < 2; ++episode) {
    env->reset(rng, obs);
    for (int step = 1; step <= 200; ++step) {
      const auto result = env->step(std::vector{0.0}, obs);
      ASSERT_EQ(result.truncated, step == 200) << step;
      ASSERT_FALSE(result.terminated);
    }
  }
}

TEST(Pendulum, StateCarriesOverWithTheStepCount) {
  const auto env = make_environment("Pendulum-v1"), other = make_environment("Pendulum-v1");
  Rng rng(0);
  std::vector<double> a(3), b(3);
  env->reset(rng, a);
  for (int step = 0; step < 150; ++step) env->step(std::vector{1.5}, a);
  MemoryState state;
  state.save(*env);
  state.restore(*other);
  for (int step = 151; step <= 200; ++step) {
    const auto first = env->step(std::vector{-0.7}, a), second = other->step(std::vector{-0.7}, b);
    ASSERT_EQ(first.reward, second.reward);
    ASSERT_EQ(a, b);
    ASSERT_EQ(second.truncated, step == 200);
  }
}

TEST(Registry, UnknownIdsGetASuggestion) {
  try {
    make_environment("Pendulum-v0");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_EQ(error.place().key, "env_id");
    EXPECT_NE(error.message().find("did you mean `Pendulum-v1`?"), std::string::npos);
  }
  EXPECT_THROW(register_environment(environments().front()), Error);
}

class ReplayTest : public testing::Test {
 protected:
  ReplayReport replay(const std::string& rows) {
    path_ = directory_ / "t.csv";
    std::ofstream(path_) << "state0,state1,action0,obs0,obs1,obs2,reward,terminated,truncated\n"
                         << rows;
    return replay_trajectory("Pendulum-v1", path_);
  }
  std::string problem(const std::string& rows) {
    try {
      replay(rows);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      return std::string(error.what()).substr(path_.size());
    }
    return "no error";
  }
  TemporaryDirectory directory_;
  std::string path_;
};

TEST_F(ReplayTest, MeasuresDifferences) {
  // A pendulum at rest in the upright position does not move and has no cost. The values 0.25, -0.5
  // and 1 in the first row are therefore differences.
  const auto report = replay("0,0,0,1,0,0.25,-0.5,1,0\n0,0,0,1,0,0,0,0,0\n");
  EXPECT_EQ(report.steps, 2);
  EXPECT_EQ(report.max_obs_diff, 0.25);
  EXPECT_EQ(report.max_reward_diff, 0.5);
  EXPECT_EQ(report.flag_mismatches, 1);
}

TEST_F(ReplayTest, SetsTheStateWhereAnEpisodeBegins) {
  const std::string upright = "0,0,0,1,0,0,0,0,";
  EXPECT_EQ(replay(upright + "1\n" + upright + "0\n").max_obs_diff, 0);
  // The recorded state is used only in the first row of an episode. The second row belongs to the
  // same episode, so its state is ignored.
  EXPECT_EQ(replay(upright + "0\n3,1,0,1,0,0,0,0,0\n").max_obs_diff, 0);
  // The second row starts a new episode, so its state is used. The pendulum hangs down, so the
  // cosine differs by two from the recorded observation.
  EXPECT_NEAR(replay(upright + "1\n3.141592653589793,0,0,1,0,0,0,0,0\n").max_obs_diff, 2, 1e-6);
}

TEST_F(ReplayTest, NamesFileAndLineOfAProblem) {
  EXPECT_EQ(problem(""), ": no recorded steps");
  EXPECT_EQ(problem("0,0,0,1,0,0,0,0,0\n0,0,,1,0,0,0,0,0\n"),
            ":3: action0: not a number (expected one, got nothing): remove line 3 (row 1, counted "
            "from 0) or fill in a value; no other row lacks it");
  EXPECT_EQ(problem("0,0,0,1,0,0,0,2,0\n"), ":2: terminated: not a flag (expected 0 or 1)");
  path_ = directory_ / "t.csv";
  std::ofstream(path_) << "state0,action0\n";
  EXPECT_THROW(replay_trajectory("Pendulum-v1", path_), Error);
}

}  // namespace
}  // namespace rl_training
