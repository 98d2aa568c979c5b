// Tests additional files of a checkpoint. Files that already exist are linked, and other files are
// written. Both are verified.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "faulty_file_system.h"
#include "rl_training/experiment/checkpoint_store.h"
#include "rl_training/util/error.h"
#include "rl_training/util/hash.h"
#include "tests/support/temporary_directory.h"

namespace rl_training::test_checkpoint_files {
namespace {

namespace fs = std::filesystem;

ino_t inode(const std::string& path) {
  struct stat facts {};
  EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
  return facts.st_ino;
}

CheckpointFile file_of(const std::string& name, const std::string& bytes,
                       const std::string& existing = "") {
  return {name, bytes.size(), sha256_hex(bytes), existing, [bytes] { return bytes; }};
}

class CheckpointFilesTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return directory / ("checkpoints/" + name); }
  void save(int64_t step, const std::vector<CheckpointFile>& files, bool best = false) {
    store.save(step, {}, Json::object(), best, files);
  }
  std::optional<Checkpoint> load() {
    warnings.clear();
    return store.load_newest([this](const std::string& line) { warnings.push_back(line); });
  }

  TemporaryDirectory directory;
  CheckpointStore store{posix_file_system(), directory / "checkpoints"};
  std::vector<std::string> warnings;
};

TEST_F(CheckpointFilesTest, AreLinkedFromWhereTheyLie) {
  save(1, {file_of("a.rows", "first")});
  save(2, {file_of("a.rows", "first", path("step-000000001/a.rows")), file_of("b.rows", "second")},
       /*best=*/true);
  EXPECT_EQ(inode(path("step-000000001/a.rows")), inode(path("step-000000002/a.rows")));
  EXPECT_EQ(inode(path("step-000000001/a.rows")), inode(path("best/a.rows")));
  const auto checkpoint = load();
  ASSERT_TRUE(checkpoint.has_value());
  ASSERT_EQ(checkpoint->files.size(), 2u);
  EXPECT_EQ(checkpoint->files[0].name, "a.rows");
  EXPECT_EQ(checkpoint->files[0].existing, path("step-000000002/a.rows"));
  EXPECT_EQ(checkpoint->files[0].bytes(), "first");
  EXPECT_EQ(checkpoint->files[1].bytes(), "second");
  // A shared file exists as long as one checkpoint refers to it.
  fs::remove_all(path("step-000000001"));
  EXPECT_EQ(load()->files[0].bytes(), "first");
}

TEST_F(CheckpointFilesTest, AreWrittenWhereTheyCannotBeLinked) {
  save(1, {file_of("a.rows", "first", directory / "nowhere")});
  EXPECT_EQ(read_all(path("step-000000001/a.rows")), "first");
  for (int fault_at = 1; fault_at < 100; ++fault_at) {
    FaultyFileSystem files(fault_at, EPERM);
    CheckpointStore faulty(files, directory / "checkpoints");
    try {
      faulty.save(2, {}, Json::object(), false,
                  {file_of("a.rows", "first", path("step-000000001/a.rows"))});
    } catch (const Error&) {
      continue;  // a call other than the link failed
    }
    if (!files.failed()) break;
    if (!fs::exists(path("step-000000002/a.rows"))) continue;
    EXPECT_EQ(load()->step, 2);
    EXPECT_EQ(load()->files[0].bytes(), "first");
  }
  EXPECT_EQ(load()->step, 2);
}

TEST_F(CheckpointFilesTest, EveryFlippedBitIsFoundAndTheOlderOneUsed) {
  const std::string rows = "rows of the buffer";
  save(1, {file_of("a.rows", "first")});
  save(2, {file_of("a.rows", "first", path("step-000000001/a.rows")), file_of("b.rows", rows)});
  const auto file = path("step-000000002/b.rows");
  for (size_t bit = 0; bit < 8 * rows.size(); ++bit) {
    auto bytes = rows;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    write_all(file, bytes);
    ASSERT_EQ(load()->step, 1) << bit;
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("b.rows"), std::string::npos) << warnings[0];
  }
  for (const auto& bytes : {std::string(), rows.substr(1), rows + "x"}) {
    write_all(file, bytes);
    EXPECT_EQ(load()->step, 1);
  }
  fs::remove(file);
  EXPECT_EQ(load()->step, 1);
  write_all(file, rows);
  EXPECT_EQ(load()->step, 2);
  EXPECT_TRUE(warnings.empty());
}

// Shared rows are one file on disk, so damage affects every checkpoint that refers to the file.
TEST_F(CheckpointFilesTest, DamageToASharedFileIsNeverPassedOver) {
  save(1, {file_of("a.rows", "first")});
  save(2, {file_of("a.rows", "first", path("step-000000001/a.rows"))});
  write_all(path("step-000000001/a.rows"), "fjrst");
  EXPECT_THROW(load(), Error);
}

// A policy does not need the additional files to act, so they are not verified.
TEST_F(CheckpointFilesTest, AreNotLookedAtForActing) {
  save(1, {file_of("a.rows", "first")});
  write_all(path("step-000000001/a.rows"), "fjrst");
  const auto checkpoint = store.load_newest([](const std::string&) {}, CheckpointUse::acting);
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_TRUE(checkpoint->files.empty());
  EXPECT_THROW(load(), Error);
}

TEST_F(CheckpointFilesTest, LinksPipesAndDevicesAreRefused) {
  for (const char* name : {"manifest.json", "tensors.safetensors", "a.rows"}) {
    save(1, {file_of("a.rows", "first")});
    const auto file = path("step-000000001/") + name;
    fs::rename(file, directory / "elsewhere");
    const auto error = [&]() -> std::string {
      try {
        load_checkpoint(posix_file_system(), path("step-000000001"));
      } catch (const Error& e) {
        EXPECT_EQ(e.exit_code(), 4);
        return e.what();
      }
      return "no error";
    };
    EXPECT_NE(error(), "no error") << name;             // the file is missing
    fs::create_symlink(directory / "elsewhere", file);  // a link to a file with the right bytes
    EXPECT_NE(error().find("not a regular file"), std::string::npos) << error();
    fs::remove(file);
    fs::create_symlink("/dev/zero", file);
    EXPECT_NE(error().find("not a regular file"), std::string::npos) << error();
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);  // a FIFO without a writer
    EXPECT_NE(error().find("not a regular file"), std::string::npos) << error();
  }
}

TEST_F(CheckpointFilesTest, CopiesAreTheSameCheckpoint) {
  store.save(7, {}, {{"config_hash", "abc"}}, false, {file_of("a.rows", "first")});
  const auto original = load();
  copy_checkpoint(posix_file_system(), *original, path("best"));
  for (const char* name : {"manifest.json", "tensors.safetensors", "a.rows"}) {
    EXPECT_EQ(read_all(path("best/") + name), read_all(path("step-000000007/") + name)) << name;
  }
}

TEST_F(CheckpointFilesTest, NamesThatLeadElsewhereAreRefused) {
  save(1, {file_of("a.rows", "first")});
  const auto manifest = path("step-000000001/manifest.json");
  write_all(directory / "checkpoints/secret", "first");
  auto text = read_all(manifest);
  for (const char* name : {"../secret", "/etc/passwd", "", ".", "tensors.safetensors"}) {
    auto json = Json::parse(text);
    json["files"][1]["name"] = name;
    json.erase("sha256");
    auto changed = json.dump();
    changed.back() = ',';
    write_all(manifest, changed + "\"sha256\": \"" + sha256_hex(changed) + "\"\n}\n");
    EXPECT_THROW(load_checkpoint(posix_file_system(), path("step-000000001")), Error) << name;
  }
}

}  // namespace
}  // namespace rl_training::test_checkpoint_files
