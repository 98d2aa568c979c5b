#include <gtest/gtest.h>

#include "rl_training/util/json.h"
#include "tests/support/program.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

TEST(Dataset, IsRecordedConvertedAndInspected) {
  const TemporaryDirectory directory;
  const auto npz = directory / "random.npz";
  const auto made =
      run({"dataset", "collect", npz, "--env", "Pendulum-v1", "--size", "500", "--json"}).json();
  EXPECT_EQ(made["rows"], 500);
  EXPECT_EQ(made["episodes"], 3);

  const auto hdf5 = directory / "random.hdf5";
  const auto converted = run({"dataset", "convert", npz, hdf5, "--json"}).json();
  EXPECT_EQ(converted["rows"], 500);
  EXPECT_EQ(converted["return_mean"], made["return_mean"]);

  const auto report =
      run({"dataset", "inspect", hdf5, "--timeout-policy", "keep", "--json"}).json();
  EXPECT_EQ(report["kind"], "d4rl");
  EXPECT_EQ(report["rows"], 500);
  EXPECT_EQ(report["episodes"], 3);
  EXPECT_EQ(report["obs_dim"], 3);
  EXPECT_EQ(report["action_dim"], 1);
  EXPECT_EQ(report["transitions"], 500);
  EXPECT_EQ(report["terminals"], 0);
  EXPECT_EQ(report["timeouts"], 3);
}

// A conversion to any format does not change the actions, which are in the units of the
// environment.
TEST(Dataset, ConvertKeepsTheActionsAsTheyAre) {
  const TemporaryDirectory directory;
  const std::string d4rl = SOURCE_DIR "/tests/data/fixtures/d4rl/pendulum_no_next_gzip.hdf5";
  const auto original = run({"dataset", "inspect", d4rl, "--timeout-policy", "keep", "--json"});
  const auto actions = original.json()["actions"];
  EXPECT_GT(actions[0]["max"], 1.5);  // torques up to 2, not scaled to [-1, 1]
  const std::vector<std::vector<std::string>> outputs = {
      {directory / "a.npz"}, {directory / "a.hdf5"}, {directory / "a-v0", "--to", "minari"}};
  for (const auto& output : outputs) {
    std::vector<std::string> words = {"dataset", "convert", d4rl};
    words.insert(words.end(), output.begin(), output.end());
    for (const char* word : {"--env", "Pendulum-v1", "--json"}) words.emplace_back(word);
    const auto made = run(words).json();
    const auto report =
        run({"dataset", "inspect", output[0], "--timeout-policy", "keep", "--json"}).json();
    EXPECT_EQ(report["rows"], original.json()["transitions"]) << output[0];
    EXPECT_EQ(report["transitions"], report["rows"]);
    EXPECT_EQ(report["transitions_reward_sum"], original.json()["transitions_reward_sum"]);
    EXPECT_EQ(made["rows"], report["rows"]);
    EXPECT_NEAR(report["actions"][0]["max"].get<double>(), actions[0]["max"].get<double>(), 1e-12);
  }
}

// The actions of a collected dataset are in the units of the environment, so `inspect` prints no
// warning about action bounds.
TEST(Dataset, CollectWritesTheUnitsOfTheEnvironment) {
  const TemporaryDirectory directory;
  const auto out = directory / "random.npz";
  run({"dataset", "collect", out, "--env", "Pendulum-v1", "--size", "500", "--json"});
  const auto raw = run({"dataset", "inspect", out, "--json"}).json()["actions"][0];
  EXPECT_GT(raw["max"], 1.5);
  EXPECT_LE(raw["max"], 2.0);
  const auto known = run({"dataset", "inspect", out, "--env", "Pendulum-v1", "--json"}).json();
  for (const auto& warning : known["warnings"]) EXPECT_NE(warning["code"], "action_out_of_bounds");
}

TEST(Dataset, MixDrawsByWeight) {
  const TemporaryDirectory directory;
  const auto a = directory / "a.npz", b = directory / "b.npz", out = directory / "mixed.hdf5";
  run({"dataset", "collect", a, "--env", "Pendulum-v1", "--size", "800", "--json"});
  run({"dataset", "collect", b, "--env", "Pendulum-v1", "--size", "400", "--seed", "3", "--json"});
  const auto all = run({"dataset", "mix", out, a, b, "--json"}).json();
  EXPECT_EQ(all["rows"], 1200);
  const std::vector<std::string> words = {"dataset", "mix",    out,    a,        b,   "--weights",
                                          "1,3",     "--size", "1000", "--seed", "5", "--json"};
  const auto drawn = run(words).json();
  EXPECT_EQ(drawn["rows"], 1000);
  EXPECT_EQ(run(words).json()["fingerprint"], drawn["fingerprint"]);
  const auto wrong = run({"dataset", "mix", out, a, b, "--weights", "1", "--json"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.json()["error"]["key"], "--weights");
}

TEST(Dataset, InspectDrawsHistograms) {
  const auto text = run({"dataset", "inspect", SOURCE_DIR "/tests/data/fixtures/csv/steps.csv"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("episode length      2 .. 3"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("█"), std::string::npos) << text.out;
  const auto json =
      run({"dataset", "inspect", SOURCE_DIR "/tests/data/fixtures/csv/steps.csv", "--json"}).json();
  int64_t sum = 0;
  for (const auto& count : json["histograms"]["rewards"]["counts"]) sum += count.get<int64_t>();
  EXPECT_EQ(sum, 7);
}

// Trains on data exported from a spreadsheet, with the command that `inspect` suggests.
TEST(Dataset, InspectEndsWithACommandThatTrains) {
  const TemporaryDirectory directory;
  std::string text = "# units: rad;Nm;;\nangle;torque;reward;failed\n";
  for (int i = 0; i < 300; ++i) {
    text += std::to_string(i % 7) + ",5;0," + std::to_string(i % 10) + ";" + std::to_string(i % 3) +
            (i % 60 == 59 ? ";True\n" : ";False\n");
  }
  write_all(directory / "log.csv", text);
  Program::Input input;
  input.working_directory = directory.path();
  const std::string keys = "obs=angle action=torque terminated=failed";
  const auto report =
      run({"dataset", "inspect", "log.csv", "--keys", keys, "--json"}, input).json();
  EXPECT_EQ(report["observation_names"], Json({"angle [rad]"}));
  EXPECT_EQ(report["action_names"], Json({"torque [Nm]"}));
  EXPECT_EQ(report["transitions"], 300);
  EXPECT_EQ(report["transitions_terminals"], 5);
  const auto& advice = report["advice"];
  ASSERT_FALSE(advice["algorithms"].empty());
  const auto shown = run({"dataset", "inspect", "log.csv", "--keys", keys}, input);
  const auto command = advice["algorithms"][0]["command"].get<std::string>();
  EXPECT_NE(shown.out.find(command), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("observation 0 angle [rad]"), std::string::npos) << shown.out;
  const auto config = advice["algorithms"][0]["config"].get<std::string>();
  const auto trained = run({"train",
                            "--config",
                            config,
                            "--set",
                            "env_id=none",
                            "--set",
                            "eval_episodes=0",
                            "--set",
                            "algo_kwargs.dataset_kind=csv",
                            "--set",
                            "algo_kwargs.dataset_path=log.csv",
                            "--set",
                            "algo_kwargs.timeout_policy=auto",
                            "--set",
                            "algo_kwargs.dataset_keys=" + keys,
                            "--set",
                            "total_timesteps=20",
                            "--set",
                            "algo_kwargs.hidden_sizes=[8]",
                            "--json"},
                           input);
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(trained.json()["update_count"], 20);
}

TEST(Dataset, ABadFileIsOneLineAndExitThree) {
  const auto bad = run({"dataset", "inspect", SOURCE_DIR "/README.md", "--kind", "d4rl", "--json"});
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_NE(bad.err.find("README.md"), std::string::npos);
  EXPECT_EQ(bad.json()["error"]["code"], "data");
}

}  // namespace
}  // namespace rl_training
