// Reads the untrusted tensors of a checkpoint. If they are accepted, writing and reading them again
// must yield the same number of tensors.
#include <cstdlib>

#include "rl_training/experiment/safetensors.h"
#include "rl_training/util/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const auto entries = rl_training::read_safetensors(bytes, "tensors.safetensors");
    const auto again =
        rl_training::read_safetensors(rl_training::write_safetensors(entries), "again");
    if (again.size() != entries.size()) std::abort();
  } catch (const rl_training::Error&) {
  }
  return 0;
}
