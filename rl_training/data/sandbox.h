#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rl_training/data/column.h"
#include "rl_training/util/json.h"

namespace rl_training {

struct SandboxLimits {
  int64_t memory_bytes = 0;  // in addition to what the process has already mapped
  int64_t output_bytes = 0;
  int64_t cpu_seconds = 0;
  bool writes_files = false;  // then its system calls are not filtered

  // Limits that suffice for a file of this size with any compression; small for small files.
  static SandboxLimits for_file(const std::string& path);
  // Limits that suffice to write a file with arrays of this size.
  static SandboxLimits for_writing(int64_t bytes);
};

// Results that a reader passes from the child. Memory from allocate() is shared with the parent, so
// arrays in it are passed without a copy.
class SandboxOutput : public ArrayMemory {
 public:
  virtual void text(const std::string& text) = 0;
  virtual void array(const void* data, int64_t bytes) = 0;
};

struct SandboxResult {
  std::string text;
  std::vector<Column<unsigned char>> arrays;  // each aligned to 64 bytes
  std::vector<int64_t> offsets;               // of the arrays in the output
};

// Runs `reader` in a forked child with these limits, without core dumps, without open files of the
// parent and with few system calls (call_filter.h), and maps its results. A damaged file can only
// kill the child, which is reported as Error{data} naming `file`. An Error thrown by the reader is
// rethrown in the parent.
//
// Other threads may run meanwhile. They do not exist in the child, where locks that they held stay
// locked. The C library's own locks are safe; libhdf5 is never called outside such a child.
//
// The output is passed through memory, or through the empty file open as `output`, which then holds
// the arrays; a full disk is Error{io}.
SandboxResult run_in_sandbox(const std::string& file, const SandboxLimits& limits,
                             const std::function<void(SandboxOutput&)>& reader, int output = -1);

// Parses the facts in the reader's text. The reader may have been compromised by its file, so text
// that is not JSON is Error{data} naming `file`.
Json facts_of_reader(const std::string& text, const std::string& file);

// Called by the reader once it has opened its file: from now on no other file can be opened or
// looked up. Call this ONLY in the child.
void forbid_opening_files();

// False in sanitizer builds. A sanitizer needs its own descriptors and ends the process if an
// allocation fails, so files can still be opened there, and exceeding the memory limit kills the
// child.
bool sandbox_is_strict();

}  // namespace rl_training
