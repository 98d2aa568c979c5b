#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "tests/cli/tiny_training.h"
#include "tests/support/program.h"

namespace rl_training {
namespace {

class Selected : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<TemporaryDirectory>();
    for (const char* seed : {"1", "2", "3"}) {
      const auto result = run(tiny_training(*directory_ / "runs", {"--seed", seed}));
      ASSERT_EQ(result.exit_code, 0) << result.err;
      runs_.push_back(result.json()["run_dir"].get<std::string>());
    }
  }
  static void TearDownTestSuite() {
    directory_.reset();
    runs_.clear();
  }

  static std::string file(const std::string& name) { return *directory_ / name; }
  static std::vector<std::string> command(const std::string& output,
                                          const std::vector<std::string>& more = {},
                                          const char* updates = "30") {
    std::vector<std::string> arguments = {"select"};
    arguments.insert(arguments.end(), runs_.begin(), runs_.end());
    for (const char* word :
         {"--updates", updates, "--batch-size", "16", "--critics", "2", "--json"}) {
      arguments.emplace_back(word);
    }
    arguments.insert(arguments.end(), {"--output", file(output)});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  static std::unique_ptr<TemporaryDirectory> directory_;
  static std::vector<std::string> runs_;
};

std::unique_ptr<TemporaryDirectory> Selected::directory_;
std::vector<std::string> Selected::runs_;

TEST_F(Selected, UpdatesFollowTheHorizonByDefault) {
  std::vector<std::string> arguments = {"select", runs_.front()};
  arguments.insert(arguments.end(), {"--tau", "0.5", "--gamma", "0.75", "--json", "--output",
                                     file("horizon"), "--batch-size", "16"});
  const auto result = run(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out).at("updates"), 40);  // 5 / (tau * (1 - gamma))
}

TEST_F(Selected, RanksEveryRunAndLeavesFiles) {
  const auto result = run(command("all", {"--truth", "2"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = result.json();
  ASSERT_EQ(json["policies"].size(), 3u);
  std::set<double> ranks;
  for (size_t i = 0; i < 3; ++i) {
    const auto& policy = json["policies"][i];
    EXPECT_EQ(policy["run"], runs_[i]);
    EXPECT_LE(policy["low"].get<double>(), policy["value"].get<double>());
    EXPECT_GE(policy["high"].get<double>(), policy["value"].get<double>());
    EXPECT_GE(policy["td_error"].get<double>(), 0);
    EXPECT_TRUE(policy["soft_opc"].is_number());
    EXPECT_TRUE(policy["importance"].is_null());  // the policy of td3_bc has no density
    // `truth` equals the result of `evaluate` on the same episodes.
    const auto played =
        run({"evaluate", runs_[i], "--episodes", "2", "--seed", "0", "--json"}).json();
    EXPECT_EQ(policy["truth"], played["return_mean"]);
    ranks.insert(policy["rank"].get<double>());
  }
  EXPECT_EQ(ranks, (std::set<double>{1, 2, 3}));
  EXPECT_TRUE(json["truth"]["spearman"].is_number());
  const auto& own_policy = json["data_policy"];
  EXPECT_LE(own_policy["low"].get<double>(), own_policy["value"].get<double>());
  EXPECT_GE(own_policy["high"].get<double>(), own_policy["value"].get<double>());
  EXPECT_EQ(json["updates"], 30);
  EXPECT_EQ(Json::parse(read_all(file("all/selection.json"))), json);
  EXPECT_NE(read_all(file("all/selection.svg")).find("<svg"), std::string::npos);
  const auto own = Json::parse(read_all(runs_[1] + "/selection.json"));
  ASSERT_EQ(own["policies"].size(), 1u);
  EXPECT_EQ(own["policies"][0], json["policies"][1]);
  EXPECT_EQ(own["candidates"], 3);
  // `report` shows the estimate.
  const auto report = run({"report", runs_[1], "--json"}).json();
  const auto& shown = report["groups"][0]["runs"][0]["estimate"];
  EXPECT_EQ(shown["value"], json["policies"][1]["value"]);
  EXPECT_EQ(shown["candidates"], 3);
  EXPECT_NE(run({"report", runs_[1]}).out.find("of 3)"), std::string::npos);
}

TEST_F(Selected, StoppedAndContinuedEqualsUninterrupted) {
  const auto whole = run(command("whole", {}, "300"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  int stops = 0;
  for (bool finished = false; !finished;) {
    Program::Input input;
    input.stderr_file = file("notes" + std::to_string(stops));
    write_all(input.stderr_file, "");
    Program program(command("pieces", {"--threads", stops % 2 == 0 ? "1" : "2"}, "300"), input);
    if (stops < 2) {
      becomes_true([&] {
        return program.ended() || read_all(input.stderr_file).find(" left") != std::string::npos;
      });
      if (!program.ended()) program.send(SIGTERM);
    }
    const auto result = program.wait();
    if (result.exit_code == 143) {
      ++stops;
      ASSERT_LT(stops, 10);
      continue;
    }
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.json(), whole.json());
    finished = true;
  }
  EXPECT_GE(stops, 1);
}

TEST_F(Selected, TellsProgressAndOverlapInPlainWords) {
  auto words = command("plain");
  std::erase(words, "--json");
  const auto result = run(words);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("fitting  100 %  0:00 left\n"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("updates"), std::string::npos) << result.err;
  // The table would be wider than 80 columns, so each path is printed below its row.
  EXPECT_TRUE(result.out.starts_with("rank  value")) << result.out;
  EXPECT_NE(result.out.find("\n      " + runs_[0] + "\n"), std::string::npos) << result.out;
  const auto json = Json::parse(read_all(file("plain/selection.json")));
  const auto count = json["overlap_with_best"].get<int>();
  const auto said = count == 0 ? std::string("The best is distinguishable from all others.")
                               : std::to_string(count) + " of the other 2 cannot be distinguished";
  EXPECT_NE(result.out.find(said), std::string::npos) << result.out;
}

TEST_F(Selected, RepeatsAFinishedSelectionFromItsState) {
  const auto first = run(command("again")), second = run(command("again"));
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(first.json(), second.json());
  EXPECT_NE(second.err.find("continuing at update 60 of 60"), std::string::npos) << second.err;
  const auto other = run(command("again", {"--seed", "5"}));
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_TRUE(other.one_error_line()) << other.err;
  EXPECT_NE(other.err.find("contains another selection"), std::string::npos);
}

// Noise changes the collected data. The same seed produces the same data again.
TEST_F(Selected, CollectsWithNoise) {
  const auto collect = [&](const char* noise) {
    return run({"dataset", "collect", file("noisy.npz"), "--policy", runs_[0], "--size", "300",
                "--noise", noise, "--json"});
  };
  const auto fingerprint = [&](const char* noise) {
    const auto result = collect(noise);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.json()["fingerprint"].get<std::string>();
  };
  const auto own = fingerprint("0"), noisy = fingerprint("0.2");
  EXPECT_NE(own, noisy);
  EXPECT_EQ(noisy, fingerprint("0.2"));
  const auto wrong = collect("1.5");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(wrong.one_error_line()) << wrong.err;
  const auto lonely =
      run({"dataset", "collect", file("noisy.npz"), "--env", "Pendulum-v1", "--noise", "0.1"});
  EXPECT_EQ(lonely.exit_code, 2);
  EXPECT_TRUE(lonely.one_error_line()) << lonely.err;
}

TEST_F(Selected, TakesAFileAndRefusesOneThatDoesNotFit) {
  const auto data = file("data.npz");
  ASSERT_EQ(run({"dataset", "collect", data, "--env", "Pendulum-v1", "--size", "1000"}).exit_code,
            0);
  const auto result = run(command("file", {"--data", data}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.json()["dataset_fingerprint"],
            run(command("again")).json()["dataset_fingerprint"]);
  const auto missing = run(command("missing", {"--data", file("none.npz")}));
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_TRUE(missing.one_error_line()) << missing.err;
  const auto gamma = run(command("gamma", {"--gamma", "1"}));
  EXPECT_EQ(gamma.exit_code, 2);
  EXPECT_TRUE(gamma.one_error_line()) << gamma.err;
}

}  // namespace
}  // namespace rl_training
