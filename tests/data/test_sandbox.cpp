#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "rl_training/data/call_filter.h"
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
  // The child has only the standard streams (0 to 2) and the output (3), so 4 is the first free
  // descriptor.
  EXPECT_EQ(result.text, sandbox_is_strict() ? "br4" : "bra4");
  ::close(other);
}

TEST(Sandbox, WorksBesideOtherThreads) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        std::vector<int>(1000, 1).swap(*std::make_unique<std::vector<int>>());
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    const auto result = run_in_sandbox("f", kLimits, [&](SandboxOutput& output) {
      const std::string text(static_cast<size_t>(1000 + i), 'x');
      output.text(text);
    });
    EXPECT_EQ(result.text.size(), static_cast<size_t>(1000 + i));
  }
}

// Another thread may map memory between any two instructions of the parent, even just before the
// fork. This memory must not count towards the limit of the child.
TEST(Sandbox, MemoryThatOtherThreadsMapIsNotCounted) {
  constexpr size_t kBytes = size_t{4} << 30;
  const std::jthread thread([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      void* memory = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ::munmap(memory, kBytes);
    }
  });
  for (int i = 0; i < 100; ++i) {
    const auto result = run_in_sandbox("f", kLimits, [](SandboxOutput& output) {
      const std::vector<char> memory(1 << 20, 'x');
      output.text(std::string(memory.begin(), memory.begin() + 10));
    });
    ASSERT_EQ(result.text.size(), 10U);
  }
}

// Tries calls that a compromised reader could make. Returns "name=errno" for each call, with 0 for
// success.
std::string attempts(const std::string& file) {
  std::string text;
  const auto note = [&](const char* name, long result) {
    text += std::string(name) + "=" + std::to_string(result < 0 ? errno : 0) + " ";
  };
  struct stat info {};
  note("read", ::open(file.c_str(), O_RDONLY));
  note("write", ::open(file.c_str(), O_WRONLY));
  note("create", ::open((file + ".new").c_str(), O_RDWR | O_CREAT, 0600));
  note("stat", ::stat(file.c_str(), &info));
  note("unlink", ::unlink(file.c_str()));
  note("rename", ::rename(file.c_str(), (file + ".new").c_str()));
  note("truncate", ::truncate(file.c_str(), 0));
  note("socket", ::socket(AF_INET, SOCK_STREAM, 0));
  note("unix_socket", ::socket(AF_UNIX, SOCK_STREAM, 0));
  note("exec", ::execl("/bin/true", "true", nullptr));
  note("fork", ::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  note("kill", ::kill(::getpid(), 0));
  note("ptrace", ::ptrace(PTRACE_TRACEME, 0, 0, 0));
  void* code = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  note("code", code == MAP_FAILED ? -1 : 0);
  return text;
}

TEST(Sandbox, AReaderThatWasTakenOverReachesNothing) {
  if (!readers_are_filtered()) GTEST_SKIP() << "no seccomp in this build or on this machine";
  const TemporaryDirectory directory;
  std::ofstream(directory / "other") << "secret";
  const auto result = run_in_sandbox("f", kLimits, [&](SandboxOutput& output) {
    const auto before = attempts(directory / "other");
    forbid_opening_files();
    output.text(before + "| " + attempts(directory / "other"));
  });
  // The error 1 is EPERM. Before its own file is open, a reader may open other files for reading
  // and query their status. Afterwards, it may do neither.
  EXPECT_EQ(result.text,
            "read=0 write=1 create=1 stat=0 unlink=1 rename=1 truncate=1 socket=1 unix_socket=1 "
            "exec=1 fork=1 kill=1 ptrace=1 code=1 "
            "| read=1 write=1 create=1 stat=1 unlink=1 rename=1 truncate=1 socket=1 unix_socket=1 "
            "exec=1 fork=1 kill=1 ptrace=1 code=1 ");
  EXPECT_EQ(read_all(directory / "other"), "secret");
}

// Readers unpack large arrays on several threads, so the filter must allow threads.
TEST(Sandbox, AFilteredReaderStillHasThreads) {
  const auto result = run_in_sandbox("f", kLimits, [&](SandboxOutput& output) {
    forbid_opening_files();
    std::string text = "no thread";
    std::thread([&] { text = "a thread"; }).join();
    output.text(text);
  });
  EXPECT_EQ(result.text, "a thread");
}

}  // namespace
}  // namespace rl_training
