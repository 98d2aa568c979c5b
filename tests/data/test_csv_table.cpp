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

using Columns = std::vector<std::string>;

TEST_F(CsvTableTest, SeparatorsAndDecimalCommas) {
  const CsvTable semicolons(write("a;b\n1,5;2\n-0,25;1e3\n"));
  EXPECT_EQ(semicolons.columns(), (Columns{"a", "b"}));
  EXPECT_EQ(semicolons.at(0, 0), 1.5);
  EXPECT_EQ(semicolons.at(1, 0), -0.25);
  EXPECT_EQ(semicolons.at(1, 1), 1000);
  const CsvTable tabs(write("a\tb b\tc\n1\t\t3\n"));
  EXPECT_EQ(tabs.columns(), (Columns{"a", "b b", "c"}));
  EXPECT_TRUE(std::isnan(tabs.at(0, 1)));
  EXPECT_EQ(tabs.at(0, 2), 3);
  // A separator at the end of each line does not create a column.
  const CsvTable ended(write("a;b;\n1;2;\n3;4;\n"));
  EXPECT_EQ(ended.columns(), (Columns{"a", "b"}));
  EXPECT_EQ(ended.at(1, 1), 4);
  EXPECT_EQ(problem("a;b;\n1;2;3\n"), ":2: too many fields (expected 2)");
}

TEST_F(CsvTableTest, MarksQuotesAndWordsOfOtherPrograms) {
  const CsvTable table(write(
      "\xef\xbb\xbf,\"a, b\",c\r\n0,\"1.5\",True\r\n1,+2,FALSE\r\n2,NA,false\r\n3,null,1\r\n"));
  EXPECT_EQ(table.columns(), (Columns{"index", "a, b", "c"}));
  EXPECT_EQ(table.at(0, 1), 1.5);
  EXPECT_EQ(table.at(1, 1), 2);
  EXPECT_EQ(table.at(0, 2), 1);
  EXPECT_EQ(table.at(1, 2), 0);
  EXPECT_EQ(table.at(2, 2), 0);
  EXPECT_TRUE(std::isnan(table.at(2, 1)) && std::isnan(table.at(3, 1)));
  EXPECT_EQ(
      problem("a,b\n1,2\n1,\n1,NA\n1,3\n"),
      ":3: b: not a number (expected one, got nothing): remove line 3 (row 1, counted from 0) "
      "or fill in a value; 2 rows lack it");
  for (const std::string word : {"NaN", "NA", "N/A", "null", "None", "#N/A"}) {
    EXPECT_NE(problem("a,b\n1,2\n1," + word + "\n").find("expected one, got " + word + ")"),
              std::string::npos)
        << word;
  }
  EXPECT_EQ(problem("a,b\n1,inf\n"), ":2: b: not finite (expected a number)");
}

TEST_F(CsvTableTest, CommentsAndUnits) {
  const CsvTable comments(
      write("# rig 7\n# units: rad, m/s,\nangle,speed,n\n# a pause\n1,2,3\n4,5,6\n"));
  ASSERT_EQ(comments.rows(), 2);
  EXPECT_EQ(comments.line(1), 6);
  EXPECT_EQ(comments.full_name(0), "angle [rad]");
  EXPECT_EQ(comments.full_name(1), "speed [m/s]");
  EXPECT_EQ(comments.full_name(2), "n");
  const CsvTable row(write("angle,speed (m/s)\n[rad],[m/s]\n1,2\n"));
  ASSERT_EQ(row.rows(), 1);
  EXPECT_EQ(row.full_name(0), "angle [rad]");
  EXPECT_EQ(row.full_name(1), "speed (m/s)");
  EXPECT_EQ(row.find("speed"), 1);
  // numpy.savetxt writes the header as a comment.
  const CsvTable numpy(write("# a,b\n1,2\n3,4\n"));
  EXPECT_EQ(numpy.columns(), (Columns{"a", "b"}));
  EXPECT_EQ(numpy.rows(), 2);
  EXPECT_EQ(numpy.at(0, 1), 2);
}

TEST_F(CsvTableTest, ARowOfPlainUnitsIsRecognised) {
  EXPECT_EQ(problem("t;angle;speed;u;b\ns;deg;deg/s;V;-\n1;2;3;4;5\n"),
            ":2: angle: not a number (got `deg`); is line 2 a row of units? Write them as [deg]");
  EXPECT_EQ(problem("t;b;angle\n1;-;3\n1;2;3\n"), ":2: b: not a number (got `-`)");
  EXPECT_EQ(problem("t;b\n1;2\nx;y\n"), ":3: b: not a number (got `y`)");
}

TEST_F(CsvTableTest, TextsMatterOnlyWhereTheyAreUsed) {
  const CsvTable table(write("time,x,run\n2024-05-01 10:00,1,a\n2024-05-01 10:01,2,a\nlate,3,b\n"));
  EXPECT_EQ(table.finite_at(2, 1), 3);
  EXPECT_TRUE(table.equal(0, 1, 2));
  EXPECT_FALSE(table.equal(1, 2, 2));
  EXPECT_TRUE(std::isnan(table.at(0, 2)));
  try {
    table.finite_at(1, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(":2: time: not a number (got `2024-05-01 10:00`)"),
              std::string::npos);
  }
}

TEST_F(CsvTableTest, Gzip) {
  // `first` is the output of `printf 'a,b\n1,2\n' | gzip -n`. `second` is a second gzip member.
  const std::string first =
      std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10) +
      std::string("\x4b\xd4\x49\xe2\x32\xd4\x31\xe2\x02\x00\x7b\x07\x97\x0a\x08\x00\x00\x00", 18);
  const std::string second =
      std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10) +
      std::string("\x33\xd6\x31\xe1\x02\x00\x3e\x2d\x72\xa9\x04\x00\x00\x00", 14);
  const CsvTable table(write(first + second));
  ASSERT_EQ(table.rows(), 2);
  EXPECT_EQ(table.at(0, 1), 2);
  EXPECT_EQ(table.at(1, 1), 4);
  EXPECT_EQ(problem(first.substr(0, 14)), ": the gzip data are truncated");
  auto damaged = first;
  damaged[damaged.size() - 6] ^= 1;  // changes the checksum
  EXPECT_EQ(problem(damaged), ": the gzip data are damaged");
}

}  // namespace
}  // namespace rl_training
