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
  Json manifest;  // format_version, step, files and the facts given to save()
  std::vector<ArchiveEntry> entries;
  std::vector<CheckpointFile> files;  // verified; `existing` is their path
};

// Why a checkpoint is read. Acting needs only the networks; further files, such as rows of a replay
// buffer, are then not read.
enum class CheckpointUse { training, acting };

// The checkpoints of one run: directories step-000001000 with tensors.safetensors and
// manifest.json. A directory gets its name only when all its bytes are on disk, and an older one is
// removed only after the newer one is safe. There is no pointer to the newest checkpoint: it is the
// one with the highest step that passes verification.
class CheckpointStore {
 public:
  CheckpointStore(FileSystem& files, std::string directory, int keep = 3);

  // Returns the path. A failure throws Error{io}, leaves earlier checkpoints unchanged and removes
  // its temporary files. `facts` is an object whose members are added to the manifest, which must
  // not depend on the time of day, so that a resumed run writes the same bytes. With `best`, a copy
  // is also stored as "best", which remains when the step is deleted. A best checkpoint that could
  // not be written is kept in memory and written before any later step.
  std::string save(int64_t step, const std::vector<ArchiveEntry>& entries, const Json& facts,
                   bool best = false, const std::vector<CheckpointFile>& more = {});

  std::vector<CheckpointInfo> list() const;  // step-* directories, oldest first

  // The newest valid checkpoint; each damaged one that is skipped causes a warning. Returns nothing
  // if there is no checkpoint, and throws Error{checkpoint} if none is valid.
  std::optional<Checkpoint> load_newest(const std::function<void(const std::string&)>& warn,
                                        CheckpointUse use = CheckpointUse::training) const;

  // Removes what a killed process left unfinished. Only for the holder of the run's lock.
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

// One checkpoint directory of any name, committed as above; an existing one is replaced.
void save_checkpoint(FileSystem& files, const std::string& path, int64_t step,
                     const std::vector<ArchiveEntry>& entries, const Json& facts,
                     const std::vector<CheckpointFile>& more = {});

// One checkpoint directory ("step-..." or "best"), with every byte verified; otherwise throws
// Error{checkpoint}.
Checkpoint load_checkpoint(FileSystem& files, const std::string& path,
                           CheckpointUse use = CheckpointUse::training);

// Writes a loaded checkpoint to another directory.
void copy_checkpoint(FileSystem& files, const Checkpoint& checkpoint, const std::string& path);

}  // namespace rl_training
