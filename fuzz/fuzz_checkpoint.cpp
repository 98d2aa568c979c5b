// A checkpoint with the manifest of a stranger, as it is and with the hash that it needs to be
// looked at any further. fuzz_safetensors.cpp is for the tensors.
#include <cstdlib>
#include <fstream>
#include <string>

#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"
#include "rl_training/util/scratch_directory.h"

namespace {

using namespace rl_training;

class Place {
 public:
  Place() { write("tensors.safetensors", write_safetensors({{"x", DType::u8, {3}, "abc"}})); }

  void load(const std::string& manifest) const {
    write("manifest.json", manifest);
    try {
      const auto checkpoint = load_checkpoint(posix_file_system(), directory_.path());
      if (checkpoint.step < 0 || checkpoint.entries.at(0).bytes != "abc") std::abort();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::checkpoint) std::abort();
    }
  }

 private:
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(directory_.file(name), std::ios::binary) << bytes;
  }

  ScratchDirectory directory_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Place place;
  const std::string text(reinterpret_cast<const char*>(data), size);
  place.load(text);
  place.load(text + "\"sha256\": \"" + sha256_hex(text) + "\"\n}\n");
  return 0;
}
