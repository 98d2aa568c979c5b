#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace rl_training {

// A log file that grows by whole records. If writing a record fails, the part already written is
// removed, so that the file does not end in a partial record. Failures throw Error{io} with the
// path. If the path is a link, Error{checkpoint} is thrown; run_file.h explains why.
class AppendFile {
 public:
  // The first append(), cut() or size() opens the file and creates it if necessary.
  explicit AppendFile(std::string path) : path_(std::move(path)) {}
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  const std::string& path() const { return path_; }
  void append(uint64_t offset, std::string_view record);  // first drops everything after `offset`
  void cut(uint64_t size);  // throws if the file is shorter than `size`
  uint64_t size();
  void sync();

 private:
  void open();
  [[noreturn]] void fail(const char* what, int code) const;

  std::string path_;
  int fd_ = -1;
};

}  // namespace rl_training
