#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "rl_training/data/csv_table.h"
#include "rl_training/util/error.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

class CsvTableTest : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::ofstream(directory_ / "a.csv", std::ios::binary) << text;
    return directory_ / "a.csv";
  }
  std::string problem(const std::string& text) {
    const auto path = write(text);
    try {
      const CsvTable table(path);
      for (int64_t row = 0; row < table.rows(); ++row) table.finite_at(row, 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::data);
      return std::string(error.what()).substr(path.size());
    }
    return "no error";
  }
  TemporaryDirectory directory_;
};

TEST_F(CsvTableTest, ReadsNumbersAndGaps) {
  const CsvTable table(write("a,b0,b1\r\n1,2.5,-3e-2\r\n\r\n4,,0.30000000000000004\r\n"));
  ASSERT_EQ(table.rows(), 2);
  EXPECT_EQ(table.find("b0"), 1);
  EXPECT_EQ(table.find("c"), -1);
  EXPECT_EQ(table.find_numbered("b"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(table.at(0, 2), -0.03);
  EXPECT_EQ(table.at(1, 2), 0.30000000000000004);
  EXPECT_TRUE(std::isnan(table.at(1, 1)));
  EXPECT_EQ(table.line(1), 4);
  EXPECT_THROW(table.finite_at(1, 1), Error);
}

TEST_F(CsvTableTest, NamesTheLineOfAProblem) {
  EXPECT_EQ(problem(""), ": the file is empty");
  EXPECT_EQ(problem("a,b\n1,2\n3\n"), ":3: too few fields (expected 2, got 1)");
  EXPECT_EQ(problem("a,b\n1,2,3\n"), ":2: too many fields (expected 2)");
  EXPECT_EQ(problem("a,b\n1,x2\n"), ":2: b: not a number (got `x2`)");
  EXPECT_EQ(problem("a,b\n1,2z\n"), ":2: b: not a number (got `2z`)");
  EXPECT_EQ(problem("a,a\n"), ":1: a: this column appears twice");
}

}  // namespace
}  // namespace rl_training
