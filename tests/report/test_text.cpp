#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "rl_training/report/tables.h"
#include "rl_training/util/text.h"
#include "tests/report/written_run.h"

namespace rl_training {
namespace {

size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
  return widest;
}

TEST(ReportText, IsATableOfEightyColumns) {
  const TemporaryDirectory directory;
  write_two_algorithms(directory);
  const auto text = report_text(report_of(directory.path()), 80);
  EXPECT_LE(widest_line(text), 80u) << text;
  EXPECT_TRUE(text.starts_with(
      "Pendulum-v1, pendulum/medium\ndata: 100 rows in 2 episodes, mean return -617.0\n\n"
      "algo  seeds  updates     IQM     95 % interval    mean  median  best wins\n"
      "----  -----  -------  ------  ----------------  ------  ------  ---------\n"
      "bcq       3       20  -290.0  [-300.0, -280.0]  -290.0  -290.0\n"
      "bear      3       20  -295.0  [-315.0, -275.0]  -295.0  -295.0       0.56\n"))
      << text;
}

TEST(ReportText, KeysThatDoNotFitAreBelowTheirRow) {
  const TemporaryDirectory directory;
  for (int i = 0; i < 2; ++i) {
    WrittenRun run{.returns = {-9, -7, -5.0 - i}};
    for (const char* key :
         {"a_rather_long_name", "another_long_name", "a_third_name_that_is_long"}) {
      run.more_config += fmt::format("  {}: {}\n", key, i);
    }
    write_run(directory / std::to_string(i), run);
  }
  const auto text = report_text(report_of(directory.path()), 80);
  EXPECT_LE(widest_line(text), 80u) << text;
  EXPECT_NE(text.find("\n    a_rather_long_name=0 a_third_name_that_is_long=0"), std::string::npos)
      << text;
}

// With the learning rates of a random search, the table is too wide. Some columns are omitted, and
// a line below the table names them.
TEST(ReportText, NamesTheColumnsThatDoNotFit) {
  const TemporaryDirectory directory;
  const char* const rates[] = {"0.00031415926535897931", "0.0027182818284590451", "0.01"};
  for (int i = 0; i < 9; ++i) {
    WrittenRun run{.seed = i % 3, .returns = {-900, -600.0, -300.0 + 10 * i}};
    run.more_config = fmt::format("  learning_rate: {}\n", rates[i / 3]);
    write_run(directory / std::to_string(i), run);
  }
  const auto text = report_text(report_of(directory.path()), 80);
  EXPECT_LE(widest_line(text), 80u) << text;
  EXPECT_NE(
      text.find("algo  learning_rate  seeds  updates     IQM     95 % interval    mean  best"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("\nbcq   0.002718           3       20  -260.0  [-270.0, -250.0]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nnot shown: median; --format csv has them\n"), std::string::npos) << text;
  EXPECT_NE(text.find("95 % bootstrap"), std::string::npos) << text;
}

// The long path of a warm start's checkpoint must not push statistics out of the table.
TEST(ReportText, PathsAreShortened) {
  const TemporaryDirectory directory;
  const std::string runs = "/home/someone/experiments/with/a/long/name/runs/";
  write_run(directory / "a", {.returns = {-9, -7, -5}});
  write_run(directory / "b",
            {.returns = {-9, -7, -6}, .more_config = "  from: " + runs + "one/checkpoints/best\n"});
  const auto text = report_text(report_of(directory.path()), 80);
  EXPECT_LE(widest_line(text), 80u) << text;
  EXPECT_NE(text.find("algo  from      seeds  updates    IQM  95 % interval"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\nbcq   .../best      1       20  -6.00"), std::string::npos) << text;
  write_run(directory / "c",
            {.returns = {-9, -7, -7}, .more_config = "  from: " + runs + "two/checkpoints/best\n"});
  const auto labels = report_markdown(report_of(directory.path()));
  EXPECT_NE(labels.find("| .../one/checkpoints/best |"), std::string::npos) << labels;
  EXPECT_NE(labels.find("| .../two/checkpoints/best |"), std::string::npos) << labels;
}

TEST(ReportText, CountsRunsWhereSeedsRepeat) {
  const TemporaryDirectory directory;
  for (int i = 0; i < 6; ++i) {
    WrittenRun run{.seed = i % 3, .returns = {-9, -8, -7}};
    run.more_config = fmt::format("  batch_size: {}\n", 64 << i / 3);
    write_run(directory / std::to_string(i), run);
  }
  const auto text_by = [&](const std::string& key) {
    return report_text(report_of(directory.path(), {{}, {key}, {}}), 80);
  };
  EXPECT_NE(text_by("algo").find("algo  runs  updates"), std::string::npos) << text_by("algo");
  EXPECT_NE(text_by("algo").find("\nbcq      6       20"), std::string::npos) << text_by("algo");
  EXPECT_NE(text_by("algo").find("(IQM) over runs"), std::string::npos) << text_by("algo");
  EXPECT_NE(text_by("seed").find("algo  seed  runs  updates"), std::string::npos)
      << text_by("seed");
  EXPECT_NE(text_by("batch_size").find("algo  batch_size  seeds  updates"), std::string::npos)
      << text_by("batch_size");
}

TEST(ReportText, AWordLongerThanALineIsSplitAndPercentSignsStayWithTheirNumbers) {
  EXPECT_EQ(wrapped_text("with its 95 % interval", 11), "with its\n95 %\ninterval\n");
  EXPECT_EQ(wrapped_text("a 0123456789 b", 6, "  "), "  a\n  0123\n  4567\n  89 b\n");
}

}  // namespace
}  // namespace rl_training
