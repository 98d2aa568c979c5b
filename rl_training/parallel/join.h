#pragma once
#include <memory>
#include <optional>

#include "rl_training/parallel/rendezvous.h"
#include "rl_training/util/process_group.h"

namespace rl_training {

// Address of the processes of one machine; they average large values in shared memory.
inline constexpr char kLoopback[] = "127.0.0.1";

// Identifies this process and the address of the others.
struct ProcessPlace {
  int rank = 0, size = 1;
  std::string master = kLoopback;  // an address of process 0
  int port = 0;
  // Network interface of this machine for the exchange: a name such as eth0, or an address. "": the
  // interface of the connection to process 0.
  std::string interface = {};
  Milliseconds timeout = std::chrono::minutes(5);
};

// Reads rank and size as set by torchrun (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), OpenMPI
// (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE) or Slurm (SLURM_PROCID, SLURM_NTASKS).
// `master`, HOST:PORT, replaces MASTER_ADDR and MASTER_PORT, which only torchrun sets. Throws
// Error{config} naming the missing or wrong variable.
ProcessPlace place_from_environment(const std::string& master);

// Connects the processes of a run; returns a null pointer if there is only one. `server` is process
// 0's server if it is already listening; otherwise one is created.
std::unique_ptr<ProcessGroup> join_processes(const ProcessPlace& place,
                                             std::unique_ptr<RendezvousServer> server = nullptr);

// Whether this build supports several processes, that is, was compiled with Gloo.
bool processes_available();

}  // namespace rl_training
