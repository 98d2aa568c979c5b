// Loads a checkpoint whose manifest is the fuzz input, first unchanged, then with a correct hash
// appended. Without a correct hash, nearly all inputs would be rejected early. fuzz_safetensors.cpp
// tests the tensors.
#include <cstdlib>
#include <fstream>
#include <string>

#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"
#include "rl_training/util/scratch_directory.h"

namespace {

using namespace rl_training;

// Stores the manifest in memory, because writing it to disk would take most of the time.
class ManifestInMemory final : public FileSystem {
 public:
  std::string text;

  std::string read_file(const std::string& path) override {
    return is_manifest(path) ? text : disk_.read_file(path);
  }
  uint64_t file_size(const std::string& path) override {
    return is_manifest(path) ? text.size() : disk_.file_size(path);
  }
  bool exists(const std::string& path) override { return disk_.exists(path); }
  std::vector<std::string> list_directory(const std::string& path) override {
    return disk_.list_directory(path);
  }
  // Loading must not change files.
  void write_file(const std::string&, std::string_view) override { std::abort(); }
  void make_directories(const std::string&) override { std::abort(); }
  void rename(const std::string&, const std::string&) override { std::abort(); }
  void link(const std::string&, const std::string&) override { std::abort(); }
  void sync_directory(const std::string&) override { std::abort(); }
  void remove_all(const std::string&) override { std::abort(); }
  void truncate(const std::string&, uint64_t) override { std::abort(); }
  uint64_t free_space(const std::string&) override { std::abort(); }

 private:
  static bool is_manifest(const std::string& path) { return path.ends_with("/manifest.json"); }

  FileSystem& disk_ = posix_file_system();
};

class Place {
 public:
  Place() {
    write("tensors.safetensors", write_safetensors({{"x", DType::u8, {3}, "abc"}}));
    write("manifest.json", "");
  }

  void load(const std::string& manifest) {
    files_.text = manifest;
    try {
      const auto checkpoint = load_checkpoint(files_, directory_.path());
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
  ManifestInMemory files_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Place place;
  const std::string text(reinterpret_cast<const char*>(data), size);
  place.load(text);
  place.load(text + "\"sha256\": \"" + sha256_hex(text) + "\"\n}\n");
  return 0;
}
