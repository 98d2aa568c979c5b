#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rl_training/util/scratch_directory.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

TEST(Bench, MeasuresAnAlgorithmAtItsDefaultSizes) {
  const auto result =
      run({"bench", "--algo", "td3_bc", "--rounds", "1", "--updates", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = result.json();
  EXPECT_GT(json["machine"]["fma_gflops"].get<double>(), 0);
  ASSERT_EQ(json["results"].size(), 1u);
  const auto& row = json["results"][0];
  EXPECT_EQ(row["name"], "td3_bc update, hidden 256-256, batch 256, obs 17, action 6");
  EXPECT_EQ(row["threads"], 1);
  EXPECT_EQ(row["unit"], "updates/s");
  EXPECT_GT(row["ours"].get<double>(), 0);
  for (const char* key : {"peer", "peer_name", "products_only"}) {
    EXPECT_TRUE(row.at(key).is_null()) << key;
  }
  // Two updates are performed, the warm-up and the measured update, and one of the two has an actor
  // step. Products are counted in units of 2 * 256 operations: a multiplication and an addition for
  // each of the 256 rows. Dot products with the single output of a critic are not counted.
  const double hidden = 256, actor = (17 + hidden + 6) * hidden, critic = (23 + hidden) * hidden;
  const double inner_actor = (hidden + 6) * hidden, inner_critic = hidden * hidden;
  const double critic_step = actor + 4 * critic + 2 * (critic + inner_critic);
  const double actor_step = 2 * actor + inner_actor + critic + inner_critic + 6 * hidden;
  const double products = critic_step + actor_step / 2;
  const double gflops = json["machine"]["fma_gflops"];
  EXPECT_NEAR(row["fma_limit"].get<double>(), gflops * 1e9 / (2 * 256 * products),
              1e-6 * row["fma_limit"].get<double>());
}

TEST(Bench, RefusesUnknownAlgorithms) {
  const auto result = run({"bench", "--algo", "td3bc"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(result.one_error_line()) << result.err;
  EXPECT_NE(result.err.find("did you mean `td3_bc`?"), std::string::npos) << result.err;
}

// TD7 needs priorities, TRPO needs whole rollouts, the Decision Transformer needs segments of
// episodes, and DrQ-v2 needs images.
TEST(Bench, MeasuresAlgorithmsWithSpecialData) {
  const std::vector<std::string> names = {"td7", "trpo", "decision_transformer", "drq_v2"};
  for (const auto& algo : names) {
    const auto result = run(
        {"bench", "--algo", algo, "--hidden", "8,8", "--rounds", "1", "--updates", "1", "--json"});
    ASSERT_EQ(result.exit_code, 0) << algo << ": " << result.err;
    const Json row = result.json()["results"].at(0);
    EXPECT_GT(row["ours"].get<double>(), 0) << algo;
    const std::string obs = algo == "drq_v2" ? "obs 9x84x84," : "obs 17,";
    EXPECT_NE(row["name"].get<std::string>().find(obs), std::string::npos) << row["name"];
  }
}

// Tests `bench` with peers that follow the protocol of bench/peer.py but use no framework.
class BenchPeers : public ::testing::Test {
 protected:
  std::string script(const std::string& name, const std::string& body) {
    const auto path = directory_ / (name + ".py");
    write_all(
        path,
        "import sys\nwords = dict(w[2:].split('=') for w in sys.argv[1:] if '=' in w)\n" + body);
    return path;
  }
  // Writes a peer that reports `seconds` per update on one thread, and proportionally less on
  // several threads.
  std::string peer(const std::string& title, double seconds) {
    return script(title, fmt::format("if words['blas-threads'] != '1': sys.exit(0)\n"
                                     "print('{}', flush=True)\n"
                                     "for line in sys.stdin:\n"
                                     "    rate = {} / int(words['threads'])\n"
                                     "    print(int(line.split()[1]) * rate, flush=True)\n",
                                     title, seconds));
  }
  TemporaryDirectory directory_;
};

TEST_F(BenchPeers, TakeTurnsAtTheirBestSetting) {
  const auto result = run({"bench", "--algo", "sac", "--hidden", "8,8", "--rounds", "1",
                           "--updates", "2", "--threads", "2", "--peer", peer("slow", 4), "--peer",
                           "/usr/bin/python3 " + peer("fast", 0.5), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json row = result.json()["results"].at(0);
  EXPECT_EQ(row["name"], "sac update, hidden 8-8, batch 256, obs 17, action 6");
  EXPECT_EQ(row["threads"], 2);
  EXPECT_EQ(row["peer_name"], "fast");
  EXPECT_NEAR(row["peer"].get<double>(), 4, 1e-9);
  ASSERT_EQ(row["peers"].size(), 2u);
  EXPECT_EQ(row["peers"][0]["name"], "slow");
  EXPECT_NEAR(row["peers"][0]["rate"].get<double>(), 0.5, 1e-9);
  EXPECT_EQ(row["peers"][0]["threads"], 2);
  EXPECT_EQ(row["peers"][0]["blas_threads"], 1);
}

TEST_F(BenchPeers, AreLeftOutWhereTheyFail) {
  const auto broken = script("broken", "sys.exit(3)\n");
  const auto dying = script("dying", "print('dying', flush=True)\nsys.stdin.readline()\n");
  const std::vector<std::string> call = {"bench",    "--algo", "sac",       "--hidden", "8",
                                         "--rounds", "1",      "--updates", "1",        "--json"};
  const auto with = [&](std::vector<std::string> peers) {
    auto words = call;
    for (const auto& peer : peers) words.insert(words.end(), {"--peer", peer});
    return run(words);
  };
  const auto result = with({broken, dying, peer("sound", 1)});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json row = result.json()["results"].at(0);
  ASSERT_EQ(row["peers"].size(), 1u);
  EXPECT_EQ(row["peers"][0]["name"], "sound");
  ASSERT_EQ(row["failed"].size(), 2u);
  EXPECT_EQ(row["failed"][0]["command"], broken);
  EXPECT_NE(row["failed"][0]["reason"].get<std::string>().find("exit code 3"), std::string::npos);
  EXPECT_EQ(row["failed"][1]["command"], dying);

  EXPECT_EQ(with({broken}).exit_code, 6);
  const auto missing = with({"bench/no_such_peer.py"});
  EXPECT_EQ(missing.exit_code, 6);
  EXPECT_TRUE(missing.one_error_line()) << missing.err;
}

TEST(Bench, MeasuresTheTimeOfARunBeyondItsUpdates) {
  const auto result = run({"bench", "--overhead", "--algo", "td3_bc", "--rounds", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json row = result.json()["results"].at(0);
  EXPECT_EQ(row["algo"], "td3_bc");
  EXPECT_EQ(row["interval"], 5000);
  const auto seconds = [&](const char* key) { return row[key].get<double>() / 1e3; };
  const double steps = row["interval_seconds"].get<double>();
  EXPECT_NEAR(steps, 5000 * seconds("step_ms"), 1e-9);
  // Sampling is part of the steps.
  const double updates = steps / (1 + row["sampling"].get<double>());
  EXPECT_GT(row["sampling"].get<double>(), 0);
  EXPECT_GT(seconds("row_ms"), 0);
  EXPECT_NEAR(row["rows"].get<double>(), 50 * seconds("row_ms") / updates, 1e-9);
  EXPECT_GT(seconds("evaluation_ms"), 0);
  EXPECT_NEAR(row["evaluations"].get<double>(), seconds("evaluation_ms") / updates, 1e-9);
  EXPECT_GT(seconds("checkpoint_ms"), 0);
  EXPECT_NEAR(row["checkpoints"].get<double>(), seconds("checkpoint_ms") / updates, 1e-9);
  double sum = 0;
  for (const char* part : {"sampling", "rows", "evaluations", "checkpoints"}) {
    sum += row[part].get<double>();
  }
  EXPECT_NEAR(row["overhead"].get<double>(), sum, 1e-9);
}

TEST(Bench, EveryAlgorithmHasASmallTaskForTheOverhead) {
  for (const char* algo : {"discrete_bc", "dqn", "decision_transformer"}) {
    const auto result =
        run({"bench", "--overhead", "--algo", algo, "--rounds", "1", "--updates", "20", "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
}

TEST(Bench, ComparesEvaluationsTogetherAndOneAfterAnother) {
  const ScratchDirectory scratch;
  const auto trained = run({"train", "--config", "td3_bc/pendulum", "--total-timesteps", "1",
                            "--output-dir", scratch.path(), "--json"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const std::string place = trained.json()["run_dir"];
  const auto result = run({"bench", "--evaluation", place, "--rounds", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json rows = result.json()["results"];
  ASSERT_GE(rows.size(), 2u);
  EXPECT_EQ(rows[0]["ratio"], 1.0);
  for (const auto& row : rows) {
    EXPECT_GT(row["ours"].get<double>(), 0);
    EXPECT_DOUBLE_EQ(row["ratio"].get<double>(),
                     row["ours"].get<double>() / rows[0]["ours"].get<double>());
  }
}

}  // namespace
}  // namespace rl_training
