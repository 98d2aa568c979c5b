#include "rl_training/models/compute.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <omp.h>

#include <mutex>

namespace rl_training {
namespace {

// Limits OpenBLAS to one thread while a SingleThreadedTensors object exists. OpenBLAS has its own
// threads and one thread count for the whole process, which neither OpenMP nor LibTorch sets.
class OpenBlasThreads {
 public:
  static OpenBlasThreads& instance() {
    static OpenBlasThreads threads;
    return threads;
  }

  void limit() {
    const std::lock_guard lock(mutex_);
    if (set_ == nullptr || ++users_ > 1) return;
    before_ = get_();
    set_(1);
  }

  void release() {
    const std::lock_guard lock(mutex_);
    if (set_ != nullptr && --users_ == 0) set_(before_);
  }

 private:
  // Looks up the functions only if LibTorch has loaded OpenBLAS. Other BLAS libraries do not have
  // them.
  OpenBlasThreads() {
    void* library = ::dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return;
    get_ = reinterpret_cast<int (*)()>(::dlsym(library, "openblas_get_num_threads"));
    if (get_ == nullptr) return;
    set_ = reinterpret_cast<void (*)(int)>(::dlsym(library, "openblas_set_num_threads"));
  }

  std::mutex mutex_;
  int users_ = 0;   // number of existing SingleThreadedTensors objects
  int before_ = 1;  // thread count to restore
  int (*get_)() = nullptr;
  void (*set_)(int) = nullptr;
};

}  // namespace

SingleThreadedTensors::SingleThreadedTensors() {
  OpenBlasThreads::instance().limit();
  // This call makes LibTorch initialise the thread count of this thread. If LibTorch did so later,
  // it would overwrite our setting.
  at::get_num_threads();
  before_ = omp_get_max_threads();
  omp_set_num_threads(1);
  // omp_set_num_threads has no effect on a LibTorch with its own copy of the OpenMP runtime.
  if (at::get_num_threads() == 1) return;
  process_wide_ = at::get_num_threads();
  at::set_num_threads(1);
}

SingleThreadedTensors::~SingleThreadedTensors() {
  if (process_wide_ > 0) at::set_num_threads(process_wide_);
  omp_set_num_threads(before_);
  OpenBlasThreads::instance().release();
}

torch::Tensor empty_floats(torch::IntArrayRef shape) {
  return torch::Tensor(at::detail::empty_cpu(shape, torch::kFloat, /*pin_memory=*/false));
}

torch::Tensor without_graph(const torch::Tensor& x) { return x.tensor_data(); }

}  // namespace rl_training
