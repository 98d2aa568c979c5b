#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

namespace rl_training {

// A fresh directory that is removed at the end of a test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    path_ = (std::filesystem::temp_directory_path() / "rl_training_XXXXXX").string();
    if (!::mkdtemp(path_.data())) std::abort();
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace rl_training
