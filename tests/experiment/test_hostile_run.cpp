// Tests untrusted run directories and checkpoints.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <utime.h>

#include <algorithm>
#include <cstring>

#include "faulty_file_system.h"
#include "rl_training/experiment/run.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_config.h"

namespace rl_training::test_hostile_run {
namespace {

namespace fs = std::filesystem;

std::string nested_text(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

class HostileRun : public testing::Test {
 protected:
  RunResult train(const char* algo, const std::vector<std::string>& more = {}) {
    return Run::start(tiny_config(algo, directory_ / "runs", more), {})->train();
  }

  // Replaces the bytes of one array of a checkpoint and corrects the hashes.
  void change(const std::string& path, const std::string& name, const std::string& bytes) {
    auto checkpoint = load_checkpoint(posix_file_system(), path);
    const auto entry = std::find_if(checkpoint.entries.begin(), checkpoint.entries.end(),
                                    [&](const ArchiveEntry& e) { return e.name == name; });
    ASSERT_NE(entry, checkpoint.entries.end()) << name;
    entry->bytes = bytes;
    if (entry->dtype == DType::u8) entry->shape = {static_cast<int64_t>(bytes.size())};
    copy_checkpoint(posix_file_system(), checkpoint, path);
  }
  void change(const std::string& path, const std::string& name, int64_t value) {
    change(path, name, std::string(reinterpret_cast<const char*>(&value), sizeof value));
  }

  // Checks that resuming fails with a checkpoint error. Returns the file, line and key of the
  // error.
  static ErrorPlace refused(const std::string& run_or_checkpoint) {
    try {
      Run::resume(run_or_checkpoint, {}, {});
      ADD_FAILURE() << "accepted";
      return {};
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), 4) << error.what();
      return error.place();
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(HostileRun, CountersOutOfRangeAreRefusedByName) {
  const auto result = train("sac", {"total_timesteps=40", "algo_kwargs.learning_starts=10"});
  const auto whole = load_checkpoint(posix_file_system(), result.checkpoint);
  int counters = 0;
  for (const auto& entry : whole.entries) {
    if (entry.dtype != DType::i64 || !entry.shape.empty()) continue;
    ++counters;
    for (const int64_t value : {INT64_MIN, int64_t{-2}, INT64_MAX, (int64_t{1} << 53) + 1}) {
      change(result.checkpoint, entry.name, value);
      const auto place = refused(result.run_dir);
      EXPECT_EQ(place.key, entry.name);
      EXPECT_EQ(place.file, result.checkpoint);
    }
    change(result.checkpoint, entry.name, entry.bytes);
  }
  EXPECT_GE(counters, 8);
  Run::resume(result.run_dir, {}, {});
}

TEST_F(HostileRun, CountersThatDoNotFitTheStepAreRefused) {
  const auto result = train("sac", {"total_timesteps=40", "algo_kwargs.learning_starts=10"});
  change(result.checkpoint, "online.collector.steps", int64_t{39});
  EXPECT_EQ(refused(result.run_dir).key, "step");
}

TEST_F(HostileRun, DeepTextsInACheckpointAreRefused) {
  const auto result = train("td3_bc");
  for (const char* name : {"trainer.last_row", "trainer.waiting_row"}) {
    const auto whole = load_checkpoint(posix_file_system(), result.checkpoint);
    for (const auto& text : {nested_text(200'000), R"({"a":)" + nested_text(200'000) + "}"}) {
      change(result.checkpoint, name, text);
      EXPECT_EQ(refused(result.run_dir).key, name);
    }
    copy_checkpoint(posix_file_system(), whole, result.checkpoint);
  }
}

TEST_F(HostileRun, OddMetadataIsWrittenAnew) {
  const auto result = train("td3_bc");
  const auto file = result.run_dir + "/metadata.json";
  for (const auto& text : {nested_text(200'000), R"({"a":)" + nested_text(200'000) + "}",
                           std::string(R"({"sessions": "none"})"), std::string("[1]")}) {
    write_all(file, text);
    Run::resume(result.run_dir, {}, {});
    const auto metadata = Json::parse(read_all(file));
    EXPECT_EQ(metadata["sessions"].size(), 1u);
    EXPECT_EQ(metadata["algo"], "td3_bc");
  }
}

TEST_F(HostileRun, LinksAreNotFollowed) {
  const auto result = train("td3_bc");
  const auto outside = directory_ / "outside";
  for (const char* name :
       {"LOCK", "metrics.jsonl", "metrics.csv", "timing.jsonl", "metadata.json", "config.yaml"}) {
    const auto file = result.run_dir + "/" + name;
    const auto whole = read_all(file);
    const auto kept = whole + std::string(100, 'x');  // longer than the log
    write_all(outside, kept);
    fs::remove(file);
    fs::create_symlink(outside, file);
    EXPECT_EQ(refused(result.run_dir).file, file);
    EXPECT_EQ(read_all(outside), kept) << name;
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_EQ(refused(result.run_dir).file, file);
    fs::remove(file);
    write_all(file, whole);
  }
  for (const char* name : {"checkpoints", "tensorboard"}) {
    const auto place = result.run_dir + "/" + name;
    fs::rename(place, outside + name);
    fs::create_directory_symlink(outside + name, place);
    const auto files = posix_file_system().list_directory(outside + name);
    EXPECT_EQ(refused(result.run_dir).file, place);
    EXPECT_EQ(posix_file_system().list_directory(outside + name), files);
    fs::remove(place);
    fs::rename(outside + name, place);
  }
  Run::resume(result.run_dir, {}, {});
}

// A branch copies the logs of the run that it starts from.
TEST_F(HostileRun, LogsBehindLinksAreNotCopied) {
  const auto result = train("td3_bc");
  const auto file = result.run_dir + "/metrics.jsonl";
  fs::rename(file, directory_ / "outside");
  fs::create_symlink(directory_ / "outside", file);
  const auto oldest = CheckpointStore(posix_file_system(), result.run_dir + "/checkpoints").list();
  EXPECT_EQ(refused(oldest.front().path).file, file);
}

TEST_F(HostileRun, TemporaryNamesAreNoLinksEither) {
  const auto outside = directory_ / "outside";
  write_all(outside, "kept");
  fs::create_symlink(outside, directory_ / "link");
  EXPECT_THROW(posix_file_system().write_file(directory_ / "link", "changed"), Error);
  EXPECT_EQ(read_all(outside), "kept");
}

TEST_F(HostileRun, WhatKilledProcessesLeftIsRemoved) {
  const auto result = train("td3_bc");
  const auto make = [&](const std::string& name, bool old) {
    const auto path = directory_ / ("runs/" + name);
    fs::create_directories(path);
    write_all(path + "/LOCK", "");
    const utimbuf long_ago{1, 1};
    if (old) {
      EXPECT_EQ(::utime(path.c_str(), &long_ago), 0);
    }
    return path;
  };
  const auto abandoned = make(".tmp-td3_bc__Pendulum-v1__seed0__20250101-120000-17", true);
  const auto young = make(".tmp-td3_bc__Pendulum-v1__seed0__20250101-120000-18", false);
  const auto of_others = make(".tmp-something", true);
  write_all(result.run_dir + "/metadata.json.tmp-17", "{");
  write_all(result.run_dir + "/notes.tmp-17", "mine");
  fs::create_directories(result.run_dir + "/checkpoints/.tmp-000000007-17");

  Run::resume(result.run_dir, {}, {});
  EXPECT_FALSE(fs::exists(result.run_dir + "/metadata.json.tmp-17"));
  EXPECT_TRUE(fs::exists(result.run_dir + "/notes.tmp-17"));
  EXPECT_FALSE(fs::exists(result.run_dir + "/checkpoints/.tmp-000000007-17"));
  train("td3_bc");
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(of_others));
}

// If a file-system call fails while the best checkpoint is saved, the next save first completes the
// best checkpoint and then writes its own step. The test lets each call fail once.
TEST_F(HostileRun, ABestThatFailedIsWrittenBeforeTheNextStep) {
  const auto entries = [](char mark) {
    return std::vector<ArchiveEntry>{{"mark", DType::u8, {1}, std::string(1, mark)}};
  };
  int tried = 0;
  for (;;) {
    const auto place = directory_ / ("store" + std::to_string(++tried));
    FaultyFileSystem files(tried, ENOSPC);
    CheckpointStore store(files, place);
    const auto marks = [&](const std::string& name) {
      return load_checkpoint(posix_file_system(), place + "/" + name).entries[0].bytes;
    };
    CheckpointStore(posix_file_system(), place).save(1, entries('a'), {}, /*best=*/true);
    try {
      store.save(2, entries('b'), {}, /*best=*/true);
    } catch (const Error&) {
    }
    if (!files.failed()) break;  // every call has failed once
    store.save(3, entries('c'), {});
    EXPECT_EQ(marks("best"), "b") << tried;
    EXPECT_EQ(marks("step-000000003"), "c") << tried;
    for (const auto& name : posix_file_system().list_directory(place)) {
      EXPECT_FALSE(name.starts_with(".tmp-")) << name << ", call " << tried;
    }
  }
  EXPECT_GT(tried, 15);
}

}  // namespace
}  // namespace rl_training::test_hostile_run
