#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "rl_training/report/html.h"
#include "rl_training/report/leaderboard.h"
#include "rl_training/report/plot.h"
#include "rl_training/util/error.h"
#include "rl_training/util/text.h"
#include "tests/report/written_run.h"

namespace rl_training {
namespace {

// Runs without evaluations are compared by their validation metrics.
TEST(ReportText, ValidationStandsWhereReturnsAreMissing) {
  const TemporaryDirectory directory;
  for (int seed = 0; seed < 2; ++seed) {
    write_run(directory / fmt::format("a{}", seed),
              {.env_id = "none", .seed = seed, .validations = {9, 4, 2.0 + seed}});
  }
  const auto report = report_of(directory.path());
  const auto text = report_text(report, 80);
  EXPECT_NE(text.find("algo  seeds  updates  td error\n"
                      "----  -----  -------  --------\n"
                      "bcq       2       20      2.50\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("IQM"), std::string::npos) << text;
  EXPECT_NE(text.find("on held-out data"), std::string::npos) << text;
  EXPECT_EQ(report_json(report)["groups"][0]["validation"], (Json{{"validation_td_error", 2.5}}));
  EXPECT_NE(report_csv(report).find("dataset_return,validation_td_error,finished"),
            std::string::npos);
  EXPECT_NE(report_csv(report).find(",-617.0,2.5,"), std::string::npos);
  const auto page = report_html(report, {});
  EXPECT_NE(page.find("Validation on held-out data"), std::string::npos);
  EXPECT_EQ(page.find("Learning curves</h3>"), std::string::npos);
}

TEST(ReportJson, HoldsTheContract) {
  const TemporaryDirectory directory;
  write_two_algorithms(directory);
  const auto json = report_json(report_of(directory.path()));
  ASSERT_EQ(json["groups"].size(), 2u);
  const auto& group = json["groups"][0];
  EXPECT_EQ(group["algo"], "bcq");
  EXPECT_EQ(group["env"], "Pendulum-v1");
  EXPECT_EQ(group["dataset"], "pendulum/medium");
  EXPECT_EQ(group["config_hash"].get<std::string>().size(), 64u);
  EXPECT_EQ(group["differing_keys"], Json::object());
  EXPECT_EQ(group["seeds"], 3);
  EXPECT_EQ(group["steps"], 20);
  EXPECT_EQ(group["mean"], -290.0);
  EXPECT_EQ(group["iqm"], -290.0);
  EXPECT_EQ(group["low"], -300.0);
  EXPECT_EQ(group["high"], -280.0);
  EXPECT_EQ(group["last_by_seed"], (Json{{"0", -300.0}, {"1", -290.0}, {"2", -280.0}}));
  EXPECT_EQ(group["runs"][2]["best_return"], -280.0);
  EXPECT_TRUE(group["normalized_iqm"].is_null());
  EXPECT_NEAR(json["groups"][1]["best_wins"].get<double>(), 5.0 / 9, 1e-12);
  EXPECT_EQ(json["tasks"][0]["profile"]["share_above"][0].front(), 1.0);
  EXPECT_EQ(json["tasks"][0]["profile"]["share_above"][0].back(), 0.0);
}

TEST(ReportCsv, HasARowForEachGroup) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.returns = {-9, -5}, .more_config = "  sizes: [1, 2]\n"});
  write_run(directory / "b", {.returns = {-9, -4}, .more_config = "  sizes: [3]\n"});
  const auto csv = report_csv(report_of(directory.path()));
  std::istringstream lines(csv);
  std::string header, first, second, more;
  std::getline(lines, header);
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_FALSE(std::getline(lines, more));
  EXPECT_TRUE(
      header.ends_with("dataset_return,sizes,finished,running,paused,unfinished,failed,resumed"));
  EXPECT_TRUE(first.ends_with(",-617.0,[3],0,0,0,1,0,0")) << first;
  EXPECT_TRUE(second.ends_with(",-617.0,\"[1, 2]\",0,0,0,1,0,0")) << second;
}

TEST(ReportMarkdown, EscapesWhatTheTableWouldRead) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.algo = "'x|y<b>'", .returns = {-5}});
  const auto text = report_markdown(report_of(directory.path()));
  EXPECT_NE(text.find("| x\\|y\\<b\\> | 1 |"), std::string::npos) << text;
}

// Names are untrusted: the terminal and the HTML page must show them as plain text.
TEST(ReportHtml, HostileNamesAreShownAsText) {
  const TemporaryDirectory directory;
  const std::string name = "<script>alert(1)</script>\x1b[31m\n\"'&";
  write_run(directory / name, {.algo = "'<img src=x onerror=alert(2)>'",
                               .returns = {-9, -5},
                               .more_config = "  key: '</script><script>alert(3)</script>'\n",
                               .dataset_id = "'</title><script>alert(4)</script>'",
                               .commit = "<b>\x1b[0m</b>",
                               .dataset_warnings = Json::array({"<i>\x1b]0;title\x07"})});
  write_run(directory / "other", {.algo = "'<img src=x onerror=alert(2)>'",
                                  .returns = {-9, -4},
                                  .dataset_id = "'</title><script>alert(4)</script>'"});
  const auto report = report_of(directory.path());
  const auto page = report_html(report, {});
  for (const char* bad : {"<script>alert", "<img src=x", "<i>\x1b", "<b>\x1b", "\x1b", "\x07"}) {
    EXPECT_EQ(page.find(bad), std::string::npos) << bad;
  }
  EXPECT_NE(page.find("&lt;script&gt;alert(1)&lt;/script&gt;\\u001b[31m\\u000a&quot;"),
            std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>\\u003cscript>alert(3)"), std::string::npos);
  for (const auto& text : {report_text(report, 80), report_csv(report), report_markdown(report)}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  }
}

TEST(ReportHtml, AsksForNothingAndRunsOnlyItsOwnScript) {
  const TemporaryDirectory directory;
  write_two_algorithms(directory);
  const auto page = report_html(report_of(directory.path()), {.made_at = "noon"});
  EXPECT_NE(page.find("Content-Security-Policy\" content=\"default-src 'none'; img-src data:;"),
            std::string::npos);
  EXPECT_EQ(page.find("unsafe-inline"), std::string::npos);
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
  EXPECT_EQ(page.find("http-equiv=\"refresh\""), std::string::npos);
  EXPECT_NE(page.find("evaluate " + (directory / "Pendulum-v1-a0/checkpoints/best")),
            std::string::npos);
  EXPECT_NE(page.find(", noon."), std::string::npos);
  const auto watched = report_html(report_of(directory.path()), {.reload_seconds = 7});
  EXPECT_NE(watched.find("http-equiv=\"refresh\" content=\"7\""), std::string::npos);
}

// A phone shows only the first columns of the table, so they must contain the scores.
TEST(ReportHtml, ScoresComeFirst) {
  const TemporaryDirectory directory;
  for (int i = 0; i < 2; ++i) {
    WrittenRun run{.returns = {-9, -5.0 - i}};
    run.more_config = fmt::format("  learning_rate: {}\n", i == 0 ? "0.00031415926535" : "0.1");
    write_run(directory / std::to_string(i), run);
  }
  const auto page = report_html(report_of(directory.path()), {});
  EXPECT_NE(page.find("<th>algo</th><th class=\"number\">IQM</th><th class=\"number\">95 % "
                      "interval</th><th>runs and interval</th><th>learning_rate</th>"),
            std::string::npos);
  EXPECT_NE(page.find("<td>0.0003142</td>"), std::string::npos);
  EXPECT_NE(page.find("bcq learning_rate=0.0003142"), std::string::npos);
}

TEST(ReportHtml, AProfileNeedsRunsThatDiffer) {
  const auto has_profile = [](const std::vector<double>& values) {
    const TemporaryDirectory directory;
    for (size_t i = 0; i < values.size(); ++i) {
      write_run(directory / std::to_string(i),
                {.seed = static_cast<int64_t>(i), .returns = {-9, values[i]}});
    }
    const auto page = report_html(report_of(directory.path()), {});
    return page.find("Performance profile") != std::string::npos;
  };
  EXPECT_FALSE(has_profile({-5}));
  EXPECT_FALSE(has_profile({-5, -5}));
  EXPECT_TRUE(has_profile({-5, -4}));
}

TEST(ReportHtml, Base64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd\xfc"), "//79/A==");
}

TEST(Plot, WritesSvgAndPng) {
  if (!chart_unavailable().empty()) GTEST_SKIP() << chart_unavailable();
  const TemporaryDirectory directory;
  write_two_algorithms(directory);
  const auto report = report_of(directory.path());
  write_plot(report, directory / "curves.svg");
  write_plot(report, directory / "curves.png");
  EXPECT_TRUE(read_all(directory / "curves.svg").starts_with("<?xml"));
  EXPECT_TRUE(read_all(directory / "curves.png").starts_with("\x89PNG"));
  EXPECT_THROW(write_plot(report, directory / "curves.pdf"), Error);
  EXPECT_EQ(chart_ticks(-1310, 20, 5), (std::vector<double>{-1000, -500, 0}));
  EXPECT_EQ(chart_ticks(0, 1, 5).size(), 6u);
}

// By default, there is one panel for returns and one for each validation metric. If metrics are
// requested, there is one panel for each of them instead.
TEST(Plot, HasAPanelForEachCurve) {
  const TemporaryDirectory directory;
  write_two_algorithms(directory);
  const auto panels = [&](const std::vector<std::string>& metrics = {}) {
    std::vector<std::string> labels;
    for (const auto& chart : report_charts(report_of(directory.path()), metrics)) {
      labels.push_back(chart.y_label);
    }
    return labels;
  };
  using Labels = std::vector<std::string>;
  EXPECT_EQ(panels(), Labels{"return"});
  EXPECT_EQ(panels({"critic_loss"}), Labels{"critic_loss"});
  EXPECT_THROW(panels({"actor_loss"}), Error);
  for (int seed = 0; seed < 2; ++seed) {
    write_run(directory / fmt::format("v{}", seed),
              {.algo = "iql", .seed = seed, .returns = {-9, -8}, .validations = {3, 2.0 + seed}});
  }
  EXPECT_EQ(panels(), (Labels{"return", "validation_td_error"}));
  const auto charts = report_charts(report_of(directory.path()));
  ASSERT_EQ(charts[1].series.size(), 1u);
  const auto& last = charts[1].series[0].points.back();
  EXPECT_EQ(last.x, 10);
  EXPECT_EQ(last.y, 2.5);
  EXPECT_EQ(last.low, 2);
  EXPECT_EQ(last.high, 3);
}

TEST(Leaderboard, BestIsMarkedAndOverlappingIntervalsToo) {
  const TemporaryDirectory directory;
  write_two_algorithms(directory);
  write_run(directory / "c0", {.algo = "crr", .seed = 0, .returns = {-900, -880}});
  write_run(directory / "c1", {.algo = "crr", .seed = 1, .returns = {-900, -870}});
  const auto board = make_leaderboard(report_of(directory.path()));
  ASSERT_EQ(board.methods.size(), 3u);
  EXPECT_EQ(board.methods[0].algo, "bcq");
  EXPECT_TRUE(board.methods[0].cells[0]->best);
  EXPECT_EQ(board.methods[1].algo, "bear");
  EXPECT_TRUE(board.methods[1].cells[0]->near_best);
  EXPECT_FALSE(board.methods[2].cells[0]->near_best);
  EXPECT_EQ(board.methods[2].cells[0]->seeds, 2u);
  EXPECT_FALSE(board.normalized);
  const auto text = leaderboard_text(board, 80);
  EXPECT_NE(text.find("-290.0 [-300.0, -280.0] (n=3)*"), std::string::npos) << text;
  EXPECT_NE(text.find("-295.0 [-315.0, -275.0] (n=3)~"), std::string::npos) << text;
  const auto markdown = leaderboard_markdown(board);
  EXPECT_NE(markdown.find("| **-290.0 \\[-300.0, -280.0\\] (n=3)** |"), std::string::npos)
      << markdown;
  const auto page = leaderboard_html(board, {});
  EXPECT_NE(page.find("<b>-290.0 [-300.0, -280.0] (n=3)</b>"), std::string::npos);
  EXPECT_NE(leaderboard_text(board, 200).find(" Best: *; interval"), std::string::npos);
  EXPECT_NE(markdown.find(" Best: **bold**; interval"), std::string::npos) << markdown;
  EXPECT_NE(page.find(" Best: bold; interval"), std::string::npos);
}

TEST(Leaderboard, ASingleRunHasNoInterval) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.returns = {-900, -153.2}, .more_config = "  rate: 0.1234567\n"});
  write_run(directory / "b", {.returns = {-900, -200}, .more_config = "  rate: 0.2\n"});
  const auto board = make_leaderboard(report_of(directory.path()));
  EXPECT_NE(leaderboard_text(board, 80).find("-153.2 (n=1)*"), std::string::npos)
      << leaderboard_text(board, 80);
  EXPECT_NE(leaderboard_html(board, {}).find(
                "<td class=\"method\">bcq<div class=\"soft\">rate=0.1235</div></td>"),
            std::string::npos);
}

TEST(Leaderboard, NormalisedScoresAreSummedUpOverTasks) {
  const TemporaryDirectory directory;
  write_two_algorithms(directory, "Hopper-v4");
  // A single task needs no column for all tasks.
  const auto single = leaderboard_markdown(make_leaderboard(report_of(directory.path())));
  EXPECT_EQ(single.find("all tasks |"), std::string::npos) << single;
  write_two_algorithms(directory, "HalfCheetah-v4");
  const auto board = make_leaderboard(report_of(directory.path()));
  EXPECT_TRUE(board.normalized);
  EXPECT_NE(leaderboard_markdown(board).find("all tasks |"), std::string::npos);
  ASSERT_TRUE(board.methods[0].total);
  // The normalised score of a return r is 100 (r + 20.272305) / 3254.572305 for Hopper and
  // 100 (r + 280.178953) / 12415.178953 for HalfCheetah. The returns of bcq are -300, -290 and -280
  // on both tasks. Of its six scores, the IQM discards the lowest and the highest.
  EXPECT_NEAR(board.methods[0].total->iqm,
              (100 * ((-280 + 20.272305) + (-290 + 20.272305)) / 3254.572305 +
               100 * ((-300 + 280.178953) + (-290 + 280.178953)) / 12415.178953) /
                  4,
              1e-6);
}

}  // namespace
}  // namespace rl_training
