#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rl_training/data/column.h"
#include "rl_training/util/json.h"

namespace rl_training {

struct SandboxLimits {
  int64_t memory_bytes = 0;  // in addition to the memory that the process has already mapped
  int64_t output_bytes = 0;
  int64_t cpu_seconds = 0;
  bool writes_files = false;  // if true, system calls are not filtered

  // Limits that suffice to read the file at `path`, whatever its compression. They depend on the
  // file size, so that small files get low limits.
  static SandboxLimits for_file(const std::string& path);
  // Limits that suffice to write a file with arrays of this size.
  static SandboxLimits for_writing(int64_t bytes);
};

// Passes the results of a reader from the child process, in which the reader runs, to the parent.
// Memory from allocate() is shared with the parent, so arrays in this memory are not copied.
class SandboxOutput : public ArrayMemory {
 public:
  virtual void text(const std::string& text) = 0;
  virtual void array(const void* data, int64_t bytes) = 0;
};

struct SandboxResult {
  std::string text;
  std::vector<Column<unsigned char>> arrays;  // each aligned to 64 bytes
  std::vector<int64_t> offsets;               // offsets of the arrays in the output, in bytes
};

// Runs `reader` in a forked child with these limits and maps its results. The child writes no core
// dumps, has no access to open files of the parent except the output, and may use only a few system
// calls (call_filter.h). A damaged file can only kill the child; the parent then throws Error{data}
// that names `file`. If the reader throws an Error, the parent rethrows it.
//
// Other threads of the parent may run during the call. These threads do not exist in the child, so
// a lock that one of them held during the fork stays locked in the child. The C library handles its
// own locks. libhdf5 is safe because it is never called outside such a child.
//
// The output is passed through memory by default. If `output` is the descriptor of an empty file,
// the arrays are written to this file instead. Throws Error{io} if the disk is full.
SandboxResult run_in_sandbox(const std::string& file, const SandboxLimits& limits,
                             const std::function<void(SandboxOutput&)>& reader, int output = -1);

// Parses the JSON text that a reader sent. The file may have compromised the reader, so this
// function throws Error{data} that names `file` if the text is not JSON.
Json facts_of_reader(const std::string& text, const std::string& file);

// Readers call this after they have opened their file. From then on, the child cannot open any
// other file. Call this ONLY in the child.
void forbid_opening_files();

// Whether the sandbox applies all its restrictions. False in sanitizer builds, in which the child
// can still open files, because a sanitizer needs descriptors of its own. A sanitizer also ends the
// process if an allocation fails, so exceeding the memory limit kills the child.
bool sandbox_is_strict();

}  // namespace rl_training
