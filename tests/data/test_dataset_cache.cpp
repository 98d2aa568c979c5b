#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "rl_training/data/d4rl.h"
#include "rl_training/data/dataset_builder.h"
#include "rl_training/data/dataset_cache.h"
#include "rl_training/data/inspect.h"
#include "rl_training/data/npz.h"
#include "rl_training/data/sampler.h"
#include "rl_training/util/error.h"
#include "tests/data/fixture_paths.h"
#include "tests/data/small_dataset.h"
#include "tests/support/temporary_directory.h"

namespace rl_training {
namespace {

namespace fs = std::filesystem;

// A dataset of several episodes with distinct values. Every second episode ends by time-out.
TransitionDataset walk(int seed, int episodes = 20) {
  Rng rng(static_cast<uint64_t>(seed), "walk");
  DatasetBuilder builder(3, 2);
  const auto draw = [&] { return static_cast<float>(rng.normal()); };
  for (int episode = 0; episode < episodes; ++episode) {
    builder.begin_episode(std::array{draw(), draw(), draw()});
    for (int step = 0; step < 50; ++step) {
      const bool last = step == 49;
      builder.add(std::array{draw(), draw()}, draw(), std::array{draw(), draw(), draw()},
                  last && episode % 2 == 0, last && episode % 2 == 1);
    }
  }
  return std::move(builder).build();
}

class DatasetCacheTest : public testing::Test {
 protected:
  DatasetCacheOptions options() {
    DatasetCacheOptions options;
    options.directory = directory_ / "cache";
    options.minimum_bytes = 0;
    options.settle_milliseconds = 0;
    options.warn = [this](const std::string& line) { warnings_.push_back(line); };
    return options;
  }
  TransitionDataset load(const std::string& path, const DatasetReadOptions& read = {}) {
    return DatasetCache(options()).load("auto", path, read);
  }
  std::vector<std::string> cached(const char* suffix) {
    std::vector<std::string> found;
    if (!fs::exists(directory_ / "cache")) return found;
    for (const auto& entry : fs::directory_iterator(directory_ / "cache")) {
      const auto name = entry.path().string();
      if (name.ends_with(suffix)) found.push_back(name);
    }
    return found;
  }
  static void change_byte(const std::string& path, int64_t at) {
    auto bytes = read_all(path);
    const auto index = static_cast<size_t>(at < 0 ? static_cast<int64_t>(bytes.size()) + at : at);
    bytes[index] = static_cast<char>(bytes[index] ^ 0x10);
    write_all(path, bytes);
  }

  TemporaryDirectory directory_;
  std::vector<std::string> warnings_;
};

TEST_F(DatasetCacheTest, WhatIsMadeIsMadeOnceAndShared) {
  int made = 0;
  const auto get = [&](int seed, int64_t minimum_bytes = 0) {
    auto how = options();
    how.minimum_bytes = minimum_bytes;
    return DatasetCache(how).made({{"kind", "walk"}, {"seed", seed}}, [&] {
      ++made;
      return walk(seed);
    });
  };
  const auto expected = walk(1);
  for (int round = 0; round < 3; ++round) {
    const auto found = get(1);
    EXPECT_EQ(made, 1);
    EXPECT_EQ(found.fingerprint(), expected.fingerprint());
    for (int64_t row = 0; row < expected.rows(); ++row) {
      ASSERT_EQ(found.obs(row)[2], expected.obs(row)[2]);
      ASSERT_EQ(found.next_obs(row)[0], expected.next_obs(row)[0]);
      ASSERT_EQ(found.reward(row), expected.reward(row));
    }
  }
  EXPECT_NE(get(2).fingerprint(), expected.fingerprint());
  EXPECT_EQ(made, 2);
  EXPECT_EQ(DatasetCache(options()).list().size(), 2U);
  get(3, 1 << 20);  // the dataset is smaller than the minimum size for caching
  get(3, 1 << 20);
  EXPECT_EQ(made, 4);
  change_byte(cached(".json")[0], 5);
  get(1);
  get(2);
  EXPECT_EQ(made, 5);
  EXPECT_EQ(warnings_.size(), 1U);
}

TEST_F(DatasetCacheTest, ProcessesWaitForTheOneThatMakesAnEntry) {
  const auto what = Json{{"kind", "walk"}};
  const auto log = directory_ / "log";
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    const auto dataset = DatasetCache(options()).made(what, [&] {
      const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      static_cast<void>(!::write(file, "x", 1));
      return walk(1);
    });
    ::_exit(dataset.rows() == walk(1).rows() ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(read_all(log), "x");
}

TEST_F(DatasetCacheTest, KeepsTheWarningsOfTheDataDoctor) {
  const auto path = directory_ / "walk.hdf5";
  DatasetBuilder builder(2, 1);
  builder.begin_episode(std::array{0.0f, 1.0f});
  for (int step = 0; step < 40; ++step) {
    const float value = 0.1f * static_cast<float>(step % 7);
    builder.add(std::array{value}, value, std::array{value, 1.0f}, false, step == 39);
  }
  save_d4rl_dataset(std::move(builder).build(), path);
  const auto expected = inspect_dataset("d4rl", path).warnings;
  ASSERT_FALSE(expected.empty());
  load(path);  // this entry stores no warnings, so the next load cannot use it
  for (int round = 0; round < 3; ++round) {
    std::vector<DatasetWarning> found;
    DatasetCache(options()).load("auto", path, {}, &found);
    ASSERT_EQ(found.size(), expected.size()) << round;
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].text(), expected[i].text());
  }
  EXPECT_EQ(cached(".data").size(), 1u);
  EXPECT_TRUE(warnings_.empty());
  EXPECT_EQ((DatasetWarning{"jump", "far", 7}.text()), "jump: far (row 7)");
}

TEST_F(DatasetCacheTest, GivesTheSameBitsWithAndWithout) {
  const auto path = directory_ / "walk.npz";
  save_npz_dataset(walk(1), path);
  for (const auto policy : {TimeoutPolicy::keep, TimeoutPolicy::drop}) {
    DatasetReadOptions read;
    read.timeout_policy = policy;
    const auto plain = load_dataset_file("auto", path, read);
    const auto first = load(path, read), second = load(path, read);
    EXPECT_EQ(plain.rows(), policy == TimeoutPolicy::keep ? 1000 : 990);
    EXPECT_EQ(first.fingerprint(), plain.fingerprint());
    EXPECT_EQ(second.fingerprint(), plain.fingerprint());
    EXPECT_EQ(second.with_next_actions().fingerprint(), plain.with_next_actions().fingerprint());
    for (int64_t row = 0; row < plain.rows(); ++row) {
      ASSERT_EQ(second.reward(row), plain.reward(row));
      ASSERT_EQ(second.terminated(row), plain.terminated(row));
      ASSERT_EQ(second.truncated(row), plain.truncated(row));
      ASSERT_EQ(second.next_action_valid(row), plain.next_action_valid(row));
      for (int k = 0; k < 3; ++k) {
        ASSERT_EQ(second.obs(row)[k], plain.obs(row)[k]);
        ASSERT_EQ(second.next_obs(row)[k], plain.next_obs(row)[k]);
      }
      for (int k = 0; k < 2; ++k) ASSERT_EQ(second.action(row)[k], plain.action(row)[k]);
    }
  }
  EXPECT_EQ(cached(".data").size(), 2u);  // one entry for each set of read options
  EXPECT_TRUE(cached(".tmp").empty());
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(DatasetCacheTest, SecondLoadDoesNotReadTheFile) {
  const auto path = directory_ / "walk.npz";
  save_npz_dataset(walk(1), path);
  const auto first = load(path);
  // The second load must use the cached file and not write it again.
  const auto before = cached(".data").at(0);
  struct stat info {};
  ASSERT_EQ(::stat(before.c_str(), &info), 0);
  const auto again = load(path);
  struct stat now {};
  ASSERT_EQ(::stat(before.c_str(), &now), 0);
  EXPECT_EQ(info.st_ino, now.st_ino);  // the same file
  EXPECT_EQ(again.fingerprint(), first.fingerprint());
}

TEST_F(DatasetCacheTest, EveryKindGoesThroughIt) {
  int files = 0;
  for (const char* folder : {"d4rl", "d3rlpy", "csv", "npz", "minari/v0.5.3/pendulum"}) {
    for (const auto& entry : fs::directory_iterator(kFixtures + folder)) {
      const auto path = entry.path().string();
      std::string plain;
      try {
        plain = load_dataset_file("auto", path).fingerprint();
      } catch (const Error&) {
        continue;
      }
      EXPECT_EQ(load(path).fingerprint(), plain) << path;
      EXPECT_EQ(load(path).fingerprint(), plain) << path;
      EXPECT_EQ(cached(".data").size(), static_cast<size_t>(++files)) << path;
    }
  }
  EXPECT_GE(files, 18);
}

TEST_F(DatasetCacheTest, AChangedFileIsReadAgain) {
  const auto path = directory_ / "walk.npz";
  save_npz_dataset(walk(1), path);
  const auto first = load(path);
  save_npz_dataset(walk(2), path);  // a new file of the same size
  EXPECT_EQ(load(path).fingerprint(), walk(2).fingerprint());
  EXPECT_NE(load(path).fingerprint(), first.fingerprint());

  // The file is overwritten in place, and its old modification time is restored. Only its change
  // time differs.
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  save_npz_dataset(walk(3), directory_ / "other.npz");
  write_all(path, read_all(directory_ / "other.npz"));
  const timespec times[] = {info.st_atim, info.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_EQ(load(path).fingerprint(), walk(3).fingerprint());
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(DatasetCacheTest, AFileJustChangedIsNotCachedYet) {
  const auto path = directory_ / "walk.npz";
  save_npz_dataset(walk(1), path);
  auto cautious = options();
  cautious.settle_milliseconds = 60'000;
  DatasetCache(cautious).load("auto", path, {});
  EXPECT_TRUE(cached(".data").empty());
  auto large_only = options();
  large_only.minimum_bytes = 1 << 20;
  DatasetCache(large_only).load("auto", path, {});
  EXPECT_TRUE(cached(".data").empty());
}

TEST_F(DatasetCacheTest, DamageIsFoundAndMadeGood) {
  const auto path = directory_ / "walk.npz";
  save_npz_dataset(walk(1), path);
  const auto whole = load(path).fingerprint();
  const auto data = cached(".data").at(0), header = cached(".json").at(0);
  const auto size = static_cast<int64_t>(fs::file_size(data));
  const std::vector<std::function<void()>> damages = {
      [&] { change_byte(data, 100); },          // an observation
      [&] { change_byte(data, size - 2000); },  // the table of rows or of episodes
      [&] { change_byte(header, 30); },
      [&] { change_byte(header, -1); },
      [&] { write_all(header, ""); },
      [&] { fs::resize_file(data, static_cast<uintmax_t>(size - 1)); },
      [&] { fs::resize_file(data, 0); },
      [&] { fs::remove(data); },
  };
  for (size_t i = 0; i < damages.size(); ++i) {
    damages[i]();
    warnings_.clear();
    EXPECT_EQ(load(path).fingerprint(), whole) << i;
    // A changed byte that no row uses causes no warning. Any other change causes one warning.
    EXPECT_LE(warnings_.size(), 1u) << i;
    if (i != 1) {
      EXPECT_EQ(warnings_.size(), 1u) << i;
    }
    warnings_.clear();
    EXPECT_EQ(load(path).fingerprint(), whole) << i;
    EXPECT_TRUE(warnings_.empty()) << i;
  }
}

// Changes the first bytes of each page of the file, one at a time. Every array starts at a page.
// The returned data is always correct.
TEST_F(DatasetCacheTest, NoFlippedByteIsServed) {
  constexpr int64_t kPage = 4096;
  const auto path = directory_ / "small.npz";
  save_npz_dataset(small_dataset(), path);
  const auto whole = load(path).with_next_actions().fingerprint();
  const auto data = cached(".data").at(0);
  const auto size = static_cast<int64_t>(fs::file_size(data));
  for (int64_t at = 0; at < size; at += at % kPage < 160 ? 1 : kPage - at % kPage) {
    change_byte(data, at);
    ASSERT_EQ(load(path).with_next_actions().fingerprint(), whole) << at;
  }
}

TEST_F(DatasetCacheTest, WithoutAPlaceToWriteItStillLoads) {
  const auto path = directory_ / "walk.npz";
  save_npz_dataset(walk(1), path);
  write_all(directory_ / "cache", "a file where the directory should be");
  EXPECT_EQ(load(path).fingerprint(), walk(1).fingerprint());
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_TRUE(warnings_[0].starts_with("no dataset cache: ")) << warnings_[0];
}

TEST_F(DatasetCacheTest, ABadFileIsAnErrorAndLeavesNothing) {
  EXPECT_THROW(load(kFixtures + "malformed/terminals_value_2.hdf5"), Error);
  EXPECT_THROW(load(directory_ / "none.npz"), Error);
  EXPECT_TRUE(cached("").empty());
}

TEST_F(DatasetCacheTest, ListsAndClears) {
  save_npz_dataset(walk(1), directory_ / "a.npz");
  const auto data = load(directory_ / "a.npz");
  DatasetCache cache(options());
  const auto entries = cache.list();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_TRUE(entries[0].path.ends_with("/a.npz"));
  EXPECT_EQ(entries[0].rows, 1000);
  EXPECT_GT(cache.clear(), entries[0].bytes);
  EXPECT_TRUE(cached("").empty());
  EXPECT_TRUE(cache.list().empty());
  EXPECT_EQ(data.with_next_actions().rows(), 1000);  // the mapped memory is still valid
}

TEST(DatasetCache, LooksWhereTheEnvironmentSays) {
  const auto with = [](const char* own, const char* xdg) {
    ::setenv("RL_TRAINING_CACHE", own, 1);
    ::setenv("XDG_CACHE_HOME", xdg, 1);
    const auto found = DatasetCache::default_directory();
    ::unsetenv("RL_TRAINING_CACHE");
    ::unsetenv("XDG_CACHE_HOME");
    return found;
  };
  EXPECT_EQ(with("/a", "/b"), "/a");
  EXPECT_EQ(with("", "/b"), "/b/rl_training");
  EXPECT_TRUE(with("", "").ends_with("/.cache/rl_training"));
}

}  // namespace
}  // namespace rl_training
