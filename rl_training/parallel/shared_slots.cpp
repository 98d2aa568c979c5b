#include "rl_training/parallel/shared_slots.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace rl_training {
namespace {

constexpr size_t kLine = 64;  // bytes of a cache line; the key occupies the first line
constexpr size_t kLineFloats = kLine / sizeof(float);

}  // namespace

SharedSlots::SharedSlots(int descriptor, int processes, size_t values)
    : descriptor_(descriptor),
      processes_(processes),
      values_(values),
      stride_((values + kLineFloats - 1) / kLineFloats * kLineFloats),
      bytes_(kLine + 2 * static_cast<size_t>(processes) * stride_ * sizeof(float)) {}

SharedSlots::~SharedSlots() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
  ::close(descriptor_);
}

bool SharedSlots::map() {
  void* memory =
      ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor_, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = memory;
  return true;
}

std::unique_ptr<SharedSlots> SharedSlots::create(int processes, size_t values) {
  const int descriptor = ::memfd_create("rl_training", MFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  std::unique_ptr<SharedSlots> slots(new SharedSlots(descriptor, processes, values));
  uint64_t key = 0;
  // Allocates all pages now, because a lack of memory later would kill the process with SIGBUS.
  if (::posix_fallocate(descriptor, 0, static_cast<off_t>(slots->bytes_)) != 0 ||
      ::getrandom(&key, sizeof(key), 0) != sizeof(key) || !slots->map()) {
    return nullptr;
  }
  std::memcpy(slots->memory_, &key, sizeof(key));
  return slots;
}

std::unique_ptr<SharedSlots> SharedSlots::open(const Handle& handle, int processes, size_t values) {
  if (handle.descriptor < 0) return nullptr;
  const std::string path =
      "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.descriptor);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return nullptr;
  std::unique_ptr<SharedSlots> slots(new SharedSlots(descriptor, processes, values));
  struct stat facts = {};
  if (::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_size != static_cast<off_t>(slots->bytes_) || !slots->map() ||
      slots->handle().key != handle.key) {
    return nullptr;
  }
  return slots;
}

SharedSlots::Handle SharedSlots::handle() const {
  Handle handle = {static_cast<int32_t>(::getpid()), descriptor_, 0};
  std::memcpy(&handle.key, memory_, sizeof(handle.key));
  return handle;
}

float* SharedSlots::slot(int rank, int64_t turn) const {
  const auto number =
      static_cast<size_t>(turn % 2) * static_cast<size_t>(processes_) + static_cast<size_t>(rank);
  return reinterpret_cast<float*>(static_cast<char*>(memory_) + kLine) + number * stride_;
}

}  // namespace rl_training
