#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "rl_training/data/memory_limit.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

class MemoryLimit : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = directory_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  int64_t limit() const { return memory_limit(directory_.path()); }

  TemporaryDirectory directory_;
  const int64_t machine_ = memory_limit(directory_.path());  // without control groups
};

TEST_F(MemoryLimit, IsThatOfTheMachineWithoutGroups) {
  EXPECT_GT(machine_, int64_t{1} << 26);
  write("proc/self/cgroup", "0::/a/b");
  EXPECT_EQ(limit(), machine_);
  write("sys/fs/cgroup/a/b/memory.max", "max");
  EXPECT_EQ(limit(), machine_);
  write("sys/fs/cgroup/a/b/memory.max", "9000000000000000000");  // more than the machine has
  EXPECT_EQ(limit(), machine_);
}

TEST_F(MemoryLimit, TheSmallestAroundCounts) {
  write("proc/self/cgroup", "0::/a/b");
  write("sys/fs/cgroup/a/b/memory.max", "5000000");
  EXPECT_EQ(limit(), 5'000'000);
  write("sys/fs/cgroup/a/memory.max", "3000000");
  EXPECT_EQ(limit(), 3'000'000);
  write("sys/fs/cgroup/memory.max", "2000000");  // the root is the container's own group
  EXPECT_EQ(limit(), 2'000'000);
  write("sys/fs/cgroup/c/memory.max", "1000000");  // another group
  EXPECT_EQ(limit(), 2'000'000);
}

TEST_F(MemoryLimit, KnowsTheFirstVersionOfGroups) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/1\n");
  write("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "4000000");
  write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1000000");
  EXPECT_EQ(limit(), 4'000'000);
}

}  // namespace
}  // namespace rl_training
