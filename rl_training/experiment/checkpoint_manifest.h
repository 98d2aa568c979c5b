#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rl_training/util/json.h"

namespace rl_training {

inline constexpr char kTensorsFile[] = "tensors.safetensors";
inline constexpr char kManifestFile[] = "manifest.json";
inline constexpr uint64_t kMaxManifestBytes = 1 << 20;

// An additional file of a checkpoint. The file never changes. If possible, it is hard-linked from
// an earlier checkpoint and takes no extra disk space. Otherwise it is written.
struct CheckpointFile {
  std::string name;
  uint64_t size = 0;
  std::string sha256;
  std::string existing;  // path of a file with the same bytes; "" if there is none
  std::function<std::string()> bytes;
};

[[noreturn]] void reject_checkpoint(const std::string& file, const std::string& key,
                                    const std::string& what);

// The text of manifest.json: format version, step, files with their hashes, and `facts`. The last
// member is the SHA-256 of all bytes before it.
std::string write_manifest(int64_t step, const std::string& tensors, const Json& facts,
                           const std::vector<CheckpointFile>& more);

// Verifies the hash, the format version and the step. `file` appears in errors.
Json parse_manifest(const std::string& text, const std::string& file);

// Name, size and hash of each data file in the directory `path`, tensors first.
std::vector<CheckpointFile> listed_files(const Json& manifest, const std::string& path,
                                         const std::string& file);

}  // namespace rl_training
