#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rl_training/util/error.h"
#include "tests/report/written_run.h"

namespace rl_training {
namespace {

RunRecord read(const std::string& path) { return read_run(posix_file_system(), path); }

std::string error_of(const std::string& path) {
  try {
    read(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 6);
    return error.what();
  }
  return "no error";
}

// A run may be read at any time, for example while its process writes a row, or before the process
// has written metadata.json and metrics.jsonl.
TEST(RunRecord, RowsThatAreNotWholeDoNotCount) {
  const TemporaryDirectory directory;
  const auto run = directory / "a";
  write_run(run, {.returns = {-900, -400}});
  const auto rows = read_all(run + "/metrics.jsonl");
  write_all(run + "/metrics.jsonl", rows + R"({"update_count": 20, "eval_retu)");
  EXPECT_EQ(read(run).updates, 10);
  EXPECT_EQ(read(run).evaluations.size(), 2u);
  EXPECT_EQ(read(run).evaluations.back().value, -400);
  EXPECT_EQ(read(run).state, RunState::unfinished);
  write_all(run + "/metrics.jsonl", "nonsense\n[1]\n" + rows + "{\"update_count\":\"x\"}\n\n");
  EXPECT_EQ(read(run).evaluations.size(), 2u);

  std::filesystem::remove(run + "/metrics.jsonl");
  std::filesystem::remove(run + "/metadata.json");
  EXPECT_TRUE(read(run).evaluations.empty());
  EXPECT_EQ(read(run).dataset.fingerprint, "");
}

TEST(RunRecord, TimeIsThatOfTrainingNotOfTheCalendar) {
  const TemporaryDirectory directory;
  const auto run = directory / "a";
  write_run(run, {.returns = {-9, -5}});
  write_all(run + "/timing.jsonl",
            R"({"update_count":0,"wall_time":1000,"updates_per_second":0})"
            "\n"
            R"({"update_count":10,"wall_time":1002,"updates_per_second":5})"
            "\n"
            R"({"update_count":20,"wall_time":900000,"updates_per_second":10})"
            "\n");
  EXPECT_DOUBLE_EQ(read(run).seconds, 3);
}

TEST(RunRecord, ARunThatIsBeingTrainedIsSeenWithoutTakingItsLock) {
  const TemporaryDirectory directory;
  const auto run = directory / "a";
  write_run(run, {.returns = {-9, -5}});
  const int lock = ::open((run + "/LOCK").c_str(), O_CREAT | O_RDWR, 0644);
  ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(read(run).state, RunState::running);
  ::close(lock);
  EXPECT_EQ(read(run).state, RunState::unfinished);
}

TEST(RunRecord, OnlyPlainFilesOfABoundedSizeAreRead) {
  const TemporaryDirectory directory;
  const auto run = directory / "a", metrics = run + "/metrics.jsonl";
  write_run(run, {.returns = {-9}});
  std::filesystem::remove(metrics);
  ASSERT_EQ(::mkfifo(metrics.c_str(), 0644), 0);  // reading a FIFO would block forever
  EXPECT_EQ(error_of(run), metrics + ": not a plain file");
  std::filesystem::remove(metrics);
  write_all(directory / "secret", rows_of({1}));
  std::filesystem::create_symlink(directory / "secret", metrics);
  EXPECT_EQ(error_of(run), metrics + ": not a plain file");
  std::filesystem::remove(metrics);
  write_all(metrics, "");
  std::filesystem::resize_file(metrics, uint64_t{1} << 40);
  EXPECT_EQ(error_of(run),
            metrics + ": too large (expected at most 268435456 bytes, got 1099511627776)");
}

TEST(RunRecord, ABadRunIsLeftOutWithALine) {
  const TemporaryDirectory directory;
  write_run(directory / "a", {.returns = {-9}});
  write_run(directory / "b", {.returns = {-9}});
  write_all(directory / "b/config.yaml", "algo: [\x1b[31m");
  std::vector<std::string> lines;
  const auto warn = [&](const std::string& line) { lines.push_back(line); };
  EXPECT_EQ(read_runs(posix_file_system(), {directory.path()}, warn).size(), 1u);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("warning: skipped: " + (directory / "b/config.yaml")));
  EXPECT_EQ(lines[0].find('\x1b'), std::string::npos);
  EXPECT_THROW(read_runs(posix_file_system(), {directory / "b"}, warn), Error);
}

TEST(RunRecord, FindsRunsBelowDirectories) {
  const TemporaryDirectory directory;
  write_run(directory / "deep/er/b", {});
  write_run(directory / "a", {});
  auto& files = posix_file_system();
  EXPECT_EQ(find_runs(files, {directory.path(), directory / "a", directory / "a/"}),
            (std::vector<std::string>{directory / "a", directory / "deep/er/b"}));
  for (const auto& path : {directory / "a/checkpoints", directory / "nothing"}) {
    try {
      find_runs(files, {path});
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 6);
      EXPECT_EQ(std::string(error.what()),
                path + ": neither a run directory nor a directory that contains runs");
    }
  }
}

}  // namespace
}  // namespace rl_training
