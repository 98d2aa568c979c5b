#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <functional>

#include "faulty_file_system.h"
#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/experiment/run_directory.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_checkpoint_faults {
namespace {

// A state with one array. The value of the array identifies the checkpoint.
std::vector<ArchiveEntry> entries_for(char mark) {
  return {{"net.weights", DType::u8, {300}, std::string(300, mark)}};
}

char mark_of(const Checkpoint& checkpoint) { return checkpoint.entries.at(0).bytes.at(0); }

const Json kFacts = {{"threads", 1}};

// An operation during which a fault occurs, its initial state, and the checkpoints that may exist
// afterwards.
struct Scenario {
  std::string name;
  std::function<void(CheckpointStore&)> prepare;
  std::function<void(CheckpointStore&)> action;
  std::string newest_may_be;  // marks of the old and the new checkpoint
  std::string best_may_be;    // "" if there is no best checkpoint
  std::string name_stays;     // checkpoint that must still exist after a failed call
};

std::vector<Scenario> scenarios() {
  const auto three = [](CheckpointStore& store) {
    store.save(1, entries_for('1'), kFacts);
    store.save(2, entries_for('2'), kFacts);
    store.save(3, entries_for('3'), kFacts);
  };
  const auto with_best = [](CheckpointStore& store) {
    store.save(3, entries_for('3'), kFacts, true);
  };
  const auto one = [](CheckpointStore& store) { store.save(1, entries_for('1'), kFacts); };
  return {
      {"next", three, [](auto& store) { store.save(4, entries_for('4'), kFacts); }, "34", "",
       "step-000000003"},
      {"same_step", one, [](auto& store) { store.save(1, entries_for('n'), kFacts); }, "1n", "",
       "step-000000001"},
      {"best", with_best, [](auto& store) { store.save(4, entries_for('4'), kFacts, true); }, "34",
       "34", "best"},
  };
}

class CheckpointFaults : public ::testing::TestWithParam<Scenario> {
 protected:
  // Checks the store after a fault. The newest checkpoint in the store is either the old or the new
  // one. It is complete, and loading it prints no warning. The next attempt to save succeeds.
  void check_whole(const std::string& place, const std::string& context) {
    const Scenario& scenario = GetParam();
    CheckpointStore store(posix_file_system(), place);
    check_loads(store, place, context);
    store.remove_leftovers();
    for (const auto& name : posix_file_system().list_directory(place)) {
      EXPECT_NE(name[0], '.') << name << " is left, " << context;
    }
    check_loads(store, place, context);
    scenario.action(store);
    const auto again = store.load_newest([](const std::string&) {});
    ASSERT_TRUE(again.has_value()) << context;
    EXPECT_EQ(mark_of(*again), scenario.newest_may_be[1]) << context;
  }

  void check_loads(const CheckpointStore& store, const std::string& place,
                   const std::string& context) {
    const Scenario& scenario = GetParam();
    const auto newest = store.load_newest(
        [&](const std::string& line) { ADD_FAILURE() << line << ", " << context; });
    ASSERT_TRUE(newest.has_value()) << context;
    EXPECT_NE(scenario.newest_may_be.find(mark_of(*newest)), std::string::npos) << context;
    if (scenario.best_may_be.empty()) return;
    const auto best = load_checkpoint(posix_file_system(), place + "/best");
    EXPECT_NE(scenario.best_may_be.find(mark_of(best)), std::string::npos) << context;
    // A run that resumes from the new step does not repeat the evaluation of that step, so
    // `best` must already be the checkpoint of the new step.
    const bool has_new_step = mark_of(*newest) == scenario.newest_may_be[1];
    EXPECT_TRUE(!has_new_step || mark_of(best) == scenario.best_may_be[1]) << context;
  }
};

TEST_P(CheckpointFaults, NothingIsLostWhenAnyCallFails) {
  const Scenario& scenario = GetParam();
  for (const int code : {ENOSPC, EIO}) {
    bool finished = false;
    int n = 1;
    for (; !finished; ++n) {
      const TemporaryDirectory directory;
      CheckpointStore prepared(posix_file_system(), directory.path());
      scenario.prepare(prepared);
      FaultyFileSystem files(n, code);
      CheckpointStore store(files, directory.path());
      const std::string context = "call " + std::to_string(n) + " fails";
      bool thrown = false;
      try {
        scenario.action(store);
      } catch (const Error& error) {
        thrown = true;
        EXPECT_EQ(error.kind(), ErrorKind::io) << error.what();
        EXPECT_NE(std::string(error.what()).find(std::strerror(code)), std::string::npos);
      }
      finished = !files.failed();
      EXPECT_FALSE(thrown && finished) << context;
      EXPECT_TRUE(std::filesystem::exists(directory / scenario.name_stays)) << context;
      for (const auto& name : posix_file_system().list_directory(directory.path())) {
        const bool removal_failed = !thrown && files.failed();
        EXPECT_TRUE(!name.starts_with(".tmp") || removal_failed) << name << ", " << context;
      }
      check_whole(directory.path(), context);
    }
    EXPECT_GT(n, 10);
  }
}

TEST_P(CheckpointFaults, NothingIsLostWhenTheProcessEndsAtAnyCall) {
  const Scenario& scenario = GetParam();
  bool finished = false;
  int n = 1;
  for (; !finished; ++n) {
    const TemporaryDirectory directory;
    CheckpointStore prepared(posix_file_system(), directory.path());
    scenario.prepare(prepared);
    const pid_t child = ::fork();
    if (child == 0) {
      FaultyFileSystem files(n, kKill);
      CheckpointStore store(files, directory.path());
      try {
        scenario.action(store);
      } catch (...) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kKilledExit);
    finished = WEXITSTATUS(status) == 0;
    check_whole(directory.path(), "ends at call " + std::to_string(n));
  }
  EXPECT_GT(n, 12);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, CheckpointFaults, ::testing::ValuesIn(scenarios()),
                         [](const auto& scenario) { return scenario.param.name; });

TEST(CheckpointFault, AnUnreadableNewestIsPassedOver) {
  const TemporaryDirectory directory;
  CheckpointStore prepared(posix_file_system(), directory.path());
  prepared.save(1, entries_for('1'), kFacts);
  prepared.save(2, entries_for('2'), kFacts);
  FaultyFileSystem files(3, EIO);  // call 3, after `list` and `size`, reads the newest manifest
  const CheckpointStore store(files, directory.path());
  std::vector<std::string> warnings;
  const auto found = store.load_newest([&](const std::string& line) { warnings.push_back(line); });
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->step, 1);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find(std::strerror(EIO)), std::string::npos) << warnings[0];
}

TEST(RunDirectoryFault, ARunAppearsWholeOrNotAtAll) {
  bool finished = false;
  int n = 1;
  for (; !finished; ++n) {
    const TemporaryDirectory directory;
    FaultyFileSystem files(n, ENOSPC);
    try {
      RunDirectory::create(files, directory / "runs", "td3_bc", "pendulum", 1, "algo: td3_bc\n");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
    }
    finished = !files.failed();
    for (const auto& name : posix_file_system().list_directory(directory / "runs")) {
      EXPECT_NE(name[0], '.') << "call " << n;
      EXPECT_EQ(read_all(directory / ("runs/" + name + "/config.yaml")), "algo: td3_bc\n");
    }
  }
  EXPECT_GT(n, 6);
}

}  // namespace
}  // namespace rl_training::test_checkpoint_faults
