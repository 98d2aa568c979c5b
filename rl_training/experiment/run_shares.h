#pragma once
#include <string>
#include <vector>

#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/util/process_group.h"

namespace rl_training {

// Checkpoints of a run that several processes train together. Process 0 writes them. The others
// send it their own state (random streams, environments, rows of replay buffers), which is stored
// under names that begin with "process<rank>.". Parameters, optimisers and running statistics must
// be equal in all processes; this is checked each time.

// The message of a process other than the first.
std::string pack_share(const std::vector<ArchiveEntry>& entries,
                       const std::vector<CheckpointFile>& files);
// Adds it to what process 0 saves. Error{internal} if the parameters differ.
void add_share(int rank, const std::string& packed, std::vector<ArchiveEntry>& entries,
               std::vector<CheckpointFile>& files);

// The part of a checkpoint that a process loads: its own arrays and files, and the shared ones.
Checkpoint share_of(const Checkpoint& checkpoint, int rank);

// Throws Error{config} if the checkpoint was written by a different number of processes.
void check_process_count(const Checkpoint& checkpoint, int processes);

}  // namespace rl_training
