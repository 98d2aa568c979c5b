#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rl_training {

// All file operations that must survive a crash or a full disk go through this interface, so that
// tests can make the n-th call fail. Failures throw Error{io} naming the path and the system's
// reason.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual std::string read_file(const std::string& path) = 0;
  // Creates or replaces `path` and syncs it. Does not follow a link.
  virtual void write_file(const std::string& path, std::string_view bytes) = 0;
  virtual void make_directories(const std::string& path) = 0;
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // Creates a hard link.
  virtual void link(const std::string& from, const std::string& to) = 0;
  virtual void sync_directory(const std::string& path) = 0;
  // Removes a file or a whole tree; a missing path is not an error.
  virtual void remove_all(const std::string& path) = 0;
  virtual void truncate(const std::string& path, uint64_t size) = 0;
  // Sorted names in a directory; empty if it does not exist.
  virtual std::vector<std::string> list_directory(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;
  virtual uint64_t file_size(const std::string& path) = 0;
  virtual uint64_t free_space(const std::string& path) = 0;
};

FileSystem& posix_file_system();

// Temporary name, fsync, rename, fsync of the directory: readers see the old or the new content.
void write_file_atomically(FileSystem& files, const std::string& path, std::string_view bytes);

}  // namespace rl_training
