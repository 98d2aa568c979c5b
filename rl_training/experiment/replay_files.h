#pragma once
#include <vector>

#include "rl_training/data/replay_buffer.h"
#include "rl_training/experiment/checkpoint_store.h"

namespace rl_training {

// Stores the rows of a replay buffer as files of checkpoints. Rows never change. Each checkpoint
// therefore adds one file with the rows added since the previous checkpoint, and links the earlier
// files.
class ReplayFiles {
 public:
  // `process` is the rank of the process that owns the buffer. Each process uses its own file
  // names.
  ReplayFiles(ReplayBuffer& buffer, FileSystem& files, int process = 0);
  // Returns the rank of the process that owns the replay rows in the file `name`. Returns 0 for a
  // file without replay rows.
  static int process_of(const std::string& name);

  // Restores the rows of a checkpoint into the buffer.
  void load(const Checkpoint& checkpoint);
  // Returns the files for the next checkpoint. After the checkpoint has been written, call
  // `saved_in` with its directory.
  std::vector<CheckpointFile> checkpoint_files();
  void saved_in(const std::string& directory);

 private:
  struct Segment {
    int64_t first = 0, rows = 0;
    CheckpointFile file;
  };

  ReplayBuffer& buffer_;
  FileSystem& files_;
  std::string prefix_;
  std::vector<Segment> segments_, pending_;
};

}  // namespace rl_training
