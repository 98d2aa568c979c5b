#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "rl_training/data/sandbox.h"
#include "rl_training/rl_training.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_config.h"

namespace rl_training {
namespace {

// Resources that the process uses.
struct Footprint {
  int64_t heap_bytes = 0;      // heap bytes in use, over all libraries
  int64_t resident_bytes = 0;  // bytes of resident memory
  int64_t descriptors = 0;
};

Footprint measure() {
  Footprint now;
  const auto heap = mallinfo2();
  now.heap_bytes = static_cast<int64_t>(heap.uordblks + heap.hblkhd);
  int64_t mapped_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> mapped_pages >> resident_pages;
  now.resident_bytes = resident_pages * ::sysconf(_SC_PAGESIZE);
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++now.descriptors;
  }
  return now;
}

constexpr int kCycles = 1000;
// A leak of one allocation per cycle is detected: the smallest allocation is 32 bytes, which is
// twice the limit of 16 bytes per cycle.
constexpr int64_t kHeapLimit = 16 * kCycles;

// Returns how much the process grows in kCycles cycles, after 20 cycles that fill its caches.
Footprint growth(const std::function<void()>& cycle) {
  for (int i = 0; i < 20; ++i) cycle();
  const auto before = measure();
  for (int i = 0; i < kCycles; ++i) cycle();
  const auto after = measure();
  return {after.heap_bytes - before.heap_bytes, after.resident_bytes - before.resident_bytes,
          after.descriptors - before.descriptors};
}

class Leaks : public testing::Test {
 protected:
  void SetUp() override {
    if (!sandbox_is_strict()) GTEST_SKIP() << "a sanitizer's allocator keeps what is freed";
  }
};

TEST_F(Leaks, TheMeasureSeesOneByteACycle) {
  std::vector<std::unique_ptr<char>> kept;
  kept.reserve(2 * kCycles);
  EXPECT_GT(growth([&] { kept.push_back(std::make_unique<char>()); }).heap_bytes, kHeapLimit);
}

TEST_F(Leaks, LoadingAndPredictingKeepNothing) {
  const TemporaryDirectory directory;
  const auto config = tiny_config("td3_bc", directory / "runs", {"eval_episodes=0"});
  const auto trained = Run::start(config, {})->train();
  const auto grown = growth([&] { Agent::load(trained.run_dir).predict({1, 0, 0}); });
  EXPECT_LT(grown.heap_bytes, kHeapLimit);
  EXPECT_LT(grown.resident_bytes, int64_t{4} << 20);
  EXPECT_EQ(grown.descriptors, 0);
  std::printf("%d cycles: heap %+ld bytes, resident %+ld KiB\n", kCycles, grown.heap_bytes,
              grown.resident_bytes / 1024);
}

}  // namespace
}  // namespace rl_training
