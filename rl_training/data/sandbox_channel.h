#pragma once
#include <string>
#include <utility>
#include <vector>

#include "rl_training/data/sandbox.h"
#include "rl_training/util/error.h"

namespace rl_training {

constexpr int64_t kMaxSandboxMessage = int64_t{16} << 20;

// The child's side of a sandbox. Writes to an empty file, which the parent maps later.
class SandboxSender final : public SandboxOutput {
 public:
  explicit SandboxSender(int descriptor) : descriptor_(descriptor) {}
  // Unmaps the allocated memory.
  ~SandboxSender() override;
  SandboxSender(const SandboxSender&) = delete;
  SandboxSender& operator=(const SandboxSender&) = delete;

  void text(const std::string& text) override { text_ = text; }
  std::shared_ptr<void> allocate(int64_t bytes) override;
  void store(void* target, const void* data, int64_t bytes) override;
  void array(const void* data, int64_t bytes) override;

  // Call one of these functions last: finish() after success, fail() after an error.
  void finish();
  void fail(const Error& error);

 private:
  struct Region {
    char* start;
    int64_t offset, bytes;
  };
  void close(const std::string& message);
  void append(const void* data, int64_t bytes);
  void write(const void* data, int64_t bytes, int64_t offset) const;

  int descriptor_;
  std::string text_;
  std::vector<std::pair<int64_t, int64_t>> arrays_;  // offset, bytes
  std::vector<Region> regions_;
  int64_t position_ = 0;
};

// The parent's side of a sandbox. Call this after the child has exited normally. Rethrows an Error
// of the child.
SandboxResult receive_from_sandbox(int descriptor);

// Maps the first `size` bytes of an open file into memory, read-only.
Column<unsigned char> map_file(int descriptor, int64_t size);

}  // namespace rl_training
