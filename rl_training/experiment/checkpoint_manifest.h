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

// A data file of a checkpoint. Its contents never change. If an earlier checkpoint contains the
// same file, the new checkpoint gets a hard link to it, which takes no extra disk space. Otherwise
// the file is written.
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

// Name, size and hash of each data file that the manifest lists, tensors first. `path` is the
// directory of the checkpoint.
std::vector<CheckpointFile> listed_files(const Json& manifest, const std::string& path,
                                         const std::string& file);

}  // namespace rl_training
