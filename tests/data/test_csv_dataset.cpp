#include <gtest/gtest.h>

#include <filesystem>

#include "rl_training/data/csv_dataset.h"
#include "rl_training/data/d4rl.h"
#include "rl_training/data/dataset_cache.h"
#include "rl_training/data/dataset_file.h"
#include "rl_training/data/inspect.h"
#include "rl_training/data/mixing.h"
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
  EXPECT_EQ(summary.dropped_rows, 2);  // the time-out, and the last row of the file
  ASSERT_EQ(data.rows(), 5);
  ASSERT_EQ(data.episodes().size(), 3u);
  EXPECT_EQ(data.obs(1)[0], 0.5f);
  EXPECT_EQ(data.next_obs(0)[1], 0.25f);
  EXPECT_TRUE(data.terminated(2));
  EXPECT_EQ(data.reward(3), -4);
  EXPECT_EQ(data.next_obs(3)[0], 2);
  const auto next = data.with_next_actions();
  EXPECT_TRUE(next.next_action_valid(4));  // the next step is dropped, but its action is known
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
            ":3: action: not a number (expected one, got nothing): remove line 3 (row 1, counted "
            "from 0) or fill in a value; no other row lacks it");
  EXPECT_EQ(problem(head + "1,2,3,0\n1,2,3,0.5\n"),
            ":3: terminated: not a flag (expected 0 or 1, got 0.5)");
  EXPECT_EQ(problem(head + "1,2,1e300,0\n1,2,3,0\n"),
            ":2: reward: not a finite float (got 1e+300)");
  EXPECT_EQ(problem(head), ": no rows");
  EXPECT_EQ(problem("obs,action,reward\n1,2,3\n"),
            ":1: terminated: no such column (the file has obs, action, reward); map one to this "
            "role: terminated=..., or terminated=none if the task never terminates");
  EXPECT_EQ(problem("angle,action,reward,terminated\n1,2,3,0\n"),
            ":1: obs: no such column (the file has angle, action, reward, terminated); map one to "
            "this role: obs=...");
  EXPECT_EQ(problem(head + "1,2,3,0\n", "obs=abs"),
            ":1: abs: no such column (the file has obs, action, reward, terminated; did you mean "
            "`obs`?)");
  EXPECT_NE(problem(head + "1,2,3,0\n", "ops=obs").find("unknown role `ops`"), std::string::npos);
  EXPECT_NE(problem(head + "1,2,3,0\n", "obs").find("`obs` is a layout of arrays"),
            std::string::npos);
  EXPECT_NE(problem(head + "1,2,3,0\n", "obs=obs obs=obs").find("`obs` twice"), std::string::npos);
  EXPECT_NE(problem(head + "1,2,3,0\n", "obs=y*").find(":1: y0: no such column"),
            std::string::npos);
  EXPECT_NE(problem(head + "1,2,3,0\n", "reward=obs,action").find("one column"), std::string::npos);
}

std::vector<std::string> codes(const std::vector<DatasetWarning>& warnings) {
  std::vector<std::string> found;
  for (const auto& warning : warnings) found.push_back(warning.code);
  return found;
}

TEST_F(CsvDatasetTest, DoneIsNeverSilentlyATermination) {
  const std::string rows = "1,2,3,0,0\n1,2,3,1,1\n4,2,3,0,0\n4,2,3,1,0\n";
  for (const auto& [header, map] : {std::pair{"obs,action,reward,done,timeout\n", ""},
                                    {"obs,action,reward,dones,timeout\n", ""},
                                    {"obs,action,reward,over,timeout\n", "done=over"},
                                    {"obs,action,reward,done,timeout\n", "terminated=done"}}) {
    DatasetReadOptions options;
    options.keys = map;
    DatasetFileSummary summary;
    load_dataset_file("csv", write(header + rows), options, &summary);
    EXPECT_EQ(codes(summary.warnings), std::vector<std::string>{"dones"}) << header << map;
    EXPECT_EQ(summary.terminals, 1) << header << map;  // the other episode ends by a time-out
    EXPECT_EQ(summary.timeouts, 1) << header << map;
  }
  DatasetReadOptions options;
  DatasetFileSummary summary;
  load_dataset_file("csv", write("obs,action,reward,done\n1,2,3,0\n1,2,3,1\n"), options, &summary);
  ASSERT_EQ(summary.warnings.size(), 1u);
  EXPECT_EQ(
      summary.warnings[0].message,
      "`done` is treated as termination: at time-outs among them, bootstrapping wrongly stops");
}

TEST_F(CsvDatasetTest, EndsWithoutTerminations) {
  const std::string text =
      "obs,action,reward,run,last\n1,0,3,a,0\n2,0,3,a,1\n5,0,3,b,0\n6,0,3,b,0\n7,0,3,b,1\n";
  EXPECT_NE(problem(text).find("or terminated=none if the task never terminates"),
            std::string::npos);
  for (const char* map : {"terminated=none episode=run", "terminated=none episode_end=last"}) {
    DatasetReadOptions options;
    options.keys = map;
    DatasetFileSummary summary;
    const auto data = load_dataset_file("csv", write(text), options, &summary);
    EXPECT_EQ(summary.episodes, 2) << map;
    EXPECT_EQ(summary.terminals, 0) << map;
    ASSERT_EQ(data.rows(), 3) << map;  // the last step of each episode has no successor
    EXPECT_EQ(data.next_obs(0)[0], 2) << map;
    EXPECT_EQ(data.next_obs(2)[0], 7) << map;
  }
}

TEST_F(CsvDatasetTest, NamesOfColumnsAreKept) {
  const std::string text =
      "# units: s;rad;rad/s;Nm;;\nt;angle;angular speed;torque;reward;terminated\n"
      "0;0,5;2;1;-1;False\n1;0,75;3;1;-1;True\n";
  DatasetReadOptions options;
  options.keys = "obs=angle,\"angular speed\" action=torque";
  const auto data = load_dataset_file("csv", write(text), options);
  const std::vector<std::string> names = {"angle [rad]", "angular speed [rad/s]"};
  EXPECT_EQ(data.observation_names(), names);
  EXPECT_EQ(data.action_names(), std::vector<std::string>{"torque [Nm]"});
  EXPECT_EQ(data.obs(1)[0], 0.75f);
  EXPECT_TRUE(data.terminated(1));
  const auto report = inspect_dataset("csv", directory_ / "a.csv", options);
  EXPECT_EQ(report.to_json().at("observation_names"), Json(names));
  EXPECT_EQ(report.to_json().at("action_names"), Json({"torque [Nm]"}));
  // The names are retained by copies, mixtures, the cache and the files that we write.
  EXPECT_EQ(data.with_next_actions().observation_names(), names);
  EXPECT_EQ(mix_transition_datasets(std::vector<DatasetPart>{{data, 1}, {data, 1}}, 0, 1)
                .observation_names(),
            names);
  save_d4rl_dataset(data, directory_ / "a.hdf5");
  EXPECT_EQ(load_dataset_file("auto", directory_ / "a.hdf5").observation_names(), names);
  DatasetCacheOptions cache;
  cache.directory = directory_ / "cache";
  cache.minimum_bytes = cache.settle_milliseconds = 0;
  for (int i = 0; i < 2; ++i) {
    const auto cached = DatasetCache(cache).load("csv", directory_ / "a.csv", options);
    EXPECT_EQ(cached.action_names(), std::vector<std::string>{"torque [Nm]"});
  }
}

TEST_F(CsvDatasetTest, ADirectoryOfFilesIsOneDataset) {
  const std::string head = "obs,action,reward,terminated\n";
  std::filesystem::create_directory(directory_ / "logs");
  write_all(directory_ / "logs/run10.csv", head + "7,0,1,0\n8,0,1,1\n");
  write_all(directory_ / "logs/run9.csv", head + "1,0,1,0\n2,0,1,0\n3,0,1,0\n");
  EXPECT_EQ(detect_dataset_kind(directory_ / "logs"), "csv");
  DatasetFileSummary summary;
  const auto data = load_dataset_file("auto", directory_ / "logs", {}, &summary);
  EXPECT_EQ(summary.rows, 5);
  EXPECT_EQ(summary.episodes, 2);
  ASSERT_EQ(data.rows(), 4);  // the last step of run 9 has no successor
  EXPECT_EQ(data.obs(0)[0], 1);
  EXPECT_EQ(data.next_obs(1)[0], 3);
  EXPECT_EQ(data.obs(2)[0], 7);
  EXPECT_TRUE(data.terminated(3));
  write_all(directory_ / "logs/run11.csv", "obs0,obs1,action,reward,terminated\n7,0,0,1,0\n");
  try {
    load_dataset_file("auto", directory_ / "logs");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("run11.csv: obs: differs in width from "),
              std::string::npos);
  }
}

}  // namespace
}  // namespace rl_training
