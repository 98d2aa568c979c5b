#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "rl_training/util/error.h"
#include "rl_training/util/file_system.h"

namespace rl_training {
namespace {

class PosixFiles : public testing::Test {
 protected:
  void SetUp() override {
    auto pattern = (std::filesystem::temp_directory_path() / "rl_training_test_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ + "/" + name; }

  // Calls `call`, which must fail with an I/O error, and returns the error message.
  template <class Call>
  static std::string failure(const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      return error.what();
    }
    return "no error";
  }

  std::string root_;
  FileSystem& files_ = posix_file_system();
};

TEST_F(PosixFiles, WritesAndReadsAnyBytes) {
  std::string bytes;
  for (int i = 0; i < 100000; ++i) bytes += static_cast<char>(i * 7);
  files_.write_file(path("f"), bytes);
  EXPECT_EQ(files_.read_file(path("f")), bytes);
  EXPECT_EQ(files_.file_size(path("f")), bytes.size());
  files_.write_file(path("f"), "short");
  EXPECT_EQ(files_.read_file(path("f")), "short");
  files_.write_file(path("f"), "");
  EXPECT_EQ(files_.read_file(path("f")), "");
  EXPECT_TRUE(files_.exists(path("f")));
  EXPECT_FALSE(files_.exists(path("g")));
}

TEST_F(PosixFiles, ReadsFilesThatDoNotKnowTheirSize) {
  EXPECT_FALSE(files_.read_file("/proc/self/status").empty());
}

TEST_F(PosixFiles, TruncatesRenamesRemovesAndLists) {
  files_.make_directories(path("a/b/c"));
  files_.make_directories(path("a/b/c"));
  files_.write_file(path("a/two"), "123456");
  files_.write_file(path("a/one"), "");
  EXPECT_EQ(files_.list_directory(path("a")), (std::vector<std::string>{"b", "one", "two"}));
  EXPECT_TRUE(files_.list_directory(path("missing")).empty());
  files_.truncate(path("a/two"), 3);
  EXPECT_EQ(files_.read_file(path("a/two")), "123");
  files_.rename(path("a/two"), path("a/one"));
  EXPECT_EQ(files_.read_file(path("a/one")), "123");
  EXPECT_FALSE(files_.exists(path("a/two")));
  files_.sync_directory(path("a"));
  files_.remove_all(path("a"));
  files_.remove_all(path("a"));
  EXPECT_FALSE(files_.exists(path("a")));
  EXPECT_GT(files_.free_space(root_), 0U);
}

TEST_F(PosixFiles, FailuresNameThePathAndTheReason) {
  const std::string none = ": No such file or directory";
  const auto lost = path("none/f");
  files_.write_file(path("file"), "x");
  EXPECT_EQ(failure([&] { files_.read_file(lost); }), lost + ": cannot open" + none);
  EXPECT_EQ(failure([&] { files_.read_file(root_); }), root_ + ": cannot read: Is a directory");
  EXPECT_EQ(failure([&] { files_.write_file(lost, "x"); }), lost + ": cannot create" + none);
  EXPECT_EQ(failure([&] { files_.rename(lost, path("g")); }),
            path("g") + ": cannot rename into place" + none);
  EXPECT_EQ(failure([&] { files_.sync_directory(path("none")); }),
            path("none") + ": cannot open directory" + none);
  EXPECT_EQ(failure([&] { files_.truncate(lost, 0); }), lost + ": cannot truncate" + none);
  EXPECT_EQ(failure([&] { files_.file_size(lost); }), lost + ": cannot stat" + none);
  EXPECT_EQ(failure([&] { files_.free_space(lost); }),
            lost + ": cannot stat the file system" + none);
  const std::string not_directory = ": Not a directory";
  EXPECT_EQ(failure([&] { files_.make_directories(path("file/d")); }),
            path("file/d") + ": cannot create directory" + not_directory);
  EXPECT_EQ(failure([&] { files_.list_directory(path("file")); }),
            path("file") + ": cannot list" + not_directory);
}

TEST_F(PosixFiles, AFullDiskIsAnErrorNotTheEnd) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full here";
  EXPECT_EQ(failure([&] { files_.write_file("/dev/full", "x"); }),
            "/dev/full: cannot write: No space left on device");
}

TEST_F(PosixFiles, AtomicWriteReplacesAndLeavesNothingBehind) {
  write_file_atomically(files_, path("f"), "old");
  write_file_atomically(files_, path("f"), "new");
  EXPECT_EQ(files_.read_file(path("f")), "new");
  EXPECT_EQ(files_.list_directory(root_), std::vector<std::string>{"f"});
}

// Forwards calls to another file system. Counts the calls of write_file, rename and sync_directory;
// call number `fail_at` fails. A failing write_file writes half of its bytes.
class FailingFiles final : public FileSystem {
 public:
  FailingFiles(FileSystem& files, int fail_at) : files_(files), left_(fail_at) {}
  std::vector<std::string> calls;

  void write_file(const std::string& path, std::string_view bytes) override {
    if (fails("write")) {
      files_.write_file(path, bytes.substr(0, bytes.size() / 2));
      throw Error(ErrorKind::io, {path, 0, ""}, "no space");
    }
    files_.write_file(path, bytes);
  }
  void link(const std::string&, const std::string&) override {}
  void rename(const std::string& from, const std::string& to) override {
    if (fails("rename")) throw Error(ErrorKind::io, {to, 0, ""}, "no space");
    files_.rename(from, to);
  }
  void sync_directory(const std::string& path) override {
    if (fails("sync")) throw Error(ErrorKind::io, {path, 0, ""}, "no space");
    files_.sync_directory(path);
  }
  void remove_all(const std::string& path) override { files_.remove_all(path); }
  std::string read_file(const std::string& path) override { return files_.read_file(path); }
  void make_directories(const std::string& path) override { files_.make_directories(path); }
  void truncate(const std::string& path, uint64_t size) override { files_.truncate(path, size); }
  std::vector<std::string> list_directory(const std::string& path) override {
    return files_.list_directory(path);
  }
  bool exists(const std::string& path) override { return files_.exists(path); }
  uint64_t file_size(const std::string& path) override { return files_.file_size(path); }
  uint64_t free_space(const std::string& path) override { return files_.free_space(path); }

 private:
  bool fails(const char* call) {
    calls.emplace_back(call);
    return --left_ == 0;
  }
  FileSystem& files_;
  int left_;
};

TEST_F(PosixFiles, AtomicWriteThatFailsKeepsTheOldContent) {
  files_.write_file(path("f"), "old content");
  for (int fail_at = 1; fail_at <= 2; ++fail_at) {
    FailingFiles failing(files_, fail_at);
    EXPECT_THROW(write_file_atomically(failing, path("f"), "new content"), Error);
    EXPECT_EQ(files_.read_file(path("f")), "old content");
    EXPECT_EQ(files_.list_directory(root_), std::vector<std::string>{"f"});
  }
  FailingFiles never(files_, 100);
  write_file_atomically(never, path("f"), "new content");
  EXPECT_EQ(never.calls, (std::vector<std::string>{"write", "rename", "sync"}));
}

}  // namespace
}  // namespace rl_training
