#pragma once
#include <vector>

#include "rl_training/data/replay_buffer.h"
#include "rl_training/experiment/checkpoint_store.h"

namespace rl_training {

// The rows of a replay buffer as files of checkpoints. Rows never change, so each checkpoint adds
// one file with the rows since the previous one and links the others.
class ReplayFiles {
 public:
  // `process` is the rank of the process whose rows these are: its files have separate names.
  ReplayFiles(ReplayBuffer& buffer, FileSystem& files, int process = 0);
  // Rank of the process whose rows a file holds; 0 also for other files.
  static int process_of(const std::string& name);

  // Restores the rows of a checkpoint into the buffer.
  void load(const Checkpoint& checkpoint);
  // Files for the next checkpoint; call `saved_in` after it has been written to that directory.
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
