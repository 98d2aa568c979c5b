#include <gtest/gtest.h>

#include "rl_training/data/csv_dataset.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/util/error.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

const std::string kSteps = std::string(SOURCE_DIR) + "/tests/data/fixtures/csv/steps.csv";

class CsvDatasetTest : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    write_all(directory_ / "a.csv", text);
    return directory_ / "a.csv";
  }
  std::string problem(const std::string& text, const std::string& map = "") {
    DatasetReadOptions options;
    options.keys = map;
    try {
      load_dataset_file("csv", write(text), options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      const std::string what = error.what();
      return what.substr(what.find("a.csv") + 5);
    }
    return "";
  }
  TemporaryDirectory directory_;
};

TEST_F(CsvDatasetTest, ReadsColumnsByTheirNames) {
  DatasetFileSummary summary;
  const auto data = load_dataset_file("auto", kSteps, {}, &summary);
  EXPECT_EQ(summary.rows, 7);
  EXPECT_EQ(summary.episodes, 3);
  EXPECT_EQ(summary.terminals, 1);
  EXPECT_EQ(summary.timeouts, 1);
  EXPECT_EQ(summary.reward_sum, -28);
  EXPECT_EQ(summary.dropped_rows, 2);  // the time-out, and where the file ends
  ASSERT_EQ(data.rows(), 5);
  ASSERT_EQ(data.episodes().size(), 3u);
  EXPECT_EQ(data.obs(1)[0], 0.5f);
  EXPECT_EQ(data.next_obs(0)[1], 0.25f);
  EXPECT_TRUE(data.terminated(2));
  EXPECT_EQ(data.reward(3), -4);
  EXPECT_EQ(data.next_obs(3)[0], 2);
  const auto next = data.with_next_actions();
  EXPECT_TRUE(next.next_action_valid(4));  // the step itself is dropped, its action is known
  EXPECT_EQ(next.next_action(4)[0], 2);
  EXPECT_FALSE(next.next_action_valid(2));
}

TEST_F(CsvDatasetTest, ReadsColumnsByAMap) {
  const std::string text =
      "t,angle,speed,x0,x1,u,r,done,end,n0,n1,n2,n3\n"
      "0,1,2,3,4,0.5,1,0,0,5,6,7,8\n"
      "1,5,6,7,8,0.5,1,0,1,9,9,9,9\n";
  DatasetReadOptions options;
  options.keys = "obs=angle,speed,x* action=u reward=r terminated=done timeout=end next_obs=n*";
  const auto data = load_dataset_file("csv", write(text), options);
  ASSERT_EQ(data.rows(), 2);
  EXPECT_EQ(data.obs_dim(), 4);
  EXPECT_EQ(data.obs(0)[3], 4);
  EXPECT_EQ(data.next_obs(1)[0], 9);
  EXPECT_TRUE(data.truncated(1));
}

TEST_F(CsvDatasetTest, NamesLineAndColumn) {
  const std::string head = "obs,action,reward,terminated\n";
  EXPECT_EQ(problem(head + "1,2,3,0\n1,,3,0\n"),
            ":3: action: row 1 has no value (expected a number; no other row lacks it)");
  EXPECT_EQ(problem(head + "1,2,3,0\n1,2,3,0.5\n"),
            ":3: terminated: not a flag (expected 0 or 1, got 0.5)");
  EXPECT_EQ(problem(head + "1,2,1e300,0\n1,2,3,0\n"),
            ":2: reward: not a finite float (got 1e+300)");
  EXPECT_EQ(problem(head), ": no rows");
  EXPECT_NE(problem("obs,action,reward\n1,2,3\n").find(":1: terminated: no column for it"),
            std::string::npos);
  EXPECT_NE(
      problem(head + "1,2,3,0\n", "obs=abs").find(":1: abs: no such column (did you mean `obs`?"),
      std::string::npos);
  EXPECT_NE(problem(head + "1,2,3,0\n", "ops=obs").find("unknown role `ops`"), std::string::npos);
  EXPECT_NE(problem(head + "1,2,3,0\n", "obs").find("`obs` is a layout of arrays"),
            std::string::npos);
  EXPECT_NE(problem(head + "1,2,3,0\n", "obs=obs obs=obs").find("`obs` twice"), std::string::npos);
  EXPECT_NE(problem(head + "1,2,3,0\n", "obs=y*").find(":1: y0: no such column"),
            std::string::npos);
  EXPECT_NE(problem(head + "1,2,3,0\n", "reward=obs,action").find("one column"), std::string::npos);
}

}  // namespace
}  // namespace rl_training
