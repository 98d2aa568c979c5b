#pragma once
#include <cstdint>
#include <memory>

namespace rl_training {

// Memory that the processes of one machine share. Each process has two slots of floats and fills
// them alternately. The memory has no name in any file system and is freed when no process has it
// open.
class SharedSlots {
 public:
  // Identifies the memory, so that another process can open it.
  struct Handle {
    int32_t process = 0, descriptor = -1;  // descriptor is -1 if there is no memory
    uint64_t key = 0;                      // also stored at the start of the memory
  };

  // Creates memory for `processes` processes with at least `values` floats per slot. Returns a null
  // pointer if the system cannot provide the memory.
  static std::unique_ptr<SharedSlots> create(int processes, size_t values);
  // Opens the memory that another process created with the same sizes. Returns a null pointer on
  // failure, for example if the other process runs in another container.
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
