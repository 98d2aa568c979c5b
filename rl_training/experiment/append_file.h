#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace rl_training {

// A log file that grows by whole records: a record that cannot be written completely is removed, so
// the file never ends in a partial record. Failures throw Error{io} with the path; a link in place
// of the file throws Error{checkpoint} (run_file.h).
class AppendFile {
 public:
  // The file is created or opened by the first append() or cut().
  explicit AppendFile(std::string path) : path_(std::move(path)) {}
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  const std::string& path() const { return path_; }
  void append(uint64_t offset, std::string_view record);  // drops everything after `offset` first
  void cut(uint64_t size);                                // a shorter file is an error
  uint64_t size();
  void sync();

 private:
  void open();
  [[noreturn]] void fail(const char* what, int code) const;

  std::string path_;
  int fd_ = -1;
};

}  // namespace rl_training
