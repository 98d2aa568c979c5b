#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rl_training/data/column.h"
#include "rl_training/util/json.h"

namespace rl_training {

struct SandboxLimits {
  int64_t memory_bytes = 0;  // on top of what the process has mapped already
  int64_t output_bytes = 0;
  int64_t cpu_seconds = 0;
  bool writes_files = false;  // then its system calls are not filtered

  // Enough for a file of this size, however well it is compressed, and little for a small one.
  static SandboxLimits for_file(const std::string& path);
  // Enough to make a file of arrays of this size.
  static SandboxLimits for_writing(int64_t bytes);
};

// What a reader returns from the child. Memory from allocate() is seen by the parent as well, so
// an array that was put there is handed over without a copy.
class SandboxOutput : public ArrayMemory {
 public:
  virtual void text(const std::string& text) = 0;
  virtual void array(const void* data, int64_t bytes) = 0;
};

struct SandboxResult {
  std::string text;
  std::vector<Column<unsigned char>> arrays;  // each begins at a multiple of 64 bytes
  std::vector<int64_t> offsets;               // of the arrays in the output
};

// Runs `reader` in a forked child that may not use more than the limits, leaves no core, has
// no open files but its own and few system calls (call_filter.h), and maps what it handed over. A
// damaged file can so kill the child only: that is Error{data} naming `file`. An Error of the
// reader is thrown on as it was.
//
// Other threads may run meanwhile, but the child has none of them: a lock that one of them held
// stays locked in it. The C library's own are safe; libhdf5 is never called outside such a child.
//
// The output goes through memory, or through the empty file open as `output`, which then holds the
// arrays: a disk that is full is Error{io}.
SandboxResult run_in_sandbox(const std::string& file, const SandboxLimits& limits,
                             const std::function<void(SandboxOutput&)>& reader, int output = -1);

// The facts that a reader put into the text. It may have been taken over by its file: what is no
// JSON is Error{data} naming `file`.
Json facts_of_reader(const std::string& text, const std::string& file);

// For the reader, once it has opened its file: no other can be opened or looked up from now on,
// whatever the file asks for. ONLY in the child.
void forbid_opening_files();

// False in a build with a sanitizer, which needs descriptors of its own and ends the process where
// memory is refused: files can be opened there, and the memory limit shows as a death.
bool sandbox_is_strict();

}  // namespace rl_training
