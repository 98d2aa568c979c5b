#pragma once
#include <gtest/gtest.h>

#include <thread>

#include "rl_training/parallel/join.h"

namespace rl_training {

// Calls `work(group)` for each process of a group on the loopback interface, in threads of this
// process. Does nothing without Gloo.
template <class Work>
void in_processes(int size, const Work& work, Milliseconds timeout = std::chrono::seconds(30)) {
  if (!processes_available()) GTEST_SKIP() << "built without Gloo";
  auto server = std::make_unique<RendezvousServer>("127.0.0.1", 0, timeout);
  const int port = server->port();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank, own = rank == 0 ? std::move(server) : nullptr]() mutable {
      const auto group = join_processes(
          {.rank = rank, .size = size, .port = port, .timeout = timeout}, std::move(own));
      work(*group);
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace rl_training
