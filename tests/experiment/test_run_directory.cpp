#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>

#include "rl_training/experiment/run_directory.h"
#include "rl_training/util/error.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_run_directory {
namespace {

RunDirectory make_run(const std::string& output_dir, const std::string& env_id = "pendulum") {
  return RunDirectory::create(posix_file_system(), output_dir, "td3_bc", env_id, 7, "seed: 7\n");
}

std::string digits_as_9(std::string text) {
  for (char& c : text) {
    if (c >= '0' && c <= '9') c = '9';
  }
  return text;
}

std::string open_error(const std::string& path) {
  try {
    RunDirectory::open(posix_file_system(), path);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 6);
    return error.what();
  }
  return "opened";
}

TEST(RunDirectory, IsNamedAfterTheRunAndHoldsItsConfig) {
  const TemporaryDirectory directory;
  const auto run = make_run(directory / "a/b");
  const std::string name = std::filesystem::path(run.path()).filename().string();
  EXPECT_EQ(digits_as_9(name), "td9_bc__pendulum__seed9__99999999-999999");
  EXPECT_TRUE(name.starts_with("td3_bc__pendulum__seed7__2")) << name;
  EXPECT_EQ(run.file("x"), run.path() + "/x");
  EXPECT_EQ(read_all(run.file("config.yaml")), "seed: 7\n");
  const std::string lock = read_all(run.file("LOCK"));
  EXPECT_TRUE(lock.starts_with("pid " + std::to_string(::getpid()) + " on ")) << lock;
  EXPECT_TRUE(digits_as_9(lock).ends_with(", started 9999-99-99T99:99:99Z\n")) << lock;
  EXPECT_EQ(posix_file_system().list_directory(directory / "a/b").size(), 1U);
}

TEST(RunDirectory, OddEnvironmentNamesStayOneComponent) {
  const TemporaryDirectory directory;
  const auto run = make_run(directory.path(), "../D4RL/maze x-v1");
  EXPECT_EQ(std::filesystem::path(run.path()).parent_path(), directory.path());
  EXPECT_NE(run.path().find("__..-D4RL-maze-x-v1__seed7__"), std::string::npos) << run.path();
}

TEST(RunDirectory, RunsOfOneSecondGetNamesOfTheirOwn) {
  const TemporaryDirectory directory;
  std::vector<RunDirectory> runs;
  std::set<std::string> paths;
  for (int i = 0; i < 20; ++i) {
    runs.push_back(make_run(directory.path()));
    paths.insert(runs.back().path());
  }
  EXPECT_EQ(paths.size(), 20U);
}

TEST(RunDirectory, ProcessesThatStartTogetherGetNamesOfTheirOwn) {
  const TemporaryDirectory directory;
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        make_run(directory.path());
      } catch (...) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto names = posix_file_system().list_directory(directory.path());
  EXPECT_EQ(names.size(), 16U);
  for (const auto& name : names) {
    EXPECT_EQ(read_all(directory / (name + "/config.yaml")), "seed: 7\n");
  }
}

TEST(RunDirectory, OnlyARunDirectoryCanBeOpened) {
  const TemporaryDirectory directory;
  EXPECT_NE(open_error(directory.path()).find("not a run directory"), std::string::npos);
  EXPECT_NE(open_error(directory / "absent").find("not a run directory"), std::string::npos);
  EXPECT_TRUE(posix_file_system().list_directory(directory.path()).empty());
}

TEST(RunDirectory, LockEndsWithTheObject) {
  const TemporaryDirectory directory;
  std::string path;
  {
    auto run = make_run(directory.path());
    path = run.path();
    EXPECT_NE(open_error(path).find("in use"), std::string::npos);
    const RunDirectory moved = std::move(run);
    EXPECT_NE(open_error(path).find("in use"), std::string::npos);
  }
  EXPECT_EQ(open_error(path), "opened");
  EXPECT_EQ(RunDirectory::open(posix_file_system(), path + "/").path(), path);
}

TEST(RunDirectory, SecondProcessIsToldWhoHoldsTheRun) {
  const TemporaryDirectory directory;
  const std::string path = make_run(directory.path()).path();
  std::array<int, 2> ready{};
  std::array<int, 2> end{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  ASSERT_EQ(::pipe(end.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(end[1]);
    char byte = 0;
    try {
      const auto run = RunDirectory::open(posix_file_system(), path);
      if (::write(ready[1], "r", 1) != 1 || ::read(end[0], &byte, 1) != 0) ::_exit(1);
    } catch (...) {
      ::_exit(2);
    }
    ::_exit(0);
  }
  ::close(ready[1]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const std::string lock = read_all(path + "/LOCK");
  const std::string text = open_error(path);
  EXPECT_NE(text.find("pid " + std::to_string(child) + " on "), std::string::npos) << text;
  EXPECT_NE(text.find(", started 2"), std::string::npos) << text;
  EXPECT_EQ(read_all(path + "/LOCK"), lock);
  ::close(end[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::close(ready[0]);
  ::close(end[0]);
  EXPECT_EQ(open_error(path), "opened");
}

TEST(RunDirectory, LockIsNotInheritedByPrograms) {
  const TemporaryDirectory directory;
  const auto run = make_run(directory.path());
  bool found = false;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code code;
    const auto target = std::filesystem::read_symlink(entry.path(), code);
    if (code || target != std::filesystem::path(run.file("LOCK"))) continue;
    found = true;
    const int flags = ::fcntl(std::stoi(entry.path().filename().string()), F_GETFD);
    EXPECT_NE(flags & FD_CLOEXEC, 0);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace rl_training::test_run_directory
