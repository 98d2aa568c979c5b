#include <gtest/gtest.h>

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
  for (const char* key : {"peer", "peer_name", "products_only", "fma_limit"}) {
    EXPECT_TRUE(row.at(key).is_null()) << key;
  }
}

TEST(Bench, RefusesUnknownAlgorithms) {
  const auto result = run({"bench", "--algo", "td3bc"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(result.one_error_line()) << result.err;
  EXPECT_NE(result.err.find("did you mean `td3_bc`?"), std::string::npos) << result.err;
}

TEST(Bench, HasNoPyTorchVersionOfOnlineAlgorithms) {
  const auto result =
      run({"bench", "--algo", "rlpd", "--peer", std::string(SOURCE_DIR) + "/bench/eager.py"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(result.one_error_line()) << result.err;
  EXPECT_NE(result.err.find("--peer"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("rlpd"), std::string::npos) << result.err;
}

TEST(Bench, MeasuresTheShareOfCheckpoints) {
  const auto result =
      run({"bench", "--checkpoints", "--algo", "td3_bc", "--rounds", "1", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json row = result.json()["results"].at(0);
  EXPECT_EQ(row["algo"], "td3_bc");
  EXPECT_EQ(row["interval"], 5000);
  const double save = row["checkpoint_ms"].get<double>() / 1e3;
  const double between = row["interval_seconds"].get<double>();
  EXPECT_GT(save, 0);
  EXPECT_GT(between, 0);
  EXPECT_NEAR(row["overhead"].get<double>(), save / (save + between), 1e-9);
}

}  // namespace
}  // namespace rl_training
