#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "rl_training/models/compute.h"

namespace rl_training::test_compute {
namespace {

// Functions that read and set the number of threads of OpenBLAS.
struct OpenBlas {
  std::function<int()> get;
  std::function<void(int)> set;
};

// Returns nullopt if LibTorch has not loaded OpenBLAS.
std::optional<OpenBlas> openblas() {
  void* library = ::dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return std::nullopt;
  return OpenBlas{reinterpret_cast<int (*)()>(::dlsym(library, "openblas_get_num_threads")),
                  reinterpret_cast<void (*)(int)>(::dlsym(library, "openblas_set_num_threads"))};
}

TEST(SingleThreadedTensors, LimitsOpenBlasAndRestoresItsThreads) {
  const auto blas = openblas();
  if (!blas) GTEST_SKIP() << "LibTorch uses another BLAS library";
  const int before = blas->get();
  blas->set(2);
  {
    const SingleThreadedTensors outer;
    EXPECT_EQ(blas->get(), 1);
    { const SingleThreadedTensors inner; }
    EXPECT_EQ(blas->get(), 1);  // the outer object still limits the threads
  }
  EXPECT_EQ(blas->get(), 2);
  blas->set(before);
}

// Pieces must cover every value once, in order, with any number of threads.
TEST(RunPieces, CoverEveryValueOnce) {
  ThreadPool pool(2);
  for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
    for (const int64_t size : {0, 1, 4095, 4096, 11649, 143372}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(size));
      std::atomic<int64_t> smallest = size;
      run_pieces(threads, size, [&](int64_t first, int64_t count) {
        for (int64_t i = first; i < first + count; ++i) ++visits[static_cast<size_t>(i)];
        for (int64_t old = smallest; count < old && !smallest.compare_exchange_weak(old, count);) {
        }
      });
      EXPECT_TRUE(std::all_of(visits.begin(), visits.end(), [](int n) { return n == 1; })) << size;
      EXPECT_GE(smallest, std::min<int64_t>(size, 4080)) << size;
    }
  }
}

}  // namespace
}  // namespace rl_training::test_compute
