#pragma once
#include <memory>
#include <optional>

#include "rl_training/parallel/rendezvous.h"
#include "rl_training/util/process_group.h"

namespace rl_training {

// Address of process 0 if all processes run on one machine. The processes then average large arrays
// in shared memory.
inline constexpr char kLoopback[] = "127.0.0.1";

// The rank of this process, the number of processes, and how they connect to each other.
struct ProcessPlace {
  int rank = 0, size = 1;
  std::string master = kLoopback;  // address of process 0
  int port = 0;
  // Network interface of this machine for the communication: a name such as eth0, or an address. If
  // "", the interface of the connection to process 0 is used.
  std::string interface = {};
  Milliseconds timeout = std::chrono::minutes(5);
};

// Reads rank and size from the environment variables of torchrun (RANK, WORLD_SIZE), OpenMPI
// (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE) or Slurm (SLURM_PROCID, SLURM_NTASKS). The address
// of process 0 is `master`, which has the form HOST:PORT. If `master` is "", the address is read
// from MASTER_ADDR and MASTER_PORT, which torchrun sets. Throws Error{config} that names the
// missing or invalid variable.
ProcessPlace place_from_environment(const std::string& master);

// Connects the processes of a run. Returns a null pointer if there is only one process. Process 0
// may pass a `server` that already listens. If `server` is null, process 0 creates a server.
std::unique_ptr<ProcessGroup> join_processes(const ProcessPlace& place,
                                             std::unique_ptr<RendezvousServer> server = nullptr);

// Whether this build supports several processes, that is, whether it was compiled with Gloo.
bool processes_available();

}  // namespace rl_training
