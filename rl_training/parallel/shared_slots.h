#pragma once
#include <cstdint>
#include <memory>

namespace rl_training {

// Memory that the processes of one machine share: two slots of floats for each process, which it
// fills in turn. It has no name in any file system and is freed with the last process.
class SharedSlots {
 public:
  // Tells another process where to find the memory.
  struct Handle {
    int32_t process = 0, descriptor = -1;  // -1: there is none
    uint64_t key = 0;                      // also at the start of the memory
  };

  // For `processes` processes, with at least `values` floats in a slot. A null pointer if the
  // system has no such memory left.
  static std::unique_ptr<SharedSlots> create(int processes, size_t values);
  // Opens what another process created with the same sizes. A null pointer if it cannot be opened,
  // for example because that process runs in another container.
  static std::unique_ptr<SharedSlots> open(const Handle& handle, int processes, size_t values);
  ~SharedSlots();
  SharedSlots(const SharedSlots&) = delete;
  SharedSlots& operator=(const SharedSlots&) = delete;

  Handle handle() const;
  size_t values() const { return values_; }
  float* slot(int rank, int64_t turn) const;

 private:
  SharedSlots(int descriptor, int processes, size_t values);
  bool map();

  int descriptor_;
  int processes_;
  size_t values_, stride_, bytes_;
  void* memory_ = nullptr;
};

}  // namespace rl_training
