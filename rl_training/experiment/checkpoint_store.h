#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rl_training/experiment/checkpoint_manifest.h"
#include "rl_training/experiment/safetensors.h"
#include "rl_training/util/file_system.h"

namespace rl_training {

struct CheckpointInfo {
  std::string path;
  int64_t step = 0;
};

struct Checkpoint {
  std::string path;
  int64_t step = 0;
  Json manifest;  // format_version, step, files and the facts passed to save()
  std::vector<ArchiveEntry> entries;
  std::vector<CheckpointFile> files;  // verified; `existing` is the path of each file
};

// The purpose of reading a checkpoint. For `training`, all files are read. For `acting`, additional
// files, such as the rows of a replay buffer, are not read, because acting needs only the networks.
enum class CheckpointUse { training, acting };

// The checkpoints of one run: directories such as step-000001000, which contain tensors.safetensors
// and manifest.json. A directory gets its final name only when all its bytes are on disk. An older
// checkpoint is removed only after the newer one is safe. No file points to the newest checkpoint:
// it is the valid checkpoint with the highest step.
class CheckpointStore {
 public:
  CheckpointStore(FileSystem& files, std::string directory, int keep = 3);

  // Writes a checkpoint and returns its path. The members of the object `facts` are added to the
  // manifest. They must not depend on the time of day, so that a resumed run writes the same bytes.
  // With `best`, a copy is also stored as "best". The copy remains when step-<step> is deleted.
  //
  // On failure, throws Error{io}, removes the temporary files and leaves earlier checkpoints
  // unchanged. If "best" could not be written, its content is retained in memory, and the next call
  // writes it.
  std::string save(int64_t step, const std::vector<ArchiveEntry>& entries, const Json& facts,
                   bool best = false, const std::vector<CheckpointFile>& more = {});

  std::vector<CheckpointInfo> list() const;  // step-* directories, oldest first

  // Returns the newest valid checkpoint and warns about each damaged one that is skipped. Returns
  // nullopt if there are no checkpoints. Throws Error{checkpoint} if there are checkpoints but none
  // is valid.
  std::optional<Checkpoint> load_newest(const std::function<void(const std::string&)>& warn,
                                        CheckpointUse use = CheckpointUse::training) const;

  // Removes unfinished files of a killed process. Only the holder of the run's lock may call this.
  void remove_leftovers();

 private:
  friend void save_checkpoint(FileSystem& files, const std::string& path, int64_t step,
                              const std::vector<ArchiveEntry>& entries, const Json& facts,
                              const std::vector<CheckpointFile>& more);
  struct Content {
    Content(int64_t step, const std::vector<ArchiveEntry>& entries, const Json& facts,
            const std::vector<CheckpointFile>& more);
    std::string tensors;
    std::string manifest;
    std::vector<CheckpointFile> files;
  };
  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }
  void commit(const std::string& name, const Content& content);
  void add_file(const CheckpointFile& file, const std::string& path);
  void put_in_place(const std::string& temporary, const std::string& name);
  void clean_up(int64_t step);
  void remove_temporary();

  FileSystem& files_;
  std::string directory_;
  int keep_;
  std::shared_ptr<const Content> unsaved_best_;
};

// Writes one checkpoint directory under any name, with the same guarantees as
// CheckpointStore::save. Replaces an existing directory.
void save_checkpoint(FileSystem& files, const std::string& path, int64_t step,
                     const std::vector<ArchiveEntry>& entries, const Json& facts,
                     const std::vector<CheckpointFile>& more = {});

// Reads one checkpoint directory ("step-..." or "best") and verifies every file that it reads.
// Throws Error{checkpoint} if the verification fails.
Checkpoint load_checkpoint(FileSystem& files, const std::string& path,
                           CheckpointUse use = CheckpointUse::training);

// Writes a loaded checkpoint to another directory.
void copy_checkpoint(FileSystem& files, const Checkpoint& checkpoint, const std::string& path);

}  // namespace rl_training
