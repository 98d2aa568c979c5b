#pragma once
#include <memory>
#include <optional>

#include "rl_training/parallel/rendezvous.h"
#include "rl_training/util/process_group.h"

namespace rl_training {

// Which process this is, and where it finds the others.
struct ProcessPlace {
  int rank = 0, size = 1;
  std::string master = "127.0.0.1";  // an address of process 0
  int port = 0;
  // Of this machine, to exchange data on: a name such as eth0 or an address. "": that of the
  // connection to process 0.
  std::string interface = {};
  Milliseconds timeout = std::chrono::minutes(5);
};

// Rank and size as torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), OpenMPI
// (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE) or Slurm (SLURM_PROCID, SLURM_NTASKS).
// `master`, HOST:PORT, replaces MASTER_ADDR and MASTER_PORT, which only torchrun sets.
// Error{config} naming what is missing or wrong.
ProcessPlace place_from_environment(const std::string& master);

// Connects the processes of a run. A null pointer if there is only one. `server` is process 0's,
// where it listens already; otherwise one is made.
std::unique_ptr<ProcessGroup> join_processes(const ProcessPlace& place,
                                             std::unique_ptr<RendezvousServer> server = nullptr);

// Whether this build can: it was compiled with Gloo.
bool processes_available();

}  // namespace rl_training
