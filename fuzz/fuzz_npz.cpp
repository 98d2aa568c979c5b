// Reads an untrusted npz archive: opens and reads every member.
#include "rl_training/data/npz_archive.h"
#include "rl_training/util/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    rl_training::NpzReader reader({reinterpret_cast<const char*>(data), size}, "data.npz");
    for (const auto& key : reader.keys()) reader.read_doubles(key);
  } catch (const rl_training::Error&) {
  }
  return 0;
}
