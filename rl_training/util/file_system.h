#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rl_training {

// The interface for all file operations that must leave intact files after a crash or on a full
// disk. Tests replace it to make the n-th call fail. Functions throw Error{io} with the path and
// the system's error message.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual std::string read_file(const std::string& path) = 0;
  // Creates or overwrites `path` and syncs it to disk. Fails if `path` is a symbolic link.
  virtual void write_file(const std::string& path, std::string_view bytes) = 0;
  virtual void make_directories(const std::string& path) = 0;
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // Creates a hard link.
  virtual void link(const std::string& from, const std::string& to) = 0;
  virtual void sync_directory(const std::string& path) = 0;
  // Removes a file, or a directory and its contents. A missing path is not an error.
  virtual void remove_all(const std::string& path) = 0;
  virtual void truncate(const std::string& path, uint64_t size) = 0;
  // Sorted names of the entries of a directory. Empty if the directory does not exist.
  virtual std::vector<std::string> list_directory(const std::string& path) = 0;
  virtual bool exists(const std::string& path) = 0;
  virtual uint64_t file_size(const std::string& path) = 0;
  virtual uint64_t free_space(const std::string& path) = 0;
};

FileSystem& posix_file_system();

// Writes a temporary file, syncs it, renames it to `path` and syncs the directory. Readers see
// either the old or the new content, never a partly written file.
void write_file_atomically(FileSystem& files, const std::string& path, std::string_view bytes);

}  // namespace rl_training
