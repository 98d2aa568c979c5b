#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "faulty_file_system.h"
#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_checkpoint_store {
namespace {

std::vector<ArchiveEntry> entries_for(int64_t step) {
  ArchiveEntry weights{"net.weights", DType::f32, {8, 8}, {}};
  for (int i = 0; i < 256; ++i) weights.bytes += static_cast<char>(i * 31 + step);
  ArchiveEntry count{"update_count", DType::i64, {}, {}};
  count.bytes.assign(reinterpret_cast<const char*>(&step), sizeof(step));
  return {weights, count};
}

const Json kFacts = {{"config_hash", "abc"}, {"threads", 2}, {"config", {{"seed", 1}}}};

class CheckpointStoreTest : public ::testing::Test {
 protected:
  std::string save(int64_t step) { return store.save(step, entries_for(step), kFacts); }
  std::optional<Checkpoint> load() {
    warnings.clear();
    return store.load_newest([this](const std::string& line) { warnings.push_back(line); });
  }
  std::vector<int64_t> steps() const {
    std::vector<int64_t> found;
    for (const auto& info : store.list()) found.push_back(info.step);
    return found;
  }
  std::string path(const std::string& name) const { return directory / ("checkpoints/" + name); }

  TemporaryDirectory directory;
  CheckpointStore store{posix_file_system(), directory / "checkpoints"};
  std::vector<std::string> warnings;
};

// Flips one bit of the file in place. Rewriting the file thousands of times would be too slow.
void flip_bit(const std::string& file, size_t bit) {
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  const auto at = static_cast<std::streamoff>(bit / 8);
  stream.seekg(at);
  const int byte = stream.get();
  ASSERT_GE(byte, 0) << file << " has no bit " << bit;
  stream.seekp(at);
  stream.put(static_cast<char>(byte ^ (1 << (bit % 8))));
}

bool damaged(const std::string& path) {
  try {
    load_checkpoint(posix_file_system(), path);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 4);
    EXPECT_EQ(error.place().file.substr(0, path.size()), path);
    return true;
  }
}

TEST_F(CheckpointStoreTest, SavesAndLoads) {
  EXPECT_FALSE(load().has_value());
  EXPECT_EQ(save(1000), path("step-000001000"));
  const auto checkpoint = load();
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_EQ(checkpoint->path, path("step-000001000"));
  EXPECT_EQ(checkpoint->step, 1000);
  EXPECT_EQ(checkpoint->manifest["format_version"], 2);
  EXPECT_EQ(checkpoint->manifest["config_hash"], "abc");
  EXPECT_EQ(checkpoint->manifest["config"]["seed"], 1);
  ASSERT_EQ(checkpoint->entries.size(), 2U);
  EXPECT_EQ(checkpoint->entries[0].name, "update_count");
  EXPECT_EQ(checkpoint->entries[1].bytes, entries_for(1000)[0].bytes);
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(posix_file_system().list_directory(path("step-000001000")),
            (std::vector<std::string>{"manifest.json", "tensors.safetensors"}));
}

TEST_F(CheckpointStoreTest, ManifestIsJsonWithItsOwnHashLast) {
  save(7);
  const std::string text = read_all(path("step-000000007/manifest.json"));
  const Json manifest = Json::parse(text);
  const auto last = text.rfind("\"sha256\"");
  EXPECT_EQ(manifest["sha256"], sha256_hex(text.substr(0, last)));
  const std::string tensors = read_all(path("step-000000007/tensors.safetensors"));
  EXPECT_EQ(manifest["files"].dump(), Json::array({{{"name", "tensors.safetensors"},
                                                    {"size", tensors.size()},
                                                    {"sha256", sha256_hex(tensors)}}})
                                          .dump());
}

TEST_F(CheckpointStoreTest, SameStateGivesTheSameBytes) {
  save(5);
  const TemporaryDirectory other;
  CheckpointStore(posix_file_system(), other.path()).save(5, entries_for(5), kFacts);
  for (const char* name : {"/manifest.json", "/tensors.safetensors"}) {
    EXPECT_EQ(read_all(path("step-000000005") + name), read_all(other / "step-000000005" + name));
  }
}

TEST_F(CheckpointStoreTest, EverySingleFlippedBitIsDetected) {
  save(1);
  const std::string place = path("step-000000001");
  size_t flips = 0;
  for (const char* name : {"/manifest.json", "/tensors.safetensors"}) {
    const size_t bits = std::filesystem::file_size(place + name) * 8;
    for (size_t bit = 0; bit < bits; ++bit, ++flips) {
      flip_bit(place + name, bit);
      ASSERT_TRUE(damaged(place)) << name << " bit " << bit;
      flip_bit(place + name, bit);
    }
  }
  EXPECT_GT(flips, 5000U);
  EXPECT_FALSE(damaged(place));
}

TEST_F(CheckpointStoreTest, EveryTruncationAndExtensionIsDetected) {
  save(1);
  const std::string place = path("step-000000001");
  for (const char* name : {"/manifest.json", "/tensors.safetensors"}) {
    const std::string good = read_all(place + name);
    for (size_t size = good.size(); size-- > 0;) {
      std::filesystem::resize_file(place + name, size);
      ASSERT_TRUE(damaged(place)) << name << " cut to " << size;
    }
    for (const char extra : {'\0', '\n', ' ', '}'}) {
      write_all(place + name, good + extra);
      ASSERT_TRUE(damaged(place)) << name;
    }
    std::filesystem::remove(place + name);
    ASSERT_TRUE(damaged(place)) << name;
    write_all(place + name, good);
  }
  EXPECT_FALSE(damaged(place));
  EXPECT_TRUE(damaged(path("step-000000002")));
}

TEST_F(CheckpointStoreTest, DamagedOnesArePassedOverWithOneWarningEach) {
  for (const int64_t step : {1, 2, 3}) save(step);
  flip_bit(path("step-000000003/tensors.safetensors"), 2000);
  auto checkpoint = load();
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_EQ(checkpoint->step, 2);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], "warning: " + path("step-000000003") + " is damaged (" +
                             path("step-000000003/tensors.safetensors") +
                             ": SHA-256 does not match); using " + path("step-000000002"));

  std::filesystem::remove(path("step-000000002/manifest.json"));
  checkpoint = load();
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_EQ(checkpoint->step, 1);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_NE(warnings[1].find(path("step-000000002") + " is damaged"), std::string::npos);

  flip_bit(path("step-000000001/manifest.json"), 100);
  try {
    load();
    FAIL() << "nothing was left to load";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 4);
    EXPECT_NE(std::string(error.what()).find(path("step-000000003")), std::string::npos);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST_F(CheckpointStoreTest, AnExchangedManifestIsDetected) {
  save(1);
  save(2);
  std::filesystem::remove_all(path("step-000000002"));
  std::filesystem::copy(path("step-000000001"), path("step-000000002"));
  EXPECT_TRUE(damaged(path("step-000000002")));
  EXPECT_EQ(load()->step, 1);
}

// Changes a manifest and corrects its hash, as an attacker would.
void rewrite_manifest(const std::string& place, const std::function<void(Json&)>& change) {
  const std::string file = place + "/manifest.json";
  Json manifest = Json::parse(read_all(file));
  change(manifest);
  manifest.erase("sha256");
  std::string text = manifest.dump();
  text.back() = ',';
  write_all(file, text + "\"sha256\": \"" + sha256_hex(text) + "\"\n}\n");
}

TEST_F(CheckpointStoreTest, NewerFormatStopsWithBothNumbers) {
  save(1);
  save(2);
  rewrite_manifest(path("step-000000002"), [](Json& m) { m["format_version"] = 3; });
  try {
    load();
    FAIL() << "a newer format was loaded or passed over";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 4);
    EXPECT_EQ(error.place().key, "format_version");
    EXPECT_NE(error.message().find("expected 2, got 3"), std::string::npos) << error.message();
  }
}

TEST_F(CheckpointStoreTest, HostileManifestsAreRefused) {
  const std::string place = save(1);
  rewrite_manifest(place, [](Json&) {});
  ASSERT_FALSE(damaged(place));
  const auto refused = [&](const std::function<void(Json&)>& change) {
    const std::string good = read_all(place + "/manifest.json");
    rewrite_manifest(place, change);
    const bool result = damaged(place);
    write_all(place + "/manifest.json", good);
    return result;
  };
  EXPECT_TRUE(refused([](Json& m) { m.erase("format_version"); }));
  EXPECT_TRUE(refused([](Json& m) { m["format_version"] = "2"; }));
  EXPECT_TRUE(refused([](Json& m) { m["step"] = -1; }));
  EXPECT_TRUE(refused([](Json& m) { m["step"] = 18446744073709551615ULL; }));
  EXPECT_TRUE(refused([](Json& m) { m["step"] = 1.0; }));
  EXPECT_TRUE(refused([](Json& m) { m.erase("files"); }));
  EXPECT_TRUE(refused([](Json& m) { m["files"] = Json::array(); }));
  EXPECT_TRUE(refused([](Json& m) { m["files"][0]["name"] = "../../secret"; }));
  EXPECT_TRUE(refused([](Json& m) { m["files"].push_back(m["files"][0]); }));
  EXPECT_TRUE(refused([](Json& m) { m["files"][0]["size"] = -1; }));
  EXPECT_TRUE(refused([](Json& m) { m["files"][0].erase("sha256"); }));
  EXPECT_TRUE(refused([](Json& m) {
    Json deep = 1;
    for (int i = 0; i < 100; ++i) deep = Json::array({std::move(deep)});
    m["deep"] = std::move(deep);
  }));
  EXPECT_TRUE(refused([](Json& m) {
    for (int i = 0; i < 20000; ++i) m["many"][std::to_string(i)] = 1;
  }));
  EXPECT_TRUE(refused([](Json& m) { m["long"] = std::string(2 << 20, 'x'); }));
}

TEST_F(CheckpointStoreTest, KeepsTheLastThreeAndTheBest) {
  store.save(100, entries_for(100), kFacts, true);
  for (const int64_t step : {200, 300, 400, 500}) save(step);
  EXPECT_EQ(steps(), (std::vector<int64_t>{300, 400, 500}));
  const auto best = load_checkpoint(posix_file_system(), path("best"));
  EXPECT_EQ(best.step, 100);
  EXPECT_EQ(best.entries[1].bytes, entries_for(100)[0].bytes);
  EXPECT_EQ(load()->step, 500);

  store.save(500, entries_for(500), kFacts, true);
  EXPECT_EQ(load_checkpoint(posix_file_system(), path("best")).step, 500);
  EXPECT_EQ(load_checkpoint(posix_file_system(), path("best/")).step, 500);
  EXPECT_EQ(
      posix_file_system().list_directory(directory / "checkpoints"),
      (std::vector<std::string>{"best", "step-000000300", "step-000000400", "step-000000500"}));
}

TEST_F(CheckpointStoreTest, ReplacesACheckpointOfTheSameStep) {
  save(1);
  save(2);
  store.save(2, entries_for(99), kFacts);
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(load()->entries[1].bytes, entries_for(99)[0].bytes);
  EXPECT_EQ(posix_file_system().list_directory(directory / "checkpoints").size(), 2U);
}

TEST_F(CheckpointStoreTest, NeverDeletesTheOneJustSavedNorNewerOnes) {
  for (const int64_t step : {10, 20, 30}) save(step);
  save(5);
  EXPECT_EQ(steps(), (std::vector<int64_t>{5, 10, 20, 30}));
}

TEST_F(CheckpointStoreTest, RefusesFactsThatHideItsOwnMembers) {
  for (const char* key : {"step", "files", "format_version", "sha256"}) {
    EXPECT_THROW(store.save(1, {}, Json{{key, 1}}), Error) << key;
  }
}

TEST_F(CheckpointStoreTest, StopsBeforeTheDiskIsFull) {
  save(1);
  FaultyFileSystem files;
  CheckpointStore small(files, directory / "checkpoints");
  files.free_bytes = 1000;
  try {
    small.save(2, entries_for(2), kFacts);
    FAIL() << "saved without space";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(error.message().find("got 1000"), std::string::npos) << error.message();
  }
  EXPECT_EQ(steps(), (std::vector<int64_t>{1}));
}

TEST_F(CheckpointStoreTest, SyncsBeforeItRenamesAndDeletesLast) {
  for (const int64_t step : {1, 2, 3}) save(step);
  FaultyFileSystem files;
  CheckpointStore watched(files, directory / "checkpoints");
  watched.save(4, entries_for(4), kFacts);
  const std::string pid = std::to_string(::getpid());
  EXPECT_EQ(files.changes(),
            (std::vector<std::string>{
                "mkdir checkpoints", "mkdir .tmp-000000004-" + pid, "write tensors.safetensors",
                "write manifest.json", "sync .tmp-000000004-" + pid, "rename step-000000004",
                "sync checkpoints", "rename .tmp-000000001-" + pid + "-deleted",
                "remove .tmp-000000001-" + pid + "-deleted"}));
}

TEST_F(CheckpointStoreTest, OtherNamesInTheDirectoryAreLeftAlone) {
  save(1);
  for (const char* name : {"step-12", "step-00000000x", "step-000000001.bak", "notes"}) {
    std::filesystem::create_directory(path(name));
  }
  EXPECT_EQ(steps(), (std::vector<int64_t>{1}));
  store.remove_leftovers();
  EXPECT_TRUE(std::filesystem::exists(path("step-000000001.bak")));
}

}  // namespace
}  // namespace rl_training::test_checkpoint_store
