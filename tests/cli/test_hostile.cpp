// Tests hostile file contents and unusual ways to start the program.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tests/cli/tiny_training.h"
#include "tests/support/program.h"

extern char** environ;

namespace rl_training {
namespace {

namespace fs = std::filesystem;

class Hostile : public testing::Test {
 protected:
  std::string trained_run() {
    const auto result = run(tiny_training(directory_ / "runs"));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.json()["run_dir"];
  }
  TemporaryDirectory directory_;
};

// True if the text is one line of printable ASCII. Bytes that control a terminal or hide text must
// be escaped.
bool plain_line(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n') == 1 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); });
}

TEST_F(Hostile, DeepObservationsAreOneErrorLine) {
  const auto run_dir = trained_run();
  const auto file = directory_ / "obs.jsonl";
  for (const auto& line :
       {std::string(200'000, '['), std::string(200'000, '[') + std::string(200'000, ']'),
        "[" + std::string(100'000, '[') + std::string(100'000, ']') + ", 0, 0]"}) {
    write_all(file, line + "\n");
    const auto result = run({"predict", run_dir, "--input", file});
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_TRUE(result.one_error_line()) << result.err;
    EXPECT_NE(result.err.find(file + ":1: not a JSON array of numbers"), std::string::npos)
        << result.err;
  }
}

// A NUL byte must not end a line, because the text after the byte would then be ignored.
TEST_F(Hostile, NothingHidesBehindANul) {
  const auto run_dir = trained_run();
  const auto file = directory_ / "obs.jsonl";
  write_all(file, std::string("[1, 0, 0]\0hidden\n", 17));
  const auto result = run({"predict", run_dir, "--input", file});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.err.find(R"([1, 0, 0]\u0000hidden)"), std::string::npos) << result.err;
  EXPECT_TRUE(plain_line(result.err)) << result.err;
}

TEST_F(Hostile, ControlCharactersAreEscaped) {
  const auto file = directory_ / "data.csv";
  write_all(file, std::string("obs_0,action_0,reward,terminal\n0,0,\0\x1b[2J,0\n", 43));
  auto result = run({"dataset", "inspect", file});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_TRUE(plain_line(result.err)) << result.err;
  EXPECT_NE(result.err.find(R"(\u0000\u001b[2J)"), std::string::npos) << result.err;

  const auto config = directory_ / "config.yaml";
  write_all(config, "algo: td3_bc\nenv_id: Pendulum-v1\n\"safe\u202e\u009b31m\": 1\n");
  result = run({"config", "check", config});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_TRUE(plain_line(result.err)) << result.err;
  EXPECT_NE(result.err.find(R"(safe\u202e\u009b31m)"), std::string::npos) << result.err;

  result = run({"config", "check", config, "--json"});
  EXPECT_TRUE(plain_line(result.out)) << result.out;
  EXPECT_EQ(result.json()["error"]["key"], "safe\u202e\u009b31m");  // parsing undoes the escapes
}

TEST_F(Hostile, TablesAreEscaped) {
  auto arguments = tiny_training(directory_ / "r\u202e\x1b[2J");
  arguments.erase(std::find(arguments.begin(), arguments.end(), "--json"));
  const auto shown = run(arguments);
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  for (const auto& text : {shown.out, shown.err}) {
    EXPECT_NE(text.find(R"(r\u202e\u001b[2J/td3_bc__)"), std::string::npos) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find("\u202e"), std::string::npos);
  }
}

// Files that the program opens must not reuse the descriptors of closed standard streams, because
// output to these streams would overwrite the files.
TEST_F(Hostile, ClosedStreamsTouchNoFile) {
  const auto open_run = trained_run();
  auto arguments = tiny_training(directory_ / "closed");
  arguments.insert(arguments.begin(), RL_TRAINING_PROGRAM);
  arguments.erase(std::find(arguments.begin(), arguments.end(), "--json"));  // to print a summary
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {0, 1, 2}) posix_spawn_file_actions_addclose(&actions, stream);
  pid_t pid = -1;
  ASSERT_EQ(posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  const auto closed_run = fs::directory_iterator(directory_ / "closed")->path().string();
  for (const char* file : {"metrics.jsonl", "metrics.csv"}) {
    EXPECT_EQ(read_all(closed_run + "/" + file), read_all(open_run + "/" + file)) << file;
  }
  const auto lock = read_all(closed_run + "/LOCK");
  EXPECT_TRUE(lock.starts_with("pid " + std::to_string(pid) + " on ")) << lock;
  EXPECT_EQ(std::count(lock.begin(), lock.end(), '\n'), 1) << lock;
}

TEST_F(Hostile, AnEmptyChoiceOfKernelsIsNone) {
  ::setenv("RL_TRAINING_KERNELS", "", 1);
  const auto empty = run({"doctor", "--json"});
  ::unsetenv("RL_TRAINING_KERNELS");
  ASSERT_EQ(empty.exit_code, 0) << empty.err;
  EXPECT_EQ(empty.json()["instruction_set"], run({"doctor", "--json"}).json()["instruction_set"]);
}

TEST_F(Hostile, LinksInARunDirectoryAreRefused) {
  const auto run_dir = trained_run();
  const auto outside = directory_ / "outside";
  write_all(outside, "kept");
  fs::remove(run_dir + "/LOCK");
  fs::create_symlink(outside, run_dir + "/LOCK");
  const auto result = run({"resume", run_dir});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_TRUE(result.one_error_line()) << result.err;
  EXPECT_NE(result.err.find(run_dir + "/LOCK: not a file of this run"), std::string::npos);
  EXPECT_EQ(read_all(outside), "kept");
}

}  // namespace
}  // namespace rl_training
