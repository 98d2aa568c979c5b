#include <gtest/gtest.h>

#include <map>

#include "tests/support/program.h"

namespace rl_training {
namespace {

TEST(Information, AlgorithmsAndTheirKeys) {
  const auto list = run({"algorithms", "--json"}).json()["algorithms"];
  ASSERT_GE(list.size(), 1u);
  EXPECT_EQ(list[0]["name"], "td3_bc");
  std::map<std::string, std::string> kinds;
  for (const auto& info : list) {
    kinds[info["name"]] =
        info["learns"].get<std::string>() + " " + info["actions"].get<std::string>();
  }
  EXPECT_EQ(kinds["td3_bc"], "offline continuous");
  EXPECT_EQ(kinds["rlpd"], "both continuous");
  EXPECT_EQ(kinds["sac"], "online continuous");
  EXPECT_EQ(kinds["dqn"], "online discrete");
  EXPECT_EQ(kinds["discrete_cql"], "offline discrete");
  EXPECT_EQ(kinds["ppo"], "online both");

  const auto one = run({"algorithms", "td3_bc", "--json"}).json();
  EXPECT_EQ(one["name"], "td3_bc");
  EXPECT_EQ(one["paper"], list[0]["paper"]);
  EXPECT_NE(one["metrics"].dump().find("critic_loss"), std::string::npos);
  bool found = false;
  for (const auto& option : one["options"]) {
    if (option["key"] != "policy_delay") continue;
    found = true;
    EXPECT_EQ(option["default"], "2");
    EXPECT_EQ(option["range"], ">= 1");
    EXPECT_FALSE(option["meaning"].get<std::string>().empty());
  }
  EXPECT_TRUE(found);

  const auto online_keys = [](const char* name) {
    return run({"algorithms", name, "--json"}).json()["online_options"].dump();
  };
  EXPECT_NE(online_keys("awac").find("online.offline_batch_ratio"), std::string::npos);
  EXPECT_EQ(online_keys("sac"), "[]");
  const auto metrics = run({"algorithms", "rlpd", "--json"}).json()["metrics"].dump();
  for (const char* metric : {"pretrain_updates_done", "offline_batch_size", "online_batch_size"}) {
    EXPECT_NE(metrics.find(metric), std::string::npos) << metric;
  }
  const auto text = run({"algorithms", "td3_bc"}).out;
  EXPECT_NE(text.find("\npolicy_delay "), std::string::npos) << text;
}

TEST(Information, EnvironmentsAndTheirBounds) {
  const auto list = run({"envs", "--json"}).json()["environments"];
  ASSERT_GE(list.size(), 1u);
  EXPECT_EQ(list[0]["id"], "Pendulum-v1");

  const auto one = run({"envs", "Pendulum-v1", "--json"}).json();
  EXPECT_EQ(one["obs_dim"], 3);
  EXPECT_EQ(one["obs_high"], Json({1.0, 1.0, 8.0}));
  EXPECT_EQ(one["action_dim"], 1);
  EXPECT_EQ(one["action_low"], Json::array({-2.0}));
  EXPECT_EQ(one["max_episode_steps"], 200);
  EXPECT_NE(one["recipes"].dump().find("pendulum/medium"), std::string::npos);
}

TEST(Information, ConfigsAreListedCheckedAndShown) {
  const auto names = run({"config", "list", "--json"}).json()["configs"];
  EXPECT_NE(names.dump().find("td3_bc/pendulum"), std::string::npos);
  const auto check = run({"config", "check", "td3_bc/pendulum", "--set", "gamma=0.5"});
  EXPECT_EQ(check.exit_code, 0);
  EXPECT_TRUE(check.out.starts_with("ok: td3_bc/pendulum")) << check.out;
  const auto online = run({"config", "check", "td3_bc/pendulum", "--set", "online=500"}).out;
  EXPECT_NE(online.find("10000 updates, then 500 environment steps"), std::string::npos) << online;

  const std::vector<std::string> show = {"config", "show", "--set", "gamma=0.5", "td3_bc/pendulum"};
  auto with_json = show;
  with_json.emplace_back("--json");
  const auto config = run(with_json).json();
  EXPECT_EQ(config["algo_kwargs"]["gamma"], 0.5);
  EXPECT_EQ(config["algo_kwargs"]["tau"], 0.005);

  // The output is a config file that describes the same config.
  const TemporaryDirectory directory;
  write_all(directory / "shown.yaml", run(show).out);
  EXPECT_EQ(run({"config", "show", directory / "shown.yaml", "--json"}).json(), config);
}

TEST(Information, ReplayComparesWithARecording) {
  const std::string fixtures = SOURCE_DIR "/tests/envs/fixtures/";
  const auto report = run({"env", "replay", "--env", "Pendulum-v1", "--trajectory",
                           fixtures + "pendulum_traj0.csv", "--json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto json = report.json();
  EXPECT_GT(json["steps"].get<int64_t>(), 0);
  EXPECT_LT(json["max_obs_diff"].get<double>(), 1e-6);
  EXPECT_LT(json["max_reward_diff"].get<double>(), 1e-6);
  EXPECT_EQ(json["flag_mismatches"], 0);

  const auto missing = run({"env", "replay", "--env", "Pendulum-v1", "--trajectory", "no.csv"});
  EXPECT_TRUE(missing.exit_code == 3 || missing.exit_code == 6) << missing.exit_code;
  EXPECT_TRUE(missing.one_error_line()) << missing.err;
}

TEST(Information, DoctorNamesWhatSlowsTrainingDown) {
  ::setenv("OMP_NUM_THREADS", "7", 1);
  ::setenv("RL_TRAINING_KERNELS", "baseline", 1);
  const auto advice = run({"doctor", "--json"}).json()["advice"].dump();
  ::unsetenv("OMP_NUM_THREADS");
  ::unsetenv("RL_TRAINING_KERNELS");
  EXPECT_NE(advice.find("OMP_NUM_THREADS=7"), std::string::npos) << advice;
  EXPECT_NE(advice.find("baseline"), std::string::npos) << advice;
}

TEST(Information, DoctorFindsThisBuildInOrder) {
  const TemporaryDirectory directory;
  Program::Input input;
  input.working_directory = directory.path();
  const auto result = run({"doctor", "--json"}, input);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto json = result.json();
  EXPECT_EQ(json["ok"], true) << json;
  for (const char* key :
       {"version", "commit", "build_type", "compiler", "instruction_set", "torch", "onednn"}) {
    EXPECT_FALSE(json[key].get<std::string>().empty()) << key;
  }
  EXPECT_GE(json["cores"].get<int>(), 1);
  EXPECT_EQ(json["checks"].size(), 3u);
  ASSERT_GE(json["parts"].size(), 5u);
  for (const auto& part : json["parts"]) EXPECT_FALSE(part["install"].get<std::string>().empty());
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace rl_training
