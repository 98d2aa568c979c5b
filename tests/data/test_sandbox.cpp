#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "rl_training/data/sandbox.h"
#include "rl_training/util/error.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
const SandboxLimits kLimits{64 * kMiB, 16 * kMiB, 20};

std::string problem_of(const std::function<void(SandboxOutput&)>& reader,
                       const SandboxLimits& limits = kLimits) {
  try {
    run_in_sandbox("the file", limits, reader);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return error.what();
  }
  return "";
}

TEST(Sandbox, HandsOverTextAndArrays) {
  const std::vector<float> floats = {1, 2.5f, -3};
  const std::vector<int64_t> numbers(300'000, 7);
  const auto result = run_in_sandbox("f", kLimits, [&](SandboxOutput& output) {
    output.array(floats.data(), 12);
    output.array(nullptr, 0);
    output.array(numbers.data(), 8 * 300'000);
    output.text(std::string("with a \0 byte \xff", 15));
  });
  EXPECT_EQ(result.text, std::string("with a \0 byte \xff", 15));
  ASSERT_EQ(result.arrays.size(), 3u);
  ASSERT_EQ(result.arrays[0].size(), 12);
  EXPECT_EQ(std::memcmp(result.arrays[0].data(), floats.data(), 12), 0);
  EXPECT_EQ(result.arrays[1].size(), 0);
  ASSERT_EQ(result.arrays[2].size(), 8 * 300'000);
  EXPECT_EQ(std::memcmp(result.arrays[2].data(), numbers.data(), 8 * 300'000), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(result.arrays[2].data()) % 64, 0u);
}

TEST(Sandbox, NothingTheReaderDoesIsSeenOutside) {
  int number = 1;
  run_in_sandbox("f", kLimits, [&](SandboxOutput&) { number = 2; });
  EXPECT_EQ(number, 1);
}

TEST(Sandbox, PassesErrorsOnAsTheyAre) {
  try {
    run_in_sandbox("f", kLimits, [](SandboxOutput& output) {
      output.array("left over", 9);
      throw Error(ErrorKind::io, {"a.csv", 12, "key"}, "wrong \xff");
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.place().file, "a.csv");
    EXPECT_EQ(error.place().line, 12);
    EXPECT_EQ(error.place().key, "key");
    EXPECT_EQ(error.message(), "wrong \xff");
  }
  EXPECT_EQ(problem_of([](SandboxOutput&) { throw std::runtime_error("odd"); }), "the file: odd");
}

TEST(Sandbox, TellsHowTheReaderDied) {
  EXPECT_EQ(problem_of([](SandboxOutput&) { std::raise(SIGSEGV); }),
            "the file: damaged or hostile file (reader died with signal 11)");
  EXPECT_EQ(problem_of([](SandboxOutput&) { std::abort(); }),
            "the file: damaged or hostile file (reader died with signal 6)");
  EXPECT_EQ(problem_of([](SandboxOutput&) { ::_exit(7); }),
            "the file: damaged or hostile file (reader died with exit code 7)");
}

TEST(Sandbox, LimitsMemoryOutputAndTime) {
  const auto much = problem_of([](SandboxOutput& output) {
    const std::vector<char> bytes(static_cast<size_t>(200 * kMiB), 1);
    output.array(bytes.data(), 1);
  });
  EXPECT_NE(much, "");
  if (sandbox_is_strict()) {
    EXPECT_EQ(much, "the file: needs more memory than the limit of 64 MiB");
  }
  EXPECT_NE(problem_of([](SandboxOutput& output) {
              const std::vector<char> some(static_cast<size_t>(8 * kMiB), 1);
              for (int i = 0; i < 8; ++i) output.array(some.data(), 8 * kMiB);
            }),
            "");
  const SandboxLimits short_time{64 * kMiB, kMiB, 1};
  const auto text = problem_of(
      [](SandboxOutput&) {
        const std::atomic<bool> stop = false;
        while (!stop) {
        }
      },
      short_time);
  EXPECT_NE(text.find("limited to 1 s of CPU time"), std::string::npos) << text;
}

TEST(Sandbox, OpenFilesOfTheProcessAreOutOfReach) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "other") << "secret";
  const int other = ::open((directory / "other").c_str(), O_RDONLY);
  ASSERT_GE(other, 0);
  const auto result = run_in_sandbox("f", kLimits, [&](SandboxOutput& output) {
    const int free_one = ::open((directory / "other").c_str(), O_RDONLY);
    const bool opened_before = free_one >= 0;
    forbid_opening_files();
    char byte = 0;
    const bool still_reads = ::read(free_one, &byte, 1) == 1 && byte == 's';
    const bool opened_after = ::open((directory / "other").c_str(), O_RDONLY) >= 0;
    output.text(std::string(opened_before ? "b" : "") + (still_reads ? "r" : "") +
                (opened_after ? "a" : "") + (free_one == 4 ? "4" : ""));
  });
  // Descriptor 4 is the first free one: all that the parent had open beyond the output are closed.
  EXPECT_EQ(result.text, sandbox_is_strict() ? "br4" : "bra4");
  ::close(other);
}

TEST(Sandbox, WorksBesideOtherThreads) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) std::vector<int>(1000, 1).swap(*std::make_unique<std::vector<int>>());
    });
  }
  for (int i = 0; i < 50; ++i) {
    const auto result = run_in_sandbox("f", kLimits, [&](SandboxOutput& output) {
      const std::string text(static_cast<size_t>(1000 + i), 'x');
      output.text(text);
    });
    EXPECT_EQ(result.text.size(), static_cast<size_t>(1000 + i));
  }
  stop = true;
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace rl_training
