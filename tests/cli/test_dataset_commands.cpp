#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <vector>

#include "rl_training/data/dataset_file.h"
#include "rl_training/data/npz_writer.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Tests the dataset commands on files that other programs could have written.
class DatasetCommands : public testing::Test {
 protected:
  std::string in(const std::string& name) const { return directory_ / name; }

  // Writes episodes of 100 steps that end by time-out. The file has no next observations, and
  // actions are torques up to 2.
  std::string write_log(const std::string& name, int episodes) const {
    const int64_t rows = 100 * episodes;
    std::vector<float> obs, actions, rewards;
    std::vector<uint8_t> terminals(static_cast<size_t>(rows), 0), timeouts = terminals;
    for (int64_t row = 0; row < rows; ++row) {
      const auto at = static_cast<float>(row);
      obs.insert(obs.end(), {std::sin(0.05f * at), std::cos(0.05f * at), 0.01f * at});
      actions.push_back(2 * std::sin(0.7f * at));
      rewards.push_back(0.01f * static_cast<float>(row % 37));
      timeouts[static_cast<size_t>(row)] = row % 100 == 99 ? 1 : 0;
    }
    NpzWriter file;
    file.add("observations", std::array{rows, int64_t{3}}, std::span<const float>(obs));
    file.add("actions", std::array{rows, int64_t{1}}, std::span<const float>(actions));
    file.add("rewards", std::array{rows}, std::span<const float>(rewards));
    file.add_flags("terminals", terminals);
    file.add_flags("timeouts", timeouts);
    write_all(in(name), file.bytes());
    return in(name);
  }

  // Writes a file with the discrete actions 0 to 2, stored as one number per row.
  template <class T>
  std::string write_choices(const std::string& name) const {
    constexpr int64_t kRows = 30;
    std::vector<float> obs;
    std::vector<T> actions;
    std::vector<uint8_t> terminals;
    for (int64_t row = 0; row < kRows; ++row) {
      obs.push_back(static_cast<float>(row));
      actions.push_back(static_cast<T>(row % 3));
      terminals.push_back(row % 10 == 9 ? 1 : 0);
    }
    NpzWriter file;
    file.add("observations", std::array{kRows, int64_t{1}}, std::span<const float>(obs));
    file.add("actions", std::array{kRows}, std::span<const T>(actions));
    file.add("rewards", std::array{kRows}, std::span<const float>(obs));
    file.add_flags("terminals", terminals);
    write_all(in(name), file.bytes());
    return in(name);
  }

  static TransitionDataset load(const std::string& path, TimeoutPolicy policy) {
    DatasetReadOptions options;
    options.timeout_policy = policy;
    return load_dataset_file("auto", path, options);
  }

  // Compares everything that training reads.
  static void expect_same_transitions(const TransitionDataset& a, const TransitionDataset& b) {
    ASSERT_EQ(a.rows(), b.rows());
    ASSERT_EQ(a.episodes().size(), b.episodes().size());
    for (int64_t row = 0; row < a.rows(); ++row) {
      EXPECT_EQ(a.action(row)[0], b.action(row)[0]) << row;
      EXPECT_EQ(a.reward(row), b.reward(row)) << row;
      EXPECT_EQ(a.terminated(row), b.terminated(row)) << row;
      ASSERT_EQ(a.next_action_valid(row), b.next_action_valid(row)) << row;
      if (a.next_action_valid(row)) {
        EXPECT_EQ(a.next_action(row)[0], b.next_action(row)[0]) << row;
      }
      for (int k = 0; k < 3; ++k) {
        EXPECT_EQ(a.obs(row)[k], b.obs(row)[k]) << row;
        EXPECT_EQ(a.next_obs(row)[k], b.next_obs(row)[k]) << row;
      }
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(DatasetCommands, ConvertMarksTheNewEndsOfEpisodes) {
  const auto log = write_log("log.npz", 5);
  const auto original = load(log, TimeoutPolicy::keep);
  const std::vector<std::vector<std::string>> outputs = {
      {in("a.npz")}, {in("a.hdf5")}, {in("a-v0"), "--to", "minari"}};
  for (const auto& output : outputs) {
    std::vector<std::string> words = {"dataset", "convert", log};
    words.insert(words.end(), output.begin(), output.end());
    const auto made = run(words);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_TRUE(contains(made.err,
                         "dropped 5 of 500 rows: they end an episode without termination, and the "
                         "observation after them is not in the file; the row before each of them "
                         "is now the end of its episode by time-out"))
        << made.err;
    const auto report = run({"dataset", "inspect", output[0], "--json"}).json();
    EXPECT_EQ(report["rows"], 495) << output[0];
    EXPECT_EQ(report["timeouts"], 5) << output[0];
    EXPECT_EQ(report["transitions"], 495) << output[0];
    for (const auto& warning : report["warnings"]) {
      EXPECT_NE(warning["code"], "no_episode_end") << output[0];
      EXPECT_NE(warning["code"], "cut_tail") << output[0];
    }
    expect_same_transitions(original, load(output[0], TimeoutPolicy::keep));
  }
  // The written D4RL file has an extra row for the last observation of each episode. Loading it
  // with the time-out policy `drop` therefore loses no transition.
  expect_same_transitions(original, load(in("a.hdf5"), TimeoutPolicy::drop));
}

TEST_F(DatasetCommands, ConvertingADroppedFileAgainChangesNothing) {
  const auto log = write_log("log.npz", 3);
  const auto hdf5 = in("log.hdf5");
  const auto made = run({"dataset", "convert", log, hdf5, "--timeout-policy", "drop"});
  EXPECT_TRUE(contains(made.err, "dropped 3 of 300 rows: timeout_policy drop")) << made.err;
  const auto original = load(log, TimeoutPolicy::drop);
  expect_same_transitions(original, load(hdf5, TimeoutPolicy::drop));
  expect_same_transitions(original, load(hdf5, TimeoutPolicy::keep));
  const auto again = run({"dataset", "convert", hdf5, in("again.hdf5")});
  EXPECT_EQ(again.err, "");
  EXPECT_EQ(read_all(hdf5), read_all(in("again.hdf5")));
}

TEST_F(DatasetCommands, TrainingAcceptsAConvertedLogWithoutWarnings) {
  const auto hdf5 = in("log.hdf5");
  run({"dataset", "convert", write_log("log.npz", 5), hdf5});
  const auto trained =
      run({"train", "--config", "td3_bc/pendulum-replay", "--strict-data", "--set",
           "algo_kwargs.dataset_kind=d4rl", "--set", "algo_kwargs.dataset_path=" + hdf5, "--set",
           "total_timesteps=2", "--set", "eval_episodes=0", "--set", "output_dir=" + in("runs")});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
}

TEST_F(DatasetCommands, MixMarksTheNewEndsOfEpisodes) {
  const auto a = write_log("a.npz", 2), b = write_log("b.npz", 3);
  run({"dataset", "mix", in("both.npz"), a, b});
  const auto report = run({"dataset", "inspect", in("both.npz"), "--json"}).json();
  EXPECT_EQ(report["rows"], 495);
  EXPECT_EQ(report["episodes"], 5);
  EXPECT_EQ(report["timeouts"], 5);
}

TEST_F(DatasetCommands, AnInputIsNeverOverwritten) {
  const auto log = write_log("log.npz", 1), other = write_log("other.npz", 1);
  std::filesystem::create_symlink(log, in("link.npz"));
  std::filesystem::create_hard_link(log, in("hard.npz"));
  std::filesystem::create_directory(in("parts"));
  std::filesystem::copy_file(log, in("parts/run1.npz"));
  const auto before = read_all(log);
  const std::vector<std::vector<std::string>> commands = {
      {"convert", "log.npz", "log.npz"},    {"convert", "log.npz", "./parts/../log.npz"},
      {"convert", log, "log.npz"},          {"convert", "log.npz", "link.npz"},
      {"convert", "log.npz", "hard.npz"},   {"convert", "parts", "parts/run1.npz"},
      {"mix", "log.npz", "other.npz", log}, {"mix", "link.npz", log, "other.npz"},
  };
  Program::Input input;
  input.working_directory = directory_.path();
  for (auto words : commands) {
    words.insert(words.begin(), "dataset");
    const auto refused = run(words, input);
    EXPECT_EQ(refused.exit_code, 2) << words[2] << " " << words[3];
    EXPECT_TRUE(refused.one_error_line()) << refused.err;
    EXPECT_TRUE(contains(refused.err, "is also the input")) << refused.err;
    EXPECT_EQ(read_all(log), before);
  }
  std::filesystem::copy_file(SOURCE_DIR "/tests/data/fixtures/d4rl/pendulum_no_next_gzip.hdf5",
                             in("policy.hdf5"));
  const auto collected = run({"dataset", "collect", "policy.hdf5", "--policy", "policy.hdf5",
                              "--env", "Pendulum-v1", "--size", "10"},
                             input);
  EXPECT_EQ(collected.exit_code, 2);
  EXPECT_TRUE(contains(collected.err, "policy.hdf5: is also the input")) << collected.err;
}

TEST_F(DatasetCommands, IntegersOnePerRowAreDiscreteActions) {
  const auto path = write_choices<int64_t>("choices.npz");
  const auto report = run({"dataset", "inspect", path, "--json"}).json();
  EXPECT_EQ(report["choices"], 3);
  EXPECT_EQ(report["histograms"]["actions"][0]["counts"], Json({10, 10, 10}));
  EXPECT_EQ(report["advice"]["algorithms"][0]["algo"], "discrete_cql");
  for (const auto& name : {"again.npz", "again.hdf5"}) {
    ASSERT_EQ(run({"dataset", "convert", path, in(name)}).exit_code, 0) << name;
    EXPECT_EQ(run({"dataset", "inspect", in(name), "--json"}).json()["choices"], 3) << name;
  }
  const auto floats = run({"dataset", "inspect", write_choices<float>("floats.npz")});
  EXPECT_EQ(floats.exit_code, 3);
  EXPECT_TRUE(contains(
      floats.err,
      "floats.npz: actions: wrong shape (expected (30, 1) for one continuous action; for discrete "
      "actions integers, --env or a discrete algorithm; got (30,) of floats)"))
      << floats.err;
}

// Runs every command that `inspect` suggests for files without an environment. Each command is
// shortened to two updates.
TEST_F(DatasetCommands, SuggestedCommandsTrain) {
  int commands = 0;
  for (const auto& path : {write_log("log.npz", 5), write_choices<int64_t>("choices.npz")}) {
    const auto report = run({"dataset", "inspect", path, "--json"}).json();
    for (const auto& algorithm : report["advice"]["algorithms"]) {
      std::istringstream text(algorithm["command"].get<std::string>());
      std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
      words.erase(words.begin());  // removes the name of the program
      for (const auto& word : {"total_timesteps=2", "algo_kwargs.hidden_sizes=[8]"}) {
        words.insert(words.end(), {"--set", word});
      }
      words.insert(words.end(), {"--set", "output_dir=" + in("runs")});
      const auto trained = run(words);
      EXPECT_EQ(trained.exit_code, 0) << algorithm["command"] << trained.err;
      ++commands;
    }
  }
  EXPECT_GE(commands, 5);
}

TEST_F(DatasetCommands, InspectShowsActionsInTheUnitsOfTheFile) {
  const auto log = write_log("log.npz", 1);
  const auto alone = run({"dataset", "inspect", log, "--json"}).json();
  for (const auto& warning : alone["warnings"]) EXPECT_NE(warning["code"], "action_out_of_bounds");
  const auto known = run({"dataset", "inspect", log, "--env", "Pendulum-v1", "--json"}).json();
  for (const char* key : {"min", "max", "mean", "std"}) {
    EXPECT_NEAR(known["actions"][0][key].get<double>(), alone["actions"][0][key].get<double>(),
                1e-6)
        << key;
  }
  EXPECT_GT(known["actions"][0]["max"], 1.9);
  const auto& bars = known["histograms"]["actions"][0];
  EXPECT_NEAR(bars["high"].get<double>(), known["actions"][0]["max"].get<double>(), 1e-6);
  EXPECT_EQ(bars["counts"], alone["histograms"]["actions"][0]["counts"]);
}

TEST_F(DatasetCommands, ValuesThatAreNotFiniteAreCounted) {
  const std::string head = "obs,action,reward,terminated\n1,2,3,0\n2,NaN,1,0\n";
  write_all(in("log.csv"), head + "3,1,1,0\n4,1,2,1\n");
  const auto refused = run({"dataset", "inspect", in("log.csv")});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_TRUE(contains(refused.err,
                       "log.csv:3: action: not a number (expected one, got NaN): remove line 3 "
                       "(row 1, counted from 0) or fill in a value; no other row lacks it"))
      << refused.err;
  write_all(in("log.csv"), head + "inf,1,1,0\n4,1,2,1\n");
  const auto report =
      run({"dataset", "inspect", in("log.csv"), "--allow-nonfinite", "--json"}).json();
  Json found;
  for (const auto& warning : report["warnings"]) {
    if (warning["code"] == "not_finite") found = warning;
  }
  EXPECT_EQ(found["row"], 1);
  EXPECT_EQ(found["message"],
            "2 rows contain NaN or infinity, from which nothing can be learnt: remove them or fill "
            "in values");
}

TEST_F(DatasetCommands, NamesAreKeptByEveryFormat) {
  write_all(in("log.csv"),
            "angle [deg],speed,torque,reward,failed\n1,2,3,1,0\n2,4,5,2,0\n3,5,1,1,1\n");
  const std::string keys = "obs=angle,speed action=torque terminated=failed";
  for (const auto& name : {"log.npz", "log.hdf5"}) {
    run({"dataset", "convert", in("log.csv"), in(name), "--keys", keys});
    const auto report = run({"dataset", "inspect", in(name), "--json"}).json();
    EXPECT_EQ(report["observation_names"], Json({"angle [deg]", "speed"})) << name;
    EXPECT_EQ(report["action_names"], Json({"torque"})) << name;
  }
}

TEST_F(DatasetCommands, MixNamesFilesThatDoNotFit) {
  const auto log = write_log("log.npz", 1);
  write_all(in("other.csv"), "obs,action,reward,terminated\n1,2,3,0\n2,1,1,1\n");
  const auto mixed = run({"dataset", "mix", in("both.npz"), log, in("other.csv")});
  EXPECT_EQ(mixed.exit_code, 3);
  EXPECT_TRUE(contains(mixed.err, in("other.csv") + " has other observations or actions than " +
                                      log + " (expected "))
      << mixed.err;
}

}  // namespace
}  // namespace rl_training
