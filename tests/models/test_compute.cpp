#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>

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

}  // namespace
}  // namespace rl_training::test_compute
