#pragma once
#include <string>
#include <vector>

#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/util/process_group.h"

namespace rl_training {

// Checkpoints of a run that several processes train together. Process 0 writes them. The other
// processes send it their own state: random streams, environments, rows of replay buffers. This
// state is stored under names that begin with "process<rank>.". Parameters, optimisers and running
// statistics must be equal in all processes; every save checks this.

// The message that a process other than process 0 sends.
std::string pack_share(const std::vector<ArchiveEntry>& entries,
                       const std::vector<CheckpointFile>& files);
// Adds the message of a process to the content that process 0 saves. Throws Error{internal} if the
// parameters differ.
void add_share(int rank, const std::string& packed, std::vector<ArchiveEntry>& entries,
               std::vector<CheckpointFile>& files);

// The part of a checkpoint that a process loads: its own arrays and files, and the shared arrays.
Checkpoint share_of(const Checkpoint& checkpoint, int rank);

// Throws Error{config} if the checkpoint was written by a different number of processes.
void check_process_count(const Checkpoint& checkpoint, int processes);

}  // namespace rl_training
