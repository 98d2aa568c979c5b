#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>

#include "rl_training/parallel/shared_slots.h"
#include "rl_training/util/error.h"
#include "rl_training/util/rng.h"
#include "tests/support/process_threads.h"

namespace rl_training {
namespace {

constexpr char kHere[] = "127.0.0.1";

std::vector<float> values_of(int rank, size_t count) {
  std::vector<float> values(count);
  Rng(static_cast<uint64_t>(rank), "values").fill_normal(values);
  // The values differ greatly in magnitude, so that the sum depends on the order of the additions.
  for (size_t i = 0; i < count; ++i) values[i] *= (i % 3 == 0) ? 1e6f : 1.0f;
  return values;
}

std::vector<float> ordered_mean(int size, size_t count) {
  auto sums = values_of(0, count);
  for (int rank = 1; rank < size; ++rank) {
    const auto more = values_of(rank, count);
    for (size_t i = 0; i < count; ++i) sums[i] += more[i];
  }
  for (float& sum : sums) sum *= 1.0f / static_cast<float>(size);
  return sums;
}

class Averages : public testing::TestWithParam<std::tuple<int, size_t, const char*>> {};

// The parameters combine few and many processes, few and many values, and shared memory (kLoopback)
// and messages (kOtherAddress). They cover every algorithm for averages. Groups of 4 or more
// processes divide many values among them if they use messages; 10001 values cannot be divided
// evenly.
TEST_P(Averages, AreSumsInTheOrderOfRanks) {
  const auto size = std::get<0>(GetParam());
  const auto count = std::get<1>(GetParam());
  const auto expected = ordered_mean(size, count);
  std::atomic<int> equal = 0;
  in_processes(
      size,
      [&](ProcessGroup& group) {
        for (int again = 0; again < 3; ++again) {
          auto values = values_of(group.rank(), count);
          const std::span<float> all(values);
          const std::vector<std::span<float>> parts = {all.subspan(0, count / 3),
                                                       all.subspan(count / 3)};
          group.average(parts);
          equal += values == expected ? 1 : 0;
        }
      },
      std::chrono::seconds(30), std::get<2>(GetParam()));
  EXPECT_EQ(equal, processes_available() ? 3 * size : 0);
}
INSTANTIATE_TEST_SUITE_P(Group, Averages,
                         testing::Combine(testing::Values(2, 3, 4, 5),
                                          testing::Values(size_t{1}, size_t{7}, size_t{10001}),
                                          testing::Values(kLoopback, kOtherAddress)));

// Each process alternates between two slots, so that a fast process does not overwrite values that
// a slow process still reads. From turn 100 on, the arrays are larger and need new shared memory.
TEST(Group, AveragesManyTimesInSharedMemory) {
  std::atomic<int> wrong = 0;
  in_processes(3, [&](ProcessGroup& group) {
    for (int turn = 0; turn < 200; ++turn) {
      std::vector<float> values(turn < 100 ? 5000 : 9000, static_cast<float>(turn + group.rank()));
      group.average(std::vector<std::span<float>>{values});
      for (const float value : values) wrong += value == static_cast<float>(turn + 1) ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(SharedSlots, AreTheSameMemoryInBoth) {
  const auto created = SharedSlots::create(2, 5);
  ASSERT_NE(created, nullptr);
  const auto opened = SharedSlots::open(created->handle(), 2, 5);
  ASSERT_NE(opened, nullptr);
  for (int rank = 0; rank < 2; ++rank) {
    for (int64_t turn = 0; turn < 2; ++turn) {
      for (int i = 0; i < 5; ++i)
        created->slot(rank, turn)[i] = static_cast<float>(10 * rank + turn);
    }
  }
  for (int rank = 0; rank < 2; ++rank) {
    for (int64_t turn = 0; turn < 4; ++turn) {
      EXPECT_EQ(opened->slot(rank, turn)[4], static_cast<float>(10 * rank + turn % 2));
    }
  }
}

TEST(SharedSlots, OtherMemoryIsNotOpened) {
  const auto created = SharedSlots::create(2, 5);
  ASSERT_NE(created, nullptr);
  auto handle = created->handle();
  EXPECT_EQ(SharedSlots::open(handle, 2, 500), nullptr);  // a different size
  ++handle.key;
  EXPECT_EQ(SharedSlots::open(handle, 2, 5), nullptr);
  handle = created->handle();
  handle.descriptor = 987654;
  EXPECT_EQ(SharedSlots::open(handle, 2, 5), nullptr);
  EXPECT_EQ(SharedSlots::open({}, 2, 5), nullptr);
}

TEST(Group, ExchangesTextsOfAnyLengthByRank) {
  in_processes(3, [&](ProcessGroup& group) {
    const auto text = [](int rank, size_t length) {
      return std::string(length * static_cast<size_t>(rank), static_cast<char>('a' + rank));
    };
    for (const size_t length : {size_t{0}, size_t{5}, size_t{200}, size_t{5000}}) {
      const auto all = group.exchange(text(group.rank(), length));
      ASSERT_EQ(all.size(), 3U);
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(all[static_cast<size_t>(rank)], text(rank, length));
      }
      const auto collected = group.collect(text(group.rank(), length));
      ASSERT_EQ(collected.size(), group.rank() == 0 ? 3U : 0U);
      if (group.rank() == 0) {
        EXPECT_EQ(collected[2], text(2, length));
      }
    }
  });
}

TEST(Group, WordsTravelWithEveryOperation) {
  in_processes(4, [&](ProcessGroup& group) {
    group.say(10 + group.rank());
    std::vector<float> few(1), many(9000);
    const std::vector<int32_t> all = {10, 11, 12, 13};
    group.average(std::vector<std::span<float>>{few});
    EXPECT_EQ(group.words(), all);
    group.say(group.rank() == 2 ? 7 : 0);
    group.average(std::vector<std::span<float>>{many});
    EXPECT_EQ(group.words(), (std::vector<int32_t>{0, 0, 7, 0}));
    group.say(0);
    group.exchange("");
    EXPECT_EQ(group.words(), (std::vector<int32_t>{0, 0, 0, 0}));
    EXPECT_EQ(group.operations(), 4);  // joining the group is also an operation
  });
}

TEST(Group, SumsDoublesInTheOrderOfRanks) {
  EXPECT_EQ(sum_over(nullptr, {3.0, -1.0}), (std::vector<double>{3.0, -1.0}));
  in_processes(3, [&](ProcessGroup& group) {
    const double mine = group.rank() == 1 ? 1e300 : group.rank() == 2 ? -1e300 : 1.0;
    EXPECT_EQ(sum_over(&group, {mine, 2.0}), (std::vector<double>{0.0, 6.0}));
  });
}

TEST(Group, AProcessThatIsGoneIsAnError) {
  std::atomic<int> errors = 0;
  in_processes(2, [&](ProcessGroup& group) {
    if (group.rank() == 1) return;
    try {
      for (;;) group.exchange("");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_NE(error.message().find("lost another process"), std::string::npos);
      ++errors;
    }
  });
  EXPECT_EQ(errors, processes_available() ? 1 : 0);
}

TEST(Group, ASilentProcessIsAnErrorAfterTheTimeOut) {
  std::atomic<bool> over = false;
  in_processes(
      2,
      [&](ProcessGroup& group) {
        if (group.rank() == 1) {
          while (!over) std::this_thread::yield();
          return;
        }
        EXPECT_THROW(group.exchange(""), Error);
        over = true;
      },
      Milliseconds(300));
}

TEST(Group, OneProcessNeedsNone) { EXPECT_EQ(join_processes({}), nullptr); }

TEST(Group, SeedsDifferBetweenProcessesAndTheFirstIsTheRuns) {
  EXPECT_EQ(seed_of_process(7, 0), 7U);
  EXPECT_NE(seed_of_process(7, 1), 7U);
  EXPECT_NE(seed_of_process(7, 1), seed_of_process(7, 2));
  EXPECT_NE(seed_of_process(7, 1), seed_of_process(8, 1));
}

TEST(Rendezvous, NeverListensOnAllInterfaces) {
  for (const char* address : {"0.0.0.0", "::"}) {
    EXPECT_THROW(RendezvousServer(address, 0, Milliseconds(100)), Error) << address;
  }
  EXPECT_EQ(RendezvousServer(kHere, 0, Milliseconds(100)).local_address(), kHere);
}

TEST(Rendezvous, AbsentProcessesAreErrors) {
  RendezvousServer server(kHere, 0, Milliseconds(50));
  EXPECT_THROW(server.get("nothing"), Error);
  EXPECT_THROW(RendezvousClient(kHere, 1, Milliseconds(50)), Error);
  RendezvousClient client(kHere, server.port(), Milliseconds(5000));
  EXPECT_THROW(client.get("nothing"), Error);
}

TEST(Rendezvous, KeepsWhatEachSets) {
  RendezvousServer server(kHere, 0, Milliseconds(5000));
  RendezvousClient client(kHere, server.port(), Milliseconds(5000));
  client.set("a", std::string("x\0y", 3));
  EXPECT_EQ(server.get("a"), std::string("x\0y", 3));
  std::thread later([&] { server.set("b", ""); });
  EXPECT_EQ(client.get("b"), "");
  later.join();
}

using Names = std::map<std::string, std::string>;

// Sets the environment variables of one launcher. The destructor unsets those of all launchers.
class Variables {
 public:
  explicit Variables(const Names& values = {}) {
    for (const char* name : kAll) ::unsetenv(name);
    for (const auto& [name, value] : values) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const char* name : kAll) ::unsetenv(name);
  }

 private:
  static constexpr const char* kAll[] = {"RANK",
                                         "WORLD_SIZE",
                                         "MASTER_ADDR",
                                         "MASTER_PORT",
                                         "SLURM_PROCID",
                                         "SLURM_NTASKS",
                                         "OMPI_COMM_WORLD_RANK",
                                         "OMPI_COMM_WORLD_SIZE",
                                         "TORCHELASTIC_USE_AGENT_STORE"};
};

void expect_place(const ProcessPlace& place, int rank, int size, const char* master, int port) {
  EXPECT_EQ(place.rank, rank);
  EXPECT_EQ(place.size, size);
  EXPECT_EQ(place.master, master);
  EXPECT_EQ(place.port, port);
}

TEST(Environment, TorchrunSlurmAndOpenMpi) {
  {
    const Variables torchrun(Names{{"RANK", "3"},
                                   {"WORLD_SIZE", "8"},
                                   {"MASTER_ADDR", "node1"},
                                   {"MASTER_PORT", "29500"},
                                   {"SLURM_PROCID", "0"}});
    expect_place(place_from_environment(""), 3, 8, "node1", 29500);
    expect_place(place_from_environment("node2:4711"), 3, 8, "node2", 4711);
    ::setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    expect_place(place_from_environment(""), 3, 8, "node1", 29501);
    expect_place(place_from_environment("node2:4711"), 3, 8, "node2", 4711);
  }
  {
    const Variables slurm(Names{{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}});
    expect_place(place_from_environment("10.0.0.1:80"), 1, 2, "10.0.0.1", 80);
    EXPECT_THROW(place_from_environment(""), Error);
    EXPECT_THROW(place_from_environment("10.0.0.1"), Error);
    EXPECT_THROW(place_from_environment("10.0.0.1:99999"), Error);
  }
  const Variables open_mpi(Names{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  expect_place(place_from_environment("h:1"), 0, 4, "h", 1);
}

TEST(Environment, WhatIsMissingOrWrongIsNamed) {
  const auto key_of = [](const char* master) {
    try {
      place_from_environment(master);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::config);
      return error.place().key;
    }
    return std::string("accepted");
  };
  const Variables none;
  EXPECT_EQ(key_of("h:1"), "--processes");
  const Variables no_size(Names{{"RANK", "1"}});
  EXPECT_EQ(key_of("h:1"), "WORLD_SIZE");
  const Variables wrong(Names{{"RANK", "2"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(key_of("h:1"), "RANK");
  const Variables text(Names{{"RANK", "one"}, {"WORLD_SIZE", "2"}});
  EXPECT_EQ(key_of("h:1"), "RANK");
}

}  // namespace
}  // namespace rl_training
