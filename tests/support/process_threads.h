#pragma once
#include <gtest/gtest.h>

#include <thread>

#include "rl_training/parallel/join.h"

namespace rl_training {

// A loopback address other than kLoopback. Processes at this address use messages instead of shared
// memory, as if they ran on several machines.
inline constexpr char kOtherAddress[] = "127.0.0.2";

// Calls `work(group)` once for each process of a group. Threads of the test program, connected
// through `address`, take the role of the processes. Skips the test if the build has no Gloo.
template <class Work>
void in_processes(int size, const Work& work, Milliseconds timeout = std::chrono::seconds(30),
                  const char* address = kLoopback) {
  if (!processes_available()) GTEST_SKIP() << "built without Gloo";
  auto server = std::make_unique<RendezvousServer>(address, 0, timeout);
  const int port = server->port();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank, own = rank == 0 ? std::move(server) : nullptr]() mutable {
      const auto group = join_processes(
          {.rank = rank, .size = size, .master = address, .port = port, .timeout = timeout},
          std::move(own));
      work(*group);
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace rl_training
