#include <gtest/gtest.h>

#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/experiment/compare_runs.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_compare_runs {
namespace {

using Lines = std::vector<std::string>;

class CompareRuns : public testing::Test {
 protected:
  void SetUp() override {
    write("a");
    write("b");
  }
  void write(const std::string& name, float weight = 0.5f, int64_t count = 7, int64_t step = 10,
             const std::string& rows = "1\n2\n3\n", bool best = true) {
    const std::vector<float> weights = {1, weight, 3};
    ArchiveEntry net{"net", DType::f32, {3}, {}};
    net.bytes.assign(reinterpret_cast<const char*>(weights.data()), 12);
    ArchiveEntry counter{"count", DType::i64, {}, {}};
    counter.bytes.assign(reinterpret_cast<const char*>(&count), 8);
    const auto run = directory_ / name;
    std::filesystem::remove_all(run);
    CheckpointStore(posix_file_system(), run + "/checkpoints").save(step, {net, counter}, {}, best);
    write_all(run + "/metrics.jsonl", rows);
    write_all(run + "/metrics.csv", rows);
  }
  Lines differences() const { return compare_runs(directory_ / "a", directory_ / "b").differences; }
  TemporaryDirectory directory_;
};

TEST_F(CompareRuns, EqualOnesAreEqual) {
  const auto result = compare_runs(directory_ / "a", directory_ / "b");
  EXPECT_TRUE(result.equal());
  EXPECT_EQ(result.step, 10);
  EXPECT_EQ(result.arrays, 4);  // two arrays in each of two checkpoints
  EXPECT_EQ(result.values, 8);
  EXPECT_EQ(result.rows, 3);
}

TEST_F(CompareRuns, EveryDifferenceIsNamed) {
  write("b", 0.75f);
  EXPECT_EQ(differences(), (Lines{"newest checkpoint: net: 1 of 3 values differ, by up to 0.25",
                                  "best checkpoint: net: 1 of 3 values differ, by up to 0.25"}));
  write("b", 0.5f, 9);
  EXPECT_EQ(differences().front(), "newest checkpoint: count: 1 of 1 values differ, by up to 2");
  write("b", 0.5f, 7, 11);
  EXPECT_EQ(differences().front(), "newest checkpoint: step 10 against 11");
  write("b", 0.5f, 7, 10, "1\n2\n4\n");
  EXPECT_EQ(differences(), (Lines{"metrics.jsonl: line 3 differs", "metrics.csv: line 3 differs"}));
  write("b", 0.5f, 7, 10, "1\n2\n");
  EXPECT_EQ(differences().front(), "metrics.jsonl: line 3 differs");
  write("b", 0.5f, 7, 10, "1\n2\n3\n", /*best=*/false);
  EXPECT_EQ(differences(), (Lines{"best checkpoint: exists in one only"}));
  write("a", -0.0f);
  write("b", 0.0f);  // -0.0 and 0.0 are equal as numbers, but not as bits
  EXPECT_EQ(differences().size(), 2u);
}

TEST_F(CompareRuns, MissingArraysAreNamed) {
  CheckpointStore(posix_file_system(), directory_ / "b/checkpoints")
      .save(10, {{"other", DType::u8, {1}, "x"}, {"count", DType::u8, {1}, "x"}}, {});
  EXPECT_EQ(differences(), (Lines{"newest checkpoint: count: I64 [] against U8 [1]",
                                  "newest checkpoint: net: is missing",
                                  "newest checkpoint: other: exists in one only"}));
}

}  // namespace
}  // namespace rl_training::test_compare_runs
